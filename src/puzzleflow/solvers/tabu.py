"""Discrete tabu search on the sum of seam costs (after Adamczewski, Suh & Lee, ICCV 2015).

From a layout, the best exchange of two pieces is made, even if it is for the
worse; a piece may not go back to a position it left for some steps, unless
that gives the best layout so far. When nothing better turns up for long, the
search starts again from the best layout with some pieces shuffled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.cancelling import StopFlag, check_cancelled, stop_flag
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.options import Within
from puzzleflow.search.compiling import RandomState, below, compiled, random_state
from puzzleflow.solvers.base import nearest_allowed
from puzzleflow.solvers.classical import Found, SeamSolver
from puzzleflow.solvers.compatibility import SeamCosts

MAX_TRACE = 200


@dataclass(frozen=True)
class TabuSolver(SeamSolver):
    """Tabu search over exchanges of two pieces.

    compatibility  "mgc" as published, "alpha" for irregular pieces
    num_steps      exchanges made for each piece of the puzzle
    num_starts     independent searches from random layouts; the best one counts
    """

    names = ("tabu", "tabu")
    compatibility: str = "mgc"
    num_steps: Annotated[int, Within(0)] = 200
    num_starts: Annotated[int, Within(1)] = 4

    def layout(self, costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        steps, starts = self.num_steps, self.num_starts
        return tabu_layout(costs, grid, allowed, seed, num_steps=steps, num_starts=starts)


tabu_alpha = partial(TabuSolver, compatibility="alpha")


def tabu_layout(
    costs: SeamCosts,
    grid: Grid,
    allowed: BoolArray,
    seed: int = 0,
    *,
    num_steps: int = 200,
    num_starts: int = 4,
) -> Found:
    """The best layout of ``num_starts`` searches of ``num_steps`` · N exchanges."""
    energy = costs.tamed().energy(grid)
    right, down = energy.right, energy.down
    state = random_state(seed, "tabu")
    rng = np.random.default_rng(state)
    found: list[tuple[float, IntArray, IntArray]] = []
    for _ in range(num_starts):
        start = nearest_allowed(rng.permutation(grid.num_pieces), allowed)
        piece_at, trace = invert(start), np.empty((MAX_TRACE, grid.num_pieces), dtype=np.int64)
        budget = num_steps * grid.num_pieces
        cost, num_traced = _search(
            stop_flag(), piece_at, right, down, grid.cols, allowed, budget, state, trace
        )
        check_cancelled()
        found.append((cost, piece_at, trace[:num_traced]))
    found.sort(key=lambda entry: entry[0])
    layouts = [invert(piece_at) for _, piece_at, _ in found]
    trace = np.stack([invert(piece_at) for piece_at in found[0][2]])
    return Found(layouts[0], trace=trace, others=tuple(layouts[1:]))


@compiled
def _touching(
    piece_at: IntArray, right: FloatArray, down: FloatArray, cols: int, a: int, b: int
) -> float:
    """Cost of all seams around positions a < b, a seam between them once."""
    num = len(piece_at)
    total = 0.0
    for end in range(2):
        position = a if end == 0 else b
        piece = piece_at[position]
        col = position % cols
        if col > 0 and not (end == 1 and position - 1 == a):
            total += right[piece_at[position - 1], piece]
        if col < cols - 1:
            total += right[piece, piece_at[position + 1]]
        if position >= cols and not (end == 1 and position - cols == a):
            total += down[piece_at[position - cols], piece]
        if position + cols < num:
            total += down[piece, piece_at[position + cols]]
    return total


@compiled
def _swap(piece_at: IntArray, a: int, b: int) -> None:
    piece_at[a], piece_at[b] = piece_at[b], piece_at[a]


@compiled
def _refresh(
    around: FloatArray, piece_at: IntArray, right: FloatArray, down: FloatArray, cols: int, at: int
) -> None:
    """(N, N) ``around[piece, at]``: cost of the seams around ``at`` if ``piece`` lay there."""
    num = len(piece_at)
    for piece in range(num):
        total = 0.0
        if at % cols > 0:
            total += right[piece_at[at - 1], piece]
        if at % cols < cols - 1:
            total += right[piece, piece_at[at + 1]]
        if at >= cols:
            total += down[piece_at[at - cols], piece]
        if at + cols < num:
            total += down[piece, piece_at[at + cols]]
        around[piece, at] = total


@compiled
def _adjacent(a: int, b: int, cols: int) -> bool:
    """Whether positions a < b share a seam."""
    return b == a + cols or (b == a + 1 and b % cols != 0)


@compiled
def _total(piece_at: IntArray, right: FloatArray, down: FloatArray, cols: int) -> float:
    total = 0.0
    for position in range(len(piece_at)):
        if position % cols < cols - 1:
            total += right[piece_at[position], piece_at[position + 1]]
        if position + cols < len(piece_at):
            total += down[piece_at[position], piece_at[position + cols]]
    return total


@compiled
def _search(
    stop: StopFlag,
    piece_at: IntArray,
    right: FloatArray,
    down: FloatArray,
    cols: int,
    allowed: BoolArray,
    num_steps: int,
    state: RandomState,
    trace: IntArray,
) -> tuple[float, int]:
    """Leave the best layout in ``piece_at``; returns its cost and how many layouts are traced."""
    num = len(piece_at)
    until = np.zeros((num, num), np.int64)  # piece, position: tabu up to this step
    best = piece_at.copy()
    cost = best_cost = _total(piece_at, right, down, cols)
    around = np.empty((num, num))
    for at in range(num):
        _refresh(around, piece_at, right, down, cols, at)
    trace[0] = piece_at
    num_traced, stale = 1, 0
    for step in range(num_steps):
        if stop[0]:
            break
        chosen_a, chosen_b, chosen_delta = -1, -1, np.inf
        for a in range(num - 1):
            first = piece_at[a]
            for b in range(a + 1, num):
                second = piece_at[b]
                if not (allowed[first, b] and allowed[second, a]):
                    continue
                if _adjacent(a, b, cols):
                    before = _touching(piece_at, right, down, cols, a, b)
                    _swap(piece_at, a, b)
                    delta = _touching(piece_at, right, down, cols, a, b) - before
                    _swap(piece_at, a, b)
                else:
                    delta = around[first, b] + around[second, a]
                    delta -= around[first, a] + around[second, b]
                tabu = until[first, b] > step or until[second, a] > step
                if tabu and cost + delta >= best_cost - 1e-12:
                    continue
                if delta < chosen_delta:
                    chosen_a, chosen_b, chosen_delta = a, b, delta
        if chosen_a >= 0:
            tenure = num // 4 + 2 + below(state, num // 4 + 3)
            until[piece_at[chosen_a], chosen_a] = step + tenure
            until[piece_at[chosen_b], chosen_b] = step + tenure
            _swap(piece_at, chosen_a, chosen_b)
            cost += chosen_delta
            for at in (chosen_a, chosen_b):
                for beside in (at - cols, at - 1, at + 1, at + cols):
                    if 0 <= beside < num:
                        _refresh(around, piece_at, right, down, cols, beside)
        stale += 1
        if cost < best_cost - 1e-12:
            best[:] = piece_at
            best_cost = cost
            stale = 0
            num_traced = min(num_traced, len(trace) - 1)  # when full, the last one is replaced
            trace[num_traced] = piece_at
            num_traced += 1
        if stale > 4 * num + 20:  # start again near the best layout
            piece_at[:] = best
            for _ in range(num // 4 + 2):
                a, b = below(state, num), below(state, num)
                if allowed[piece_at[a], b] and allowed[piece_at[b], a]:
                    _swap(piece_at, a, b)
            cost = _total(piece_at, right, down, cols)
            for at in range(num):
                _refresh(around, piece_at, right, down, cols, at)
            until[:] = 0
            stale = 0
    piece_at[:] = best
    return best_cost, num_traced
