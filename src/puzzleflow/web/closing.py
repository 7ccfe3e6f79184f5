"""The reconstruction drawn closed: rows and columns as near to each other as outlines allow."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray, ByteArray, IntArray

Extents = list[tuple[IntArray, IntArray] | None]
FAR = 1 << 30


@dataclass(frozen=True)
class Closed:
    """Where cells lie when they are moved together; fractions of a cell's side.

    lefts  (cols,) left edge of every column
    tops   (rows,) top edge of every row
    width, height  of the whole, from the first to the last material
    """

    lefts: tuple[float, ...]
    tops: tuple[float, ...]
    width: float
    height: float

    def opened(self, gap: float) -> Closed:
        """With a gap of ``gap`` cells between neighbours."""
        return Closed(
            tuple(left + gap * index for index, left in enumerate(self.lefts)),
            tuple(top + gap * index for index, top in enumerate(self.tops)),
            self.width + gap * (len(self.lefts) - 1),
            self.height + gap * (len(self.tops) - 1),
        )


def closed(masks: BoolArray, piece_at: IntArray, grid: Grid) -> Closed:
    """Columns, then rows, pushed together until two outlines touch.

    masks     (N, H, W) material of every piece in its cell
    piece_at  (P,) the piece in each cell, -1 for none
    """
    _, height, width = masks.shape
    cells = piece_at.reshape(grid.shape)
    across = [_extents(mask) for mask in masks]
    down = [_extents(mask.T) for mask in masks]
    columns = [[across[p] if p >= 0 else None for p in column] for column in cells.T]
    rows = [[down[p] if p >= 0 else None for p in row] for row in cells]
    lefts, breadth = _pushed(columns, width)
    tops, length = _pushed(rows, height)
    return Closed(
        tuple(left / width for left in lefts),
        tuple(top / height for top in tops),
        breadth / width,
        length / height,
    )


def _extents(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """(H,) first and (H,) last column + 1 of material in every row; none: never in the way."""
    filled = mask.any(axis=1)
    first = np.where(filled, mask.argmax(axis=1), FAR)
    last = np.where(filled, mask.shape[1] - mask[:, ::-1].argmax(axis=1), -FAR)
    return first.astype(np.int64), last.astype(np.int64)


def _pushed(lines: list[Extents], side: int) -> tuple[list[int], int]:
    """Where every line of cells begins, and the length of the whole, in pixels."""
    begins = [0]
    steps: list[int] = []
    for before, after in pairwise(lines):
        reach = [
            int((one[1] - other[0]).max())
            for one, other in zip(before, after, strict=True)
            if one is not None and other is not None
        ]
        steps.append(max(reach) if reach and max(reach) > 0 else 0)
    usual = int(np.median([step for step in steps if step] or [side]))
    for step in steps:
        begins.append(begins[-1] + (step or usual))
    first, last = FAR, -FAR
    for begin, line in zip(begins, lines, strict=True):
        for cell in line:
            if cell is not None:
                first = min(first, begin + int(cell[0].min()))
                last = max(last, begin + int(cell[1].max()))
    if last < first:
        return begins, begins[-1] + side
    return [begin - first for begin in begins], last - first


def paste(canvas: ByteArray, picture: ByteArray, top: int, left: int) -> None:
    """Lay a picture onto the canvas, in place, as far as it reaches; the more opaque pixel wins."""
    rows = slice(max(0, top), min(canvas.shape[0], top + picture.shape[0]))
    cols = slice(max(0, left), min(canvas.shape[1], left + picture.shape[1]))
    if rows.start >= rows.stop or cols.start >= cols.stop:
        return
    part = picture[rows.start - top : rows.stop - top, cols.start - left : cols.stop - left]
    below = canvas[rows, cols]
    over = part[..., 3] > below[..., 3]
    below[over] = part[over]
