"""Small grids exactly: the minimum, the best layouts in order, and the marginals.

Pieces are laid cell by cell, row-major on the narrow side of the grid. What
the rest will cost depends only on *which* pieces are used and on the last
``width`` of them, so layouts that agree in those share one state: 9! layouts
of 3x3 become 31,834 states with 97,353 transitions, and dynamic programming
over them is exact. One table of transitions per grid is made and kept. Where
there are more pieces than cells, those that are left over lie aside.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import perm

import numpy as np

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.energy import Energy
from puzzleflow.search.posterior import Posterior

MAX_TRANSITIONS = 3_100_000  # a 3x4 grid has 3,041,280


def is_exact_size(grid: Grid, num_pieces: int | None = None) -> bool:
    """Whether ``grid`` is small enough for the exact methods (3x4, 2x6, 1x15)."""
    width, num = min(grid.shape), num_pieces or grid.num_pieces
    num_transitions = perm(num, width + 1) << max(num - width - 1, 0)  # at most
    return num_transitions <= MAX_TRANSITIONS


def can_be_exact(energy: Energy) -> bool:
    """Whether the exact methods can take ``energy``: few pieces, one candidate each."""
    return energy.num_candidates == energy.num_pieces and is_exact_size(
        energy.grid, energy.num_pieces
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """The transitions that fill one cell: S states, each with U unused pieces.

    piece    (U, S) the piece laid
    beside   (U, S) left neighbour * num + piece, or None in the first column
    below    (U, S) upper neighbour * num + piece, or None in the first row
    after    (U, S) the state it leads to, in the next step

    States come last: NumPy sums and compares along a first axis many times as fast.
    """

    piece: IntArray
    beside: IntArray | None
    below: IntArray | None
    after: IntArray


@lru_cache(maxsize=8)
def _steps(rows: int, width: int, num: int) -> tuple[_Step, ...]:
    """Every transition of ``num`` pieces on a rows × width grid, cell by cell."""
    bits = 1 << np.arange(num)  # (N,)
    used = np.zeros(1, dtype=np.int64)  # (S,) bit set of the pieces laid
    last = np.zeros((1, 0), dtype=np.int64)  # (S, min(k, width)) the latest pieces
    steps = []
    for cell in range(rows * width):
        check_cancelled()
        unused = np.nonzero((used[:, None] & bits) == 0)[1].reshape(len(used), num - cell)
        unused = np.ascontiguousarray(unused.T)  # (U, S)
        beside = last[:, -1] * num + unused if cell % width else None
        below = last[:, 0] * num + unused if cell >= width else None
        kept = last[:, 1:] if cell >= width else last
        code = used << 5 * width
        for column in range(kept.shape[1]):
            code = code | (kept[:, column] << 5 * (width - 1 - column))
        shift = 5 * (width - 1 - kept.shape[1])
        codes = (code | (unused << shift)) | (bits[unused] << 5 * width)  # (U, S)
        _, first, after = np.unique(codes, return_index=True, return_inverse=True)
        steps.append(_Step(unused, beside, below, after.reshape(unused.shape)))
        choice, before = np.divmod(first, unused.shape[1])  # one way into each new state
        laid = unused[choice, before]
        used = used[before] | bits[laid]
        last = np.concatenate([kept[before], laid[:, None]], axis=1)
    return tuple(steps)


class ExactSearch:
    """One energy on a small grid, its cost-to-go worked out once."""

    def __init__(self, energy: Energy) -> None:
        if not can_be_exact(energy):
            raise CannotSolve(f"a {energy.grid} grid is too large for exact search")
        self.energy = energy
        rows, cols = energy.grid.shape
        cells = np.arange(rows * cols).reshape(rows, cols)
        unary, across, along = energy.unary, energy.right, energy.down
        if cols > rows:  # walk down the columns, so that the narrow side is the width
            cells, across, along = cells.T, along, across
        self._position = cells.ravel()  # (P,) position of the cell filled at each step
        self._steps = _steps(*cells.shape, energy.num_candidates)
        self._cost = [
            self._transition_cost(step, unary[:, position], across, along)
            for step, position in zip(self._steps, self._position, strict=True)
        ]
        self._num_last = int(self._steps[-1].after.max()) + 1  # states of a full grid
        self._to_go: list[FloatArray] = [np.zeros(self._num_last)]  # (S,) cheapest completion
        self._through: list[FloatArray] = []  # (U, S) cheapest completion by every transition
        for step, cost in zip(reversed(self._steps), reversed(self._cost), strict=True):
            self._through.append(cost + self._to_go[-1].take(step.after))
            self._to_go.append(self._through[-1].min(axis=0))
        self._through.reverse()
        self._to_go.reverse()
        if not np.isfinite(self._to_go[0][0]):
            raise CannotSolve("no layout honours the pinned and forbidden placements together")

    @staticmethod
    def _transition_cost(
        step: _Step, unary: FloatArray, across: FloatArray, along: FloatArray
    ) -> FloatArray:
        """(U, S) what each transition of one step costs."""
        check_cancelled()
        cost: FloatArray = unary.take(step.piece)
        if step.beside is not None:
            cost += across.take(step.beside)
        if step.below is not None:
            cost += along.take(step.below)
        return cost

    @property
    def minimum(self) -> float:
        """The lowest energy of any layout."""
        return float(self._to_go[0][0])

    def layouts(self) -> Iterator[Layout]:
        """Every layout of finite energy, one after the other, lowest energy first.

        Best-first search; as the cost-to-go is exact, nothing is expanded
        that does not belong to the next layout.
        """
        # (energy of the best completion, pieces laid so far, state, cost so far)
        queue: list[tuple[float, tuple[int, ...], int, float]] = [(self.minimum, (), 0, 0.0)]
        while queue:
            check_cancelled()
            _, laid, state, spent = heapq.heappop(queue)
            cell = len(laid)
            if cell == len(self._steps):
                position_of = np.full(self.energy.num_candidates, -1, dtype=np.int64)
                position_of[list(laid)] = self._position
                yield self.energy.layout(position_of)
                continue
            step, to_go = self._steps[cell], self._to_go[cell + 1]
            for piece, after, cost in zip(
                step.piece[:, state].tolist(),
                step.after[:, state].tolist(),
                self._cost[cell][:, state].tolist(),
                strict=True,
            ):
                total = spent + cost + to_go[after]
                if np.isfinite(total):
                    heapq.heappush(queue, (total, (*laid, piece), after, spent + cost))

    def posterior(self, temperature: float = 1.0) -> Posterior:
        """Exact marginals of p(π) ∝ exp(−E(π) / temperature).

        Costs are first reduced by the cost-to-go: then every weight lies in
        (0, 1], the best layout weighs 1, and nothing overflows however large
        or cold the energy.
        """
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, not {temperature}")
        num = self.energy.num_candidates
        weights = []  # per step (U, S), 0 where a transition leads nowhere
        for here, through in zip(self._to_go[:-1], self._through, strict=True):
            check_cancelled()
            reduced = through - np.where(np.isfinite(here), here, 0.0)
            reduced /= -temperature
            weights.append(np.exp(reduced, out=reduced))
        backward: list[FloatArray] = [np.ones(self._num_last)]
        for step, weight in zip(reversed(self._steps), reversed(weights), strict=True):
            backward.append((weight * backward[-1].take(step.after)).sum(axis=0))
        backward.reverse()
        total = backward[0][0]

        position_prob = np.zeros((num, len(self._steps)))
        across, along = np.zeros((2, num * num))
        forward = np.ones(1) / total
        for cell, (step, weight) in enumerate(zip(self._steps, weights, strict=True)):
            check_cancelled()
            flow = forward * weight  # (U, S)
            prob = flow * backward[cell + 1].take(step.after)
            position_prob[:, self._position[cell]] = _count(step.piece, prob, num)
            if step.beside is not None:
                across += _count(step.beside, prob, num * num)
            if step.below is not None:
                along += _count(step.below, prob, num * num)
            forward = _count(step.after, flow, len(backward[cell + 1]))
        seams = across.reshape(num, num), along.reshape(num, num)
        grid = self.energy.grid
        right_prob, down_prob = seams[::-1] if grid.cols > grid.rows else seams
        return Posterior(grid, position_prob, right_prob, down_prob)


def _count(bins: IntArray, weights: FloatArray, num_bins: int) -> FloatArray:
    """Sum ``weights`` by bin."""
    total: FloatArray = np.bincount(bins.ravel(), weights.ravel(), num_bins).astype(np.float64)
    return total
