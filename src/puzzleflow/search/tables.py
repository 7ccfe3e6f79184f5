"""An energy made ready for search: finite, with each piece's best neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.energy import Energy

NUM_BEST = 6  # cheapest neighbours of a piece that guided moves aim at
MIN_PENALTY = 1e4


@dataclass(frozen=True, eq=False)
class Tables:
    """The costs of an energy, all finite, and what the search derives from them.

    A forbidden (infinite) cost becomes a penalty that all finite costs
    together cannot make up for.

    costs     (3, N, N) unary, right, down
    settled   (N,) the one piece that a position may hold, -1 where it is open
    """

    grid: Grid
    costs: FloatArray
    settled: IntArray

    @classmethod
    def of(cls, energy: Energy) -> Tables:
        terms = np.stack([energy.unary, energy.right, energy.down])  # (3, N, N)
        possible = np.isfinite(terms)
        lowest = np.where(possible, terms, np.inf).min(axis=(1, 2))
        highest = np.where(possible, terms, -np.inf).max(axis=(1, 2))
        lowest, highest = (np.where(np.isfinite(a), a, 0.0) for a in (lowest, highest))
        penalty = MIN_PENALTY + 2 * energy.grid.num_pieces * (highest - lowest).sum()
        settled = np.where(possible[0].sum(axis=0) == 1, possible[0].argmax(axis=0), -1)  # (N,)
        return cls(
            energy.grid, np.where(possible, terms, highest[:, None, None] + penalty), settled
        )

    @property
    def num_pieces(self) -> int:
        return self.grid.num_pieces

    @property
    def free(self) -> IntArray:
        """Positions that are not settled."""
        return np.flatnonzero(self.settled < 0)

    @cached_property
    def has_unary(self) -> bool:
        """Whether it matters at all where in the frame a piece lies."""
        return bool(np.ptp(self.costs[0], axis=1).any())

    @cached_property
    def warmth(self) -> float:
        """A temperature at which good and bad costs can be told apart but still mix."""
        low = min(MIN_PENALTY / 2, float(self.costs.max()))
        return float(np.std(self.costs, axis=(1, 2), where=self.costs <= low).sum()) / 3 + 1e-9

    @cached_property
    def relative(self) -> FloatArray:
        """(3, N, N) how much worse each cost is than its best rivals; below 0: it has none."""
        unary, right, down = self.costs
        return np.stack(
            [_relative(unary), _relative(right, pairs=True), _relative(down, pairs=True)]
        )

    @cached_property
    def best(self) -> IntArray:
        """(4, N, ≤ NUM_BEST) the cheapest neighbours of each piece by direction."""
        _, right, down = self.costs
        steps = np.stack([right, down, right.T, down.T])  # (4, N, N)
        pieces = np.arange(self.num_pieces)
        steps[:, pieces, pieces] = np.inf
        count = max(1, min(NUM_BEST, self.num_pieces - 1))
        return np.ascontiguousarray(np.argsort(steps, axis=-1, kind="stable")[..., :count])

    def energy_of(self, piece_at: IntArray) -> FloatArray:
        """(…,) energies, penalties included, of layouts (…, N)."""
        unary, right, down = self.costs
        cells = piece_at.reshape(*piece_at.shape[:-1], *self.grid.shape)  # (…, rows, cols)
        placed: FloatArray = unary[piece_at, np.arange(self.num_pieces)].sum(axis=-1)
        across: FloatArray = right[cells[..., :-1], cells[..., 1:]].sum(axis=(-2, -1))
        along: FloatArray = down[cells[..., :-1, :], cells[..., 1:, :]].sum(axis=(-2, -1))
        return placed + across + along


def _relative(cost: FloatArray, *, pairs: bool = False) -> FloatArray:
    """Cost less the mean of its best rivals in the same row and in the same column."""
    if len(cost) < 3:
        return cost
    cost = cost.copy()
    if pairs:
        np.fill_diagonal(cost, np.inf)
    relative = cost - (_best_rival(cost) + _best_rival(cost.T).T) / 2
    if pairs:
        np.fill_diagonal(relative, 0.0)
    return relative


def _best_rival(cost: FloatArray) -> FloatArray:
    """(N, N) the least cost in the row among the other entries."""
    lowest = np.partition(cost, 1, axis=1)[:, :2]  # (N, 2)
    return np.where(cost == lowest[:, :1], lowest[:, 1:], lowest[:, :1])
