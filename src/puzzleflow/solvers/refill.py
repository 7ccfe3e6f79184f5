"""Whole layouts around a part: every translation of it, the rest filled in by beam search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.cancelling import StopFlag, check_cancelled, stop_flag
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.search.compiling import compiled
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.placer import EMPTY, Fits, Partial

DIGITS = 12  # mean distances are compared to this many decimals
SAME_MEAN = 1e-9  # equal canvases differ by no more, whatever the order of the sums


@dataclass(frozen=True, eq=False)
class Refilled:
    """A whole layout; ``rank`` orders layouts, the best one lowest.

    distance  mean over all seams
    buddies   seams whose pieces are each other's best
    shift     by how many rows and columns the kept part moved
    """

    position_of: IntArray
    distance: float
    buddies: int
    shift: int

    @property
    def rank(self) -> tuple[float, int, int]:
        return round(self.distance, DIGITS), -self.buddies, self.shift


def mean_distance(costs: SeamCosts, grid: Grid, position_of: IntArray) -> float:
    """Mean cost over all right and down seams of a layout; 0 where there is none."""
    piece_at = invert(position_of)
    across = costs.right[tuple(piece_at[grid.neighbours(Direction.RIGHT)].T)]
    along = costs.down[tuple(piece_at[grid.neighbours(Direction.DOWN)].T)]
    seams = np.concatenate([across, along])
    return float(seams.mean()) if seams.size else 0.0


def best_refill(
    costs: SeamCosts, grid: Grid, allowed: BoolArray, part: Partial, widths: Iterable[int]
) -> Refilled | None:
    """The best layout that keeps ``part`` together, or None if none is found.

    part    keeps its inner arrangement; unless anchored, every translation inside
            the grid is tried
    widths  of the beams that fill in the rest, each tried; 1 is greedy
    """
    fits = Fits.of(costs)
    stacked = costs.stacked()
    candidates = [
        Refilled(
            position_of,
            mean_distance(costs, grid, position_of),
            int(fits.buddy_seams(grid, position_of)[1].sum()),
            shift,
        )
        for shift, canvas in _translations(grid, allowed, part)
        for width in widths
        for position_of in _filled(canvas, stacked, grid, allowed, width)
    ]
    return min(candidates, key=lambda refilled: refilled.rank, default=None)


def _translations(grid: Grid, allowed: BoolArray, part: Partial) -> Iterator[tuple[int, IntArray]]:
    """(rows + columns moved, (P,) piece at each position or -1) of ``part`` and all pins."""
    pins = Partial.of_pins(grid, allowed)
    pinned = np.full(grid.num_pieces, EMPTY)
    pinned[pins.cells @ (grid.cols, 1)] = pins.pieces
    low, high = part.cells.min(axis=0), part.cells.max(axis=0)
    downs, rights = (
        range(1) if part.anchored else range(-int(low[axis]), size - int(high[axis]))
        for axis, size in enumerate(grid.shape)
    )
    for down in downs:
        for right in rights:
            positions = (part.cells + np.array([down, right])) @ (grid.cols, 1)  # (M,)
            taken = pinned[positions]
            free = (taken == EMPTY) | (taken == part.pieces)
            if not (free & allowed[part.pieces, positions]).all():
                continue
            canvas = pinned.copy()
            canvas[positions] = part.pieces
            yield abs(down) + abs(right), canvas


def _filled(
    canvas: IntArray, stacked: FloatArray, grid: Grid, allowed: BoolArray, width: int
) -> list[IntArray]:
    """``position_of`` of the whole layouts at the end of a beam of ``width``."""
    canvases = _beam(stop_flag(), canvas, stacked, grid.rows, grid.cols, allowed, width)
    check_cancelled()
    return [invert(piece_at) for piece_at in canvases]


@compiled
def _beam(
    stop: StopFlag,
    start: IntArray,
    stacked: FloatArray,
    rows: int,
    cols: int,
    allowed: BoolArray,
    width: int,
) -> IntArray:
    """(≤ width, P) canvases grown from ``start``, the lowest mean over closed seams first.

    A step lays one piece into one of the positions with the most neighbours; equal
    canvases reached in different orders count once.
    """
    num = len(start)
    canvas = np.empty((width, num), np.int64)
    canvas[0] = start
    total, closed = np.zeros(width), np.zeros(width, np.int64)
    for position in range(num):
        for direction in (0, 1):  # right and down, so that each seam counts once
            other = _beside(position, direction, rows, cols)
            if start[position] >= 0 and other >= 0 and start[other] >= 0:
                total[0] += stacked[direction, start[position], start[other]]
                closed[0] += 1
    num_states = 1
    step = np.empty((width, 4), np.int64)  # state, position, piece, closed seams: one a row
    value = np.empty((width, 2))  # mean and sum over the closed seams
    for _ in range((start < 0).sum()):
        if stop[0]:
            break
        found = 0
        for state in range(num_states):
            now = canvas[state]
            free = np.ones(num, np.bool_)
            most = 0
            for position in range(num):
                if now[position] >= 0:
                    free[now[position]] = False
                else:
                    most = max(most, _num_beside(now, position, rows, cols))
            for position in range(num):
                if now[position] >= 0 or _num_beside(now, position, rows, cols) < most:
                    continue
                for piece in range(num):
                    if not free[piece] or not allowed[piece, position]:
                        continue
                    cost = total[state]
                    for direction in range(4):
                        other = _beside(position, direction, rows, cols)
                        if other >= 0 and now[other] >= 0:
                            cost += stacked[direction, piece, now[other]]
                    mean = cost / max(closed[state] + most, 1)
                    if found == width and mean >= value[width - 1, 0]:
                        continue
                    if _known(canvas, step[:found], value, state, position, piece, mean):
                        continue
                    k = min(found, width - 1)
                    while k > 0 and value[k - 1, 0] > mean:
                        step[k], value[k] = step[k - 1], value[k - 1]
                        k -= 1
                    step[k, 0], step[k, 1], step[k, 2] = state, position, piece
                    step[k, 3] = closed[state] + most
                    value[k, 0], value[k, 1] = mean, cost
                    found = min(found + 1, width)
        grown = np.empty((width, num), np.int64)
        for k in range(found):
            grown[k] = canvas[step[k, 0]]
            grown[k, step[k, 1]] = step[k, 2]
        total[:found], closed[:found] = value[:found, 1], step[:found, 3]
        canvas, num_states = grown, found
    return canvas[:num_states]


@compiled
def _known(
    canvas: IntArray,
    step: IntArray,
    value: FloatArray,
    state: int,
    position: int,
    piece: int,
    mean: float,
) -> bool:
    """Whether one of the chosen steps leads to the same canvas."""
    for k in range(len(step)):
        if abs(mean - value[k, 0]) > SAME_MEAN:
            continue
        same = True
        for index in range(canvas.shape[1]):
            one = piece if index == position else canvas[state, index]
            other = step[k, 2] if index == step[k, 1] else canvas[step[k, 0], index]
            same = same and one == other
        if same:
            return True
    return False


@compiled
def _beside(position: int, direction: int, rows: int, cols: int) -> int:
    """The position in ``direction`` of ``position``, or -1 beyond the frame."""
    row, col = position // cols, position % cols
    if direction == 0:
        return position + 1 if col + 1 < cols else -1
    if direction == 1:
        return position + cols if row + 1 < rows else -1
    if direction == 2:
        return position - 1 if col > 0 else -1
    return position - cols if row > 0 else -1


@compiled
def _num_beside(canvas: IntArray, position: int, rows: int, cols: int) -> int:
    """How many neighbours of ``position`` are laid."""
    num = 0
    for direction in range(4):
        other = _beside(position, direction, rows, cols)
        if other >= 0 and canvas[other] >= 0:
            num += 1
    return num
