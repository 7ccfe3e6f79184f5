"""What an answer says beyond positions in the open world, in the words of JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from puzzleflow.core.assignment import as_turns
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.open_metrics import OpenAnswer
from puzzleflow.core.puzzle import Layout, Solution
from puzzleflow.core.types import FloatArray

_DIGITS = 6


@dataclass(frozen=True)
class GridShare:
    """A grid and how likely it is."""

    grid: str
    probability: float


@dataclass(frozen=True)
class OpenFacts:
    """Beside the positions of N pieces, -1 for those left aside.

    grid   the grid that was laid
    turns  quarter turns against the clock that bring each piece upright
    aside  probability that each piece belongs nowhere
    grids  the likeliest grids, the best first
    """

    grid: str
    turns: tuple[int, ...] | None = None
    aside: tuple[float, ...] | None = None
    grids: tuple[GridShare, ...] = ()

    @classmethod
    def of(cls, solution: Solution) -> Self | None:
        """The facts of a solution; None of one that lays all pieces upright on a known grid."""
        if solution.grid is None:
            return None
        return cls(
            str(solution.grid),
            None if solution.turns is None else tuple(solution.turns.tolist()),
            None if solution.aside_prob is None else _rounded(solution.aside_prob),
            tuple(GridShare(str(grid), round(p, _DIGITS)) for grid, p in solution.grid_prob),
        )

    def check(self, num_pieces: int) -> None:
        """Refuse facts about another number of pieces."""
        try:
            for told in (self.grid, *(share.grid for share in self.grids)):
                Grid.parse(told)
            if self.turns is not None:
                as_turns(self.turns, num_pieces)
        except InputError as error:
            raise FormatError(str(error)) from error
        if self.aside is not None and len(self.aside) != num_pieces:
            raise FormatError(f"aside: {len(self.aside)} probabilities for {num_pieces} pieces")

    def reordered(self, order: Sequence[int]) -> OpenFacts:
        """The same facts with the pieces in another order."""
        return replace(
            self,
            turns=None if self.turns is None else tuple(self.turns[piece] for piece in order),
            aside=None if self.aside is None else tuple(self.aside[piece] for piece in order),
        )

    def layout(self, position_of: tuple[int, ...]) -> Layout:
        """The whole layout."""
        turns = None if self.turns is None else np.array(self.turns)
        return Layout(np.array(position_of), grid=Grid.parse(self.grid), turns=turns)


def open_answer(
    layout: Layout,
    grid: Grid,
    aside: tuple[float, ...] | FloatArray | None = None,
    confidence: tuple[float | None, ...] | FloatArray | None = None,
) -> OpenAnswer:
    """What is scored; ``grid`` is that of layouts that tell none."""
    sure = None if confidence is None else np.array(confidence, dtype=np.float64)
    if sure is not None and not np.isfinite(sure).all():
        sure = None
    return OpenAnswer(
        layout.position_of,
        layout.grid or grid,
        layout.turns,
        None if aside is None else np.asarray(aside, dtype=np.float64),
        sure,
    )


def _rounded(values: FloatArray) -> tuple[float, ...] | None:
    numbers = [float(value) for value in values]
    if not all(map(math.isfinite, numbers)):
        return None
    return tuple(round(number, _DIGITS) for number in numbers)
