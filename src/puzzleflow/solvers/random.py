"""The chance level: any layout, all equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_rng
from puzzleflow.solvers.base import Question, TimedSession


@dataclass(frozen=True)
class RandomSolver:
    """Lays the pieces at random: what other methods are compared with."""

    name: ClassVar[str] = "random"

    def prepare(self, puzzle: Puzzle) -> RandomSession:
        return RandomSession(puzzle.closed_grid.num_pieces)


@dataclass(frozen=True)
class RandomSession(TimedSession):
    """Knows nothing but the number of pieces."""

    num_pieces: int

    def answer(self, asked: Question) -> Solution:
        """A random layout within the pins; lists no alternatives."""
        from scipy.optimize import linear_sum_assignment

        allowed = asked.allowed(self.num_pieces)
        rng = child_rng(asked.seed, "random solver")
        if asked.forbidden:
            cost = rng.random(allowed.shape)
            cost[~allowed] = self.num_pieces + 1.0  # feasible, so never chosen
            position_of = linear_sum_assignment(cost)[1].astype(np.int64)
        else:
            position_of = np.argmax(allowed, axis=1)
            free = np.flatnonzero(allowed.sum(axis=1) != 1)
            position_of[free] = rng.permutation(np.flatnonzero(allowed.sum(axis=0) != 1))
        return Solution(position_of, solver="random")
