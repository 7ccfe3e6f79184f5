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

    unary       (N, P) candidate, position
    right, down (N, N) candidate, candidate
    piece_of    (N,) the piece of every candidate
    settled     (P,) the one candidate that a position may hold, -1 where it is open
    """

    grid: Grid
    unary: FloatArray
    right: FloatArray
    down: FloatArray
    piece_of: IntArray
    settled: IntArray

    @classmethod
    def of(cls, energy: Energy) -> Tables:
        terms = [energy.unary, energy.right, energy.down]
        possible = [np.isfinite(term) for term in terms]
        spans = [_span(term[known]) for term, known in zip(terms, possible, strict=True)]
        penalty = MIN_PENALTY + 2 * energy.grid.num_pieces * sum(high - low for low, high in spans)
        settled = np.where(possible[0].sum(axis=0) == 1, possible[0].argmax(axis=0), -1)  # (P,)
        unary, right, down = (
            np.where(known, term, high + penalty)
            for term, known, (_, high) in zip(terms, possible, spans, strict=True)
        )
        return cls(energy.grid, unary, right, down, energy.pieces, settled)

    @property
    def costs(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.unary, self.right, self.down

    @property
    def num_cells(self) -> int:
        return self.grid.num_pieces

    @property
    def num_candidates(self) -> int:
        return len(self.unary)

    @cached_property
    def first_of(self) -> IntArray:
        """(K + 1,) the first candidate of every piece, and N."""
        return np.searchsorted(self.piece_of, np.arange(self.piece_of[-1] + 2))

    @property
    def free(self) -> IntArray:
        """Positions that are not settled."""
        return np.flatnonzero(self.settled < 0)

    @cached_property
    def has_unary(self) -> bool:
        """Whether it matters at all where in the frame a piece lies."""
        return bool(np.ptp(self.unary, axis=1).any())

    @cached_property
    def warmth(self) -> float:
        """A temperature at which good and bad costs can be told apart but still mix."""
        low = min(MIN_PENALTY / 2, max(float(term.max()) for term in self.costs))
        return sum(float(np.std(term, where=term <= low)) for term in self.costs) / 3 + 1e-9

    @cached_property
    def relative(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How much worse each cost is than its best rivals; below 0: it has none."""
        return (
            _relative(self.unary),
            _relative(self.right, self.piece_of),
            _relative(self.down, self.piece_of),
        )

    @cached_property
    def best(self) -> IntArray:
        """(4, N, ≤ NUM_BEST) the cheapest neighbours of each piece by direction."""
        steps = np.stack([self.right, self.down, self.right.T, self.down.T])  # (4, N, N)
        steps[:, self.piece_of[:, None] == self.piece_of] = np.inf
        count = max(1, min(NUM_BEST, self.num_candidates - 1))
        return np.ascontiguousarray(np.argsort(steps, axis=-1, kind="stable")[..., :count])

    def energy_of(self, piece_at: IntArray) -> FloatArray:
        """(…,) energies, penalties included, of layouts (…, P) of candidates."""
        unary, right, down = self.costs
        cells = piece_at.reshape(*piece_at.shape[:-1], *self.grid.shape)  # (…, rows, cols)
        placed: FloatArray = unary[piece_at, np.arange(self.num_cells)].sum(axis=-1)
        across: FloatArray = right[cells[..., :-1], cells[..., 1:]].sum(axis=(-2, -1))
        along: FloatArray = down[cells[..., :-1, :], cells[..., 1:, :]].sum(axis=(-2, -1))
        return placed + across + along


def _span(values: FloatArray) -> tuple[float, float]:
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def _relative(cost: FloatArray, piece_of: IntArray | None = None) -> FloatArray:
    """Cost less the mean of its best rivals in the same row and in the same column.

    ``piece_of`` tells the candidates of seams: those of one piece never touch.
    """
    if min(cost.shape) < 3:
        return cost
    if piece_of is None:
        return cost - (_best_rival(cost) + _best_rival(cost.T).T) / 2
    own = piece_of[:, None] == piece_of
    cost = np.where(own, np.inf, cost)
    if np.isinf(np.partition(cost, 1, axis=1)[:, 1]).any():  # a side without two candidates
        return np.where(own, 0.0, cost)
    return np.where(own, 0.0, cost - (_best_rival(cost) + _best_rival(cost.T).T) / 2)


def _best_rival(cost: FloatArray) -> FloatArray:
    """The least cost in the row among the other entries."""
    lowest = np.partition(cost, 1, axis=1)[:, :2]  # (N, 2)
    return np.where(cost == lowest[:, :1], lowest[:, 1:], lowest[:, :1])
