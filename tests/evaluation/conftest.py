"""Tiny puzzles without files, and a solver that reads the answer off them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import IntArray
from puzzleflow.solvers.registry import SOLVERS
from puzzleflow.storage.source import PuzzleSource

SIZE_PX = 8


def made_up_puzzle(index: int, grid: Grid, *, salt: int = 0) -> Puzzle:
    """Pieces whose red value tells their true position, so that a test solver can read it."""
    rng = child_rng(salt, "made up", index)
    truth = rng.permutation(grid.num_pieces)
    pieces = np.full((grid.num_pieces, SIZE_PX, SIZE_PX, 4), 255, dtype=np.uint8)
    pieces[..., 0] = truth[:, None, None]
    pieces[..., 1] = rng.integers(0, 255)
    return Puzzle(pieces, grid, truth=truth, puzzle_id=f"puzzle {index}")


class MadeUpSource(PuzzleSource):
    """``num`` puzzles in memory; grids alternate if several are given."""

    kind = "made up"

    def __init__(
        self,
        num: int,
        grids: tuple[Grid, ...] = (Grid(3, 3),),
        *,
        salt: int = 0,
        truth: bool = True,
        centre_given: bool = False,
    ) -> None:
        super().__init__("made-up")
        self._num, self._grids, self._salt = num, grids, salt
        self._truth, self._centre_given = truth, centre_given

    @classmethod
    def recognise(cls, path: Path) -> bool:
        return False

    @property
    def grid(self) -> Grid | None:
        return self._grids[0] if len(self._grids) == 1 else None

    @property
    def has_truth(self) -> bool:
        return self._truth

    def truths(self) -> IntArray | None:
        if self.grid is None or not self._truth:
            return None
        return np.array([self.read(index).truth for index in range(self._num)])

    def __len__(self) -> int:
        return self._num

    def read(self, index: int) -> Puzzle:
        grid = self._grids[index % len(self._grids)]
        puzzle = made_up_puzzle(index, grid, salt=self._salt)
        return puzzle if self._truth else puzzle.without_truth()

    def pins(self, index: int) -> dict[int, int]:
        if not self._centre_given:
            return {}
        puzzle = self.read(index)
        assert puzzle.truth is not None
        centre = puzzle.num_pieces // 2
        return {int(np.flatnonzero(puzzle.truth == centre)[0]): centre}


class ReadingSolver:
    """Reads the truth off the red values; ``shift`` rolls the layout by that many positions."""

    name = "reading"

    def __init__(self, *, shift: int = 0, refuse: str = "", wrong: int = 0) -> None:
        self.shift, self.refuse, self.wrong = shift, refuse, wrong

    def prepare(self, puzzle: Puzzle) -> Any:
        assert puzzle.truth is None, "the truth must be kept from solvers"
        if self.refuse == "politely":
            raise CannotSolve("not in the mood")
        if self.refuse == "badly":
            raise ZeroDivisionError("oh")
        return ReadingSession(puzzle, self)


class ReadingSession:
    def __init__(self, puzzle: Puzzle, solver: ReadingSolver) -> None:
        self.puzzle, self.solver = puzzle, solver

    def solve(self, *, seed: int, pinned: Any = None, **_: Any) -> Solution | None:
        if self.solver.refuse == "silently":
            return None
        position_of = self.puzzle.pieces[:, 0, 0, 0].astype(np.int64)
        position_of = (position_of + self.solver.shift) % len(position_of)
        if self.solver.wrong:
            position_of[[0, 1]] = position_of[[1, 0]]
        if self.solver.refuse == "short":
            return Solution(np.arange(1), solver="reading")
        return Solution(position_of, solver="reading", scores={"pins": float(len(pinned or {}))})


@pytest.fixture
def make_source() -> type[MadeUpSource]:
    return MadeUpSource


@pytest.fixture(autouse=True)
def _reading_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the solver ``reading`` in this process."""
    monkeypatch.setitem(SOLVERS.builtin, "reading", f"{__name__}:ReadingSolver")
