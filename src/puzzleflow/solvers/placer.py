"""Laying pieces one by one around those that lie already.

The frame floats: only the extent of the layout is limited to rows × cols, so
the layout may still grow to any side. When pieces are pinned, the frame is
fixed from the start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.search.compiling import compiled
from puzzleflow.solvers.base import nearest_allowed
from puzzleflow.solvers.compatibility.costs import SeamCosts

EMPTY = -1
PERCENTILE = 25.0


@dataclass(frozen=True, eq=False)
class Fits:
    """What a greedy placer asks about pairs of pieces.

    mutual  (4, N, N) compatibility in [0, 1] of j in direction d of i, both ways averaged
    buddy   (4, N) the best buddy of a piece in a direction, or -1
    """

    mutual: FloatArray
    buddy: IntArray

    @classmethod
    def of(cls, costs: SeamCosts) -> Fits:
        """exp(−D / 25th percentile of D(i, ·, d)), and who is whose best."""
        stacked = costs.tamed().stacked()  # (4, N, N)
        num_pieces = costs.num_pieces
        if num_pieces == 1:
            return cls(np.zeros((4, 1, 1)), np.full((4, 1), EMPTY))
        others = stacked[:, ~np.eye(num_pieces, dtype=bool)].reshape(4, num_pieces, -1)
        scale = np.percentile(others, PERCENTILE, axis=2, keepdims=True)  # (4, N, 1)
        compatibility = np.exp(-stacked / np.maximum(scale, 1e-12))
        back = compatibility[[direction.opposite for direction in Direction]].swapaxes(1, 2)
        best = stacked.argmin(axis=2)  # (4, N); lowest cost = highest compatibility in a row
        returned = np.take_along_axis(best[[d.opposite for d in Direction]], best, axis=1)
        mutual_best = returned == np.arange(num_pieces)
        return cls((compatibility + back) / 2, np.where(mutual_best, best, EMPTY))

    def buddy_seams(self, grid: Grid, position_of: IntArray) -> tuple[IntArray, BoolArray]:
        """(E, 2) neighbouring pieces of a layout and whether they are best buddies."""
        piece_at = invert(position_of)
        seams, kept = [], []
        for direction in (Direction.RIGHT, Direction.DOWN):
            pairs = piece_at[grid.neighbours(direction)]  # (E, 2)
            seams.append(pairs)
            kept.append(self.buddy[direction, pairs[:, 0]] == pairs[:, 1])
        return np.concatenate(seams), np.concatenate(kept)


@dataclass(frozen=True, eq=False)
class Partial:
    """Some pieces and where they lie, on the grid if ``anchored``, else up to a shift.

    pieces  (M,) int64      cells  (M, 2) row and column
    """

    pieces: IntArray
    cells: IntArray
    anchored: bool = False

    @classmethod
    def of_pins(cls, grid: Grid, allowed: BoolArray) -> Partial:
        """The pieces that may lie at one position only; anchored if there are any."""
        pieces = np.flatnonzero(allowed.sum(axis=1) == 1)
        positions = allowed[pieces].argmax(axis=1)
        return cls(pieces, grid.coordinates[positions], anchored=len(pieces) > 0)

    def trimmed(self, grid: Grid) -> Partial:
        """The part inside the frame-sized window that holds the most pieces."""
        if not len(self.pieces):
            return self
        cells = self.cells - self.cells.min(axis=0)
        height, width = np.maximum(cells.max(axis=0) + 1, grid.shape)
        filled = np.zeros((height + 1, width + 1), dtype=np.int64)
        np.add.at(filled, (cells[:, 0] + 1, cells[:, 1] + 1), 1)
        total = filled.cumsum(axis=0).cumsum(axis=1)  # integral image
        rows, cols = grid.shape
        held = total[rows:, cols:] - total[:-rows, cols:] - total[rows:, :-cols]
        held = held + total[:-rows, :-cols]  # (shifts down, shifts right)
        top, left = np.unravel_index(held.argmax(), held.shape)
        local = cells - np.array([top, left])
        inside = ((local >= 0) & (local < grid.shape)).all(axis=1)
        return Partial(self.pieces[inside], self.cells[inside], self.anchored)


def complete(grid: Grid, fits: Fits, start: Partial, allowed: BoolArray) -> IntArray:
    """``position_of`` of the whole layout, grown greedily from ``start``.

    Slots with the most occupied neighbours come first; of all their
    candidates, the piece with the most best buddies among these neighbours is
    laid, and among equals the one with the highest mean compatibility to them
    (Pomeranz's order; compatibility first, as the supplement may be read, is
    worse). What stands against ``allowed`` is moved at the end with the
    fewest moves. Of several copies of a piece one is laid, the others are -1.
    """
    check_cancelled()
    rows, cols = grid.shape
    canvas = np.full((2 * rows + 1, 2 * cols + 1), EMPTY)  # a free line on every side
    if start.anchored:
        cells = start.cells + 1
        extent = np.array([1, rows, 1, cols])
    else:
        low = start.cells.min(axis=0)
        size = start.cells.max(axis=0) - low + 1
        cells = start.cells - low + 1 + (np.array(grid.shape) - size)
        extent = np.array(
            [cells[:, 0].min(), cells[:, 0].max(), cells[:, 1].min(), cells[:, 1].max()]
        )
    canvas[cells[:, 0], cells[:, 1]] = start.pieces
    copies = len(allowed) // grid.num_pieces
    free: BoolArray = ~np.isin(np.arange(len(allowed)) // copies, start.pieces // copies)
    within = allowed if start.anchored else np.ones_like(allowed)
    _grow(canvas, free, extent, rows, cols, fits.mutual, fits.buddy, within, copies)
    piece_at = canvas[extent[0] :, extent[2] :][:rows, :cols].ravel()
    left = np.setdiff1d(np.arange(grid.num_pieces), piece_at[piece_at != EMPTY] // copies)
    piece_at[piece_at == EMPTY] = copies * left
    laid, position_of = np.sort(piece_at), np.full(len(allowed), EMPTY)
    position_of[laid] = nearest_allowed(np.argsort(piece_at), allowed[laid])
    return position_of


@compiled
def _grow(
    canvas: IntArray,
    free: BoolArray,
    extent: IntArray,
    rows: int,
    cols: int,
    mutual: FloatArray,
    buddy: IntArray,
    allowed: BoolArray,
    copies: int,
) -> None:
    """Fill ``canvas`` in place; ``extent`` is first and last row, first and last column."""
    step_row, step_col = (0, 1, 0, -1), (1, 0, -1, 0)  # by direction
    neighbour = np.empty(4, np.int64)
    towards = np.empty(4, np.int64)
    for _ in range(free.sum()):
        most, best_score, best_buddies = 0, -1.0, -1
        best_piece, best_row, best_col = -1, -1, -1
        for row in range(max(1, extent[1] - rows + 1), min(2 * rows, extent[0] + rows)):
            for col in range(max(1, extent[3] - cols + 1), min(2 * cols, extent[2] + cols)):
                if canvas[row, col] != EMPTY:
                    continue
                num = 0
                for direction in range(4):
                    other = canvas[row + step_row[direction], col + step_col[direction]]
                    if other != EMPTY:
                        neighbour[num] = other
                        towards[num] = (direction + 2) % 4  # from the neighbour to here
                        num += 1
                if num == 0 or num < most:
                    continue
                position = (row - extent[0]) * cols + col - extent[2]
                for piece in range(len(free)):
                    if not free[piece]:
                        continue
                    if 0 <= position < rows * cols and not allowed[piece, position]:
                        continue
                    score, buddies = 0.0, 0
                    for n in range(num):
                        score += mutual[towards[n], neighbour[n], piece]
                        buddies += buddy[towards[n], neighbour[n]] == piece
                    score /= num
                    if num > most or (buddies, score) > (best_buddies, best_score):
                        most, best_score, best_buddies = num, score, buddies
                        best_piece, best_row, best_col = piece, row, col
        if best_piece < 0:
            return  # nothing left that is allowed
        canvas[best_row, best_col] = best_piece
        first = best_piece - best_piece % copies
        free[first : first + copies] = False
        extent[0], extent[1] = min(extent[0], best_row), max(extent[1], best_row)
        extent[2], extent[3] = min(extent[2], best_col), max(extent[3], best_col)
