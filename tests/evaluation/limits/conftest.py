"""Small pictures of two kinds, and a solver whose confidence a test can set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_rng
from puzzleflow.pictures import resize, write_picture
from puzzleflow.solvers.registry import SOLVERS

calls: list[int] = []


class SureSolver:
    """Leaves the pieces as they lie, with one confidence for everything."""

    name = "sure"

    def __init__(self, *, confidence: float = 0.5, order: str = "kept") -> None:
        self.confidence = np.nan if order == "unsure" else confidence
        self.order = order

    def prepare(self, puzzle: Puzzle) -> Any:
        return SureSession(puzzle, self)


class SureSession:
    def __init__(self, puzzle: Puzzle, solver: SureSolver) -> None:
        self.puzzle, self.solver = puzzle, solver

    def solve(self, *, seed: int, **_: Any) -> Solution:
        calls.append(seed)
        rows, cols = self.puzzle.grid.shape
        sure = self.solver.confidence
        position_of = np.arange(self.puzzle.num_pieces)
        if self.solver.order == "reversed":
            position_of = position_of[::-1]
        return Solution(
            position_of,
            solver="sure",
            confidence=np.full(self.puzzle.num_pieces, sure),
            seam_confidence=(np.full((rows, cols - 1), sure), np.full((rows - 1, cols), sure)),
        )


@pytest.fixture(autouse=True)
def _sure_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the solver ``sure`` in this process."""
    monkeypatch.setitem(SOLVERS.builtin, "sure", f"{__name__}:SureSolver")


@pytest.fixture
def solver_calls() -> list[int]:
    """Seeds of every call of ``sure`` since the test began."""
    calls.clear()
    return calls


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    def make(**counts: int) -> Path:
        """So many pictures of each kind, in subfolders by kind."""
        folder = tmp_path / "pictures"
        for kind, count in counts.items():
            for index in range(count):
                rng = child_rng(0, kind, index)
                coarse = rng.integers(0, 256, (6, 6, 3)).astype(np.uint8)
                write_picture(folder / kind / f"{kind}-{index}.png", resize(coarse, 48, 64))
        return folder

    return make
