"""The pieces of a workbench, kept on disk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from puzzleflow.core.errors import OutputError
from puzzleflow.core.types import ByteArray

Kept = TypeVar("Kept", bound=np.ndarray[Any, Any])


@dataclass(frozen=True, eq=False)
class Piece:
    """One fragment as it came, and how often it was turned to the left by 90°.

    pixels  (h, w, 4) uint8, at the resolution of the input
    """

    name: str
    pixels: ByteArray
    quarter_turns: int = 0

    @property
    def upright(self) -> ByteArray:
        """(h, w, 4) as it is to be laid."""
        return np.rot90(self.pixels, self.quarter_turns)


def keep(folder: Path, name: str, array: Kept) -> Kept:
    """The same array, but on disk: memory holds only what is being looked at."""
    path = folder / f"{name}.npy"
    try:
        with path.open("xb") as stream:
            np.save(stream, np.ascontiguousarray(array))
    except OSError as error:
        raise OutputError(f"no room for temporary files: {error.strerror or error}") from error
    kept: Kept = np.load(path, mmap_mode="r")
    return kept


def plain_names(names: Sequence[str]) -> list[str]:
    """Distinct file names ending in ``.png``, without anything a path could hide in."""
    used: set[str] = set()
    plain = []
    for name in names:
        last = re.split(r"[\\/]", name)[-1]
        stem = last.rpartition(".")[0] if "." in last else last
        stem = re.sub(r"[^\w.\- ]", "_", stem)[:60].strip(" .-") or "piece"
        chosen, number = f"{stem}.png", 2
        while chosen.lower() in used:
            chosen, number = f"{stem}-{number}.png", number + 1
        used.add(chosen.lower())
        plain.append(chosen)
    return plain
