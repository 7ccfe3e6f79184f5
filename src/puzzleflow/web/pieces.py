"""The pieces of a workbench: pictures on disk, how they are turned, what is noted of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.types import ByteArray
from puzzleflow.web.kept import Kept


@dataclass(frozen=True, eq=False)
class Piece:
    """One fragment as it came.

    kept           (h, w, 4) uint8
    quarter_turns  by which it lies turned to the left while nothing is on the board
    sharp          False while it is cut from a reduced copy of the photograph
    inventory      number in a museum's books
    """

    name: str
    kept: Kept
    quarter_turns: int = 0
    sharp: bool = True
    inventory: str = ""
    note: str = ""

    @property
    def pixels(self) -> ByteArray:
        """(h, w, 4) as it came."""
        return self.kept.load()

    def turned(self, quarter_turns: int) -> ByteArray:
        """(h, w, 4) turned to the left by 90° a step."""
        return np.rot90(self.pixels, quarter_turns)

    def size(self, quarter_turns: int) -> tuple[int, int]:
        """(height, width) when turned."""
        height, width = self.kept.shape[:2]
        return (width, height) if quarter_turns % 2 else (height, width)


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
