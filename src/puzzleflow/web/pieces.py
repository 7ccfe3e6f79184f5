"""The pieces of a workbench: kept on disk, shown small, handed to solvers at one size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from puzzleflow.core.errors import InputError, OutputError
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import resize

Kept = TypeVar("Kept", bound=np.ndarray[Any, Any])
SOLVER_PX = 192  # no solver looks closer than this


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


def stack(pieces: Sequence[Piece], max_total_pixels: int) -> ByteArray:
    """(N, H, W, 4): every piece centred on a common cell, scale kept, transparent around.

    Pieces of one size keep it as their cell; irregular ones share a square one that the
    longest side fills, as in the puzzles that solvers learn from.
    """
    shapes = {piece.upright.shape[:2] for piece in pieces}
    height = max(shape[0] for shape in shapes)
    width = max(shape[1] for shape in shapes)
    if len(shapes) > 1:
        height = width = max(height, width)
    if len(pieces) * height * width > max_total_pixels:
        raise InputError(
            f"{len(pieces)} pieces of {width}x{height} pixels are more than the "
            f"{max_total_pixels:,} pixels allowed: make the pictures smaller"
        )
    cells = np.zeros((len(pieces), height, width, 4), np.uint8)
    for cell, piece in zip(cells, pieces, strict=True):
        pixels = piece.upright
        top, left = (height - pixels.shape[0]) // 2, (width - pixels.shape[1]) // 2
        cell[top : top + pixels.shape[0], left : left + pixels.shape[1]] = pixels
    cells[..., :3][cells[..., 3] == 0] = 0
    return cells


def reduced(pixels: ByteArray, largest_px: int) -> ByteArray:
    """(h, w, C) with no side above ``largest_px``."""
    height, width = pixels.shape[:2]
    factor = min(1.0, largest_px / max(height, width))
    return resize(pixels, max(1, round(height * factor)), max(1, round(width * factor)))


def for_solver(cells: ByteArray) -> ByteArray:
    """(N, h, w, 4) small enough to be compared quickly; alpha is 0 or 255."""
    small = np.stack([reduced(cell, SOLVER_PX) for cell in cells])
    inside = small[..., 3] > 127
    small[..., 3] = np.where(inside, 255, 0)
    small[..., :3][~inside] = 0
    return small


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


def natural_order(names: Sequence[str]) -> list[int]:
    """Indices that sort the names; ``piece_2`` comes before ``piece_10``."""

    def key(index: int) -> list[tuple[int, str]]:
        return [(len(part), part) for part in re.split(r"(\d+)", names[index].lower())]

    return sorted(range(len(names)), key=key)
