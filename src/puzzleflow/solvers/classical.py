"""What the classical solvers share: costs once, then a layout from costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Layout, Puzzle, Solution, all_turns
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.solvers.base import Question, TimedSession, nearest_allowed
from puzzleflow.solvers.compatibility import SeamCosts, check_compatibility, seam_costs

CONFIDENCE_SCALE = 0.35  # of the standard deviation of the costs of one side


@dataclass(frozen=True, eq=False)
class Found:
    """A layout and how it came about.

    position_of    (N,) permutation; of four copies a piece (4 N,), -1 but for the one laid
    trace          (S, N) complete layouts, each better than the one before, or None
    others         further layouts, best first
    position_prob  (N, P) how likely each piece is at each position, where a method says so
    turns          (N,) quarter turns, of a method that answers with them
    """

    position_of: IntArray
    trace: IntArray | None = None
    others: tuple[IntArray, ...] = ()
    position_prob: FloatArray | None = None
    turns: IntArray | None = None


# (costs, grid, allowed (N, N) or (4 N, N) piece × position, seed) → layout
LayOut = Callable[[SeamCosts, Grid, BoolArray, int], Found]


@dataclass(frozen=True)
class SeamSolver(ABC):
    """A solver that compares all pairs of pieces, once, and lays them by these costs.

    compatibility  of two sides; that of the class is the published one
    names          with that one, and what comes before the name of another
    turned         :meth:`layout` also takes four copies of every piece, one a turn
    """

    compatibility: str = "border"
    names: ClassVar[tuple[str, str]]
    turned: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_compatibility(self.compatibility)

    @property
    def name(self) -> str:
        published, stem = self.names
        other = self.compatibility != type(self).compatibility
        return f"{stem}-{self.compatibility}" if other else published

    @abstractmethod
    def layout(self, costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        """How the method lays pieces; see :data:`LayOut`."""

    def prepare(self, puzzle: Puzzle) -> SeamSession:
        started = perf_counter()
        if self.turned and puzzle.conditions.turned:
            grid = puzzle.complete_grid
            costs = seam_costs(self.compatibility, all_turns(puzzle.pieces)).between_pieces(4)
        else:
            grid = puzzle.closed_grid
            costs = seam_costs(self.compatibility, puzzle.pieces)
        return SeamSession(self.name, costs, grid, self.layout, perf_counter() - started)


@dataclass(frozen=True, eq=False)
class SeamSession(TimedSession):
    """One puzzle whose seam costs are known; ``seconds`` of an answer includes finding them."""

    name: str
    costs: SeamCosts
    grid: Grid
    lay_out: LayOut
    prepare_s: float = 0.0

    def answer(self, asked: Question) -> Solution:
        """Lay the pieces by their seams alone; see :class:`puzzleflow.solvers.base.Session`."""
        allowed = asked.allowed(self.grid.num_pieces)
        found, costs, turns = self._found(asked.seed, allowed)
        energy = costs.energy(self.grid)
        layouts = {tuple(p): p for p in (found.position_of, *found.others)}  # distinct, in order
        seams = seam_confidence(costs, self.grid, found.position_of)
        grid = None if turns is None else self.grid
        return Solution(
            found.position_of,
            solver=self.name,
            energy=energy.of_layout(found.position_of),
            confidence=piece_confidence(self.grid, found.position_of, seams),
            seam_confidence=seams,
            alternatives=tuple(
                Layout(p, energy.of_layout(p), grid=grid, turns=turns)
                for p in list(layouts.values())[: asked.num_alternatives]
            ),
            trace=found.trace,
            grid=grid,
            turns=turns,
        )

    def _found(self, seed: int, allowed: BoolArray) -> tuple[Found, SeamCosts, IntArray | None]:
        """A layout, the costs of what was laid, and its turns where pieces may be turned.

        Of four copies a piece one is laid freely; pins are honoured by the fewest moves after.
        """
        if self.costs.num_pieces == self.grid.num_pieces:
            return self.lay_out(self.costs, self.grid, allowed, seed), self.costs, None
        free: BoolArray = np.ones((self.costs.num_pieces, len(allowed)), dtype=bool)
        found = self.lay_out(self.costs, self.grid, free, seed)
        laid = np.flatnonzero(found.position_of >= 0)  # one copy a piece, in their order
        position_of = nearest_allowed(found.position_of[laid], allowed)
        return Found(position_of), self.costs.among(laid), laid % 4


def seam_confidence(
    costs: SeamCosts, grid: Grid, position_of: IntArray
) -> tuple[FloatArray, FloatArray]:
    """(rows, cols-1) right seams and (rows-1, cols) down seams, each in [0, 1].

    The share of the neighbour among all pieces that could lie there, seen
    from both sides: a softmax of the costs, in units of their spread. It
    ranks seams; it is not a calibrated probability.
    """
    piece_at = np.empty_like(position_of)
    piece_at[position_of] = np.arange(len(position_of))
    rows, cols = grid.shape
    shapes = {Direction.RIGHT: (rows, cols - 1), Direction.DOWN: (rows - 1, cols)}
    right, down = (
        _share(matrix)[tuple(piece_at[grid.neighbours(direction)].T)].reshape(shapes[direction])
        for direction, matrix in ((Direction.RIGHT, costs.right), (Direction.DOWN, costs.down))
    )
    return right, down


def _share(costs: FloatArray) -> FloatArray:
    """(N, N) softmax over the row and over the column, averaged."""
    finite = np.isfinite(costs)
    if len(costs) < 2 or not finite.any():
        return np.ones_like(costs)
    spread = max(float(np.std(costs[finite])), 1e-12) * CONFIDENCE_SCALE
    shares = []
    for axis in (0, 1):
        lowest = costs.min(axis=axis, keepdims=True)
        lowest = np.where(np.isfinite(lowest), lowest, 0.0)
        raised = np.exp(-(costs - lowest) / spread)
        shares.append(raised / np.maximum(raised.sum(axis=axis, keepdims=True), 1e-12))
    return np.asarray((shares[0] + shares[1]) / 2)


def piece_confidence(
    grid: Grid, position_of: IntArray, seams: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """(N,) mean confidence of the seams around each piece; 1 for a piece that has none."""
    total, count = np.zeros(grid.num_pieces), np.zeros(grid.num_pieces)
    for direction, seam in zip((Direction.RIGHT, Direction.DOWN), seams, strict=True):
        for end in grid.neighbours(direction).T:
            np.add.at(total, end, seam.ravel())
            np.add.at(count, end, 1)
    by_position = np.where(count > 0, total / np.maximum(count, 1), 1.0)
    return by_position[position_of]
