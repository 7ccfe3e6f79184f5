"""Rigid groups of pieces, joined seam by seam (Kruskal's algorithm with collision checks).

Where pieces may be turned, every piece is there in four copies, one a turn, and no group
holds two copies of a piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.cancelling import StopFlag, check_cancelled, stop_flag
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, IntArray
from puzzleflow.search.compiling import compiled
from puzzleflow.solvers.placer import Partial

NONE = -1


@dataclass(frozen=True, eq=False)
class Components:
    """Every piece belongs to one group and has a cell relative to it.

    label     (N,) int64 the group of each piece
    cells     (N, 2) row and column; pieces of one group never share a cell
    anchored  the group whose cells are those of the grid, or -1
    """

    label: IntArray
    cells: IntArray
    anchored: int = NONE

    @classmethod
    def single(cls, grid: Grid, allowed: BoolArray) -> Components:
        """Each piece by itself, but all pinned pieces together at their places."""
        label, cells = np.arange(len(allowed)), np.zeros((len(allowed), 2), dtype=np.int64)
        pins = Partial.of_pins(grid, allowed)
        if not pins.anchored:
            return cls(label, cells)
        label[pins.pieces] = pins.pieces[0]
        cells[pins.pieces] = pins.cells
        return cls(label, cells, int(pins.pieces[0]))

    def largest(self) -> Partial:
        """The anchored group, or else the one with the most pieces."""
        anchored = self.anchored != NONE
        label = self.anchored if anchored else int(np.bincount(self.label).argmax())
        pieces = np.flatnonzero(self.label == label)
        return Partial(pieces, self.cells[pieces], anchored)

    def joined(
        self, seams: IntArray, grid: Grid, allowed: BoolArray, *, fit_frame: bool
    ) -> Components:
        """Join along ``seams`` in their order wherever no two pieces collide.

        seams      (E, 3) direction, piece i, piece j: j lies in that direction of i
        fit_frame  whether a group must also fit into the frame; the anchored
                   one always must, and keeps to ``allowed``
        """
        label, cells = self.label.copy(), self.cells.copy()
        steps = np.array([direction.step for direction in Direction])
        anchored = _join(
            stop_flag(),
            np.ascontiguousarray(seams, dtype=np.int64),
            label,
            cells,
            self.anchored,
            np.array(grid.shape),
            allowed,
            steps,
            fit_frame,
            len(allowed) // grid.num_pieces,
        )
        check_cancelled()
        return Components(label, cells, int(anchored))


@compiled
def _join(
    stop: StopFlag,
    seams: IntArray,
    label: IntArray,
    cells: IntArray,
    anchored: int,
    shape: IntArray,
    allowed: BoolArray,
    steps: IntArray,
    fit_frame: bool,
    copies: int,
) -> int:
    """Join in place; returns the label of the anchored group."""
    num_pieces = len(label)
    for seam in range(len(seams)):
        if stop[0]:
            break
        direction, first, second = seams[seam]
        keep, move = label[first], label[second]
        if keep == move:
            continue
        shift_row = cells[first, 0] + steps[direction, 0] - cells[second, 0]
        shift_col = cells[first, 1] + steps[direction, 1] - cells[second, 1]
        if move == anchored:  # the anchored group stays where it is
            keep, move = move, keep
            shift_row, shift_col = -shift_row, -shift_col
        low_row, high_row, low_col, high_col = 1 << 30, -(1 << 30), 1 << 30, -(1 << 30)
        fits = True
        for piece in range(num_pieces):
            if label[piece] != keep and label[piece] != move:
                continue
            row, col = cells[piece]
            if label[piece] == move:
                row, col = row + shift_row, col + shift_col
                for other in range(num_pieces):
                    if label[other] == keep and (
                        (cells[other, 0] == row and cells[other, 1] == col)
                        or other // copies == piece // copies
                    ):
                        fits = False
                        break
                if not fits:
                    break
                if keep == anchored and 0 <= row < shape[0] and 0 <= col < shape[1]:
                    fits = allowed[piece, row * shape[1] + col]
                    if not fits:
                        break
            low_row, high_row = min(low_row, row), max(high_row, row)
            low_col, high_col = min(low_col, col), max(high_col, col)
        if not fits:
            continue
        if keep == anchored and (
            low_row < 0 or low_col < 0 or high_row >= shape[0] or high_col >= shape[1]
        ):
            continue
        if fit_frame and (high_row - low_row >= shape[0] or high_col - low_col >= shape[1]):
            continue
        for piece in range(num_pieces):
            if label[piece] == move:
                label[piece] = keep
                cells[piece, 0] += shift_row
                cells[piece, 1] += shift_col
    return anchored
