"""Gallagher's tree solver (CVPR 2012): a spanning tree of seams that never overlap.

Seams come in the order of their cost relative to the best rival on either
side; each joins two groups unless pieces would collide (constrained Kruskal).
The tree is then trimmed to the frame that holds most of it, and the pieces
left over fill the holes. Where pieces may be turned, each enters in four copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from puzzleflow.core.cancelling import StopFlag, check_cancelled, stop_flag
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.search.compiling import compiled
from puzzleflow.solvers.classical import Found, SeamSolver
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.placer import Fits, Partial, complete

NONE = -1
TINY = 1e-12  # keeps ratios of vanishing costs finite


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


@dataclass(frozen=True)
class MgcTreeSolver(SeamSolver):
    """Constrained minimum spanning tree, trimmed and filled.

    compatibility  "mgc" as published, "alpha" for irregular pieces
    fit_frame      whether no group may outgrow the frame; as published it may, and is trimmed
    """

    names = ("mgc-tree", "tree")
    turned = True
    compatibility: str = "mgc"
    fit_frame: bool = False

    def layout(self, costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        return tree_layout(costs, grid, allowed, seed, fit_frame=self.fit_frame)


tree_alpha = partial(MgcTreeSolver, compatibility="alpha", fit_frame=True)


def tree_layout(
    costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int = 0, *, fit_frame: bool = True
) -> Found:
    """The spanning tree as a layout; the seed changes nothing."""
    costs = costs.tamed()
    seams = seams_by_ratio(costs)
    fit_frame = fit_frame or len(allowed) > grid.num_pieces  # or the whole lying on its side wins
    tree = Components.single(grid, allowed).joined(seams, grid, allowed, fit_frame=fit_frame)
    start = tree.largest().trimmed(grid)
    return Found(complete(grid, Fits.of(costs), start, allowed))


def seams_by_ratio(costs: SeamCosts) -> IntArray:
    """(E, 3) direction, i, j of all right and down seams, the most certain first."""
    ratios = np.stack([rival_ratio(costs.right), rival_ratio(costs.down)])  # (2, N, N)
    order = np.argsort(ratios, axis=None, kind="stable")
    axis, first, second = np.unravel_index(order, ratios.shape)
    direction = np.where(axis == 0, Direction.RIGHT, Direction.DOWN)
    seams = np.stack([direction, first, second], axis=1)
    return np.asarray(seams[first != second], dtype=np.int64)


def rival_ratio(costs: FloatArray) -> FloatArray:
    """(N, N) each cost over the least of its rivals: the same i with another j, or vice versa.

    Below 1 only for the best of both its row and its column; 1 where there is no
    rival; infinite where the cost is.
    """
    if len(costs) < 3:
        return costs
    least = np.sort(costs, axis=1)[:, :2]  # (N, 2)
    row_rival = np.where(costs == least[:, :1], least[:, 1:], least[:, :1])
    least = np.sort(costs, axis=0)[:2]  # (2, N)
    col_rival = np.where(costs == least[:1], least[1:], least[:1])
    rival = np.minimum(row_rival, col_rival)
    ratio = np.where(np.isfinite(costs), 1.0, np.inf)
    known = np.isfinite(costs) & np.isfinite(rival)
    ratio[known] = (costs[known] + TINY) / (rival[known] + TINY)
    return ratio
