"""The flow as a solver: its weights, its name, and pins that change nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import NoWeights
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.solvers.flow import FlowSeamsSolver, FlowSolver
from puzzleflow.solvers.registry import load_solver


def test_without_weights_the_training_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlowSolver, "bundled", "nothing.safetensors")
    with pytest.raises(NoWeights) as caught:
        load_solver("flow")
    assert "`puzzleflow train flow --data PICTURES --out RUN`" in str(caught.value)
    assert "flow:weights=RUN/flow.safetensors" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_answers_carry_the_name_of_the_solver(tiny_flow: Path) -> None:
    rng = np.random.default_rng(0)
    puzzle = Puzzle(rng.integers(0, 256, (4, 32, 32, 4), dtype=np.uint8), Grid(2, 2))
    for solver in (FlowSolver(weights=tiny_flow), FlowSeamsSolver(weights=tiny_flow)):
        session = solver.prepare(puzzle)
        found = session.solve(seed=0)
        assert found.solver == solver.name
        pinned = {0: int(found.position_of[0])}
        assert session.solve(seed=0, pinned=pinned).position_of[0] == found.position_of[0]
