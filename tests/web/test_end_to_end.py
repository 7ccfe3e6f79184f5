"""From a photograph of nine fragments to the right reconstruction, with real solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from photographs import GROUNDS, Conditions, compose_photograph
from starlette.testclient import TestClient
from waiting import finished

from puzzleflow.core.grid import Grid
from puzzleflow.generation.builder import build_puzzle
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.samples import load_sample
from puzzleflow.solvers.registry import DEFAULT_SOLVER
from puzzleflow.web.app import create_app
from puzzleflow.web.solving import SolverShelf

TRUTH = np.array([4, 0, 7, 2, 8, 1, 3, 6, 5])


@pytest.fixture
def real(tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(create_app(scratch=tmp_path), base_url="http://localhost") as client:
        yield client


def solve(client: TestClient, workbench_id: str, **request: Any) -> dict[str, Any]:
    path = f"/api/workbenches/{workbench_id}"
    job = client.post(f"{path}/solve", json=request).json()
    while job["status"] in ("waiting", "running"):
        query = {"after": job["changes"], "wait": 20}
        job = client.get(f"{path}/job", params=query).json()
    assert job["status"] == "done", job
    board: dict[str, Any] = client.get(path).json()["board"]
    return board


def photograph(sample: str) -> np.ndarray:
    """Nine pieces with a worn rim on blue felt: light, shadows, dust, noise and JPEG."""
    masks = erosion_model("fixed:4").masks(list(range(9)), 120, 120)
    puzzle = build_puzzle(load_sample(sample), Grid(3, 3), masks, TRUTH)
    conditions = Conditions(ground=GROUNDS["blue felt"], gap_px=24, jpeg_quality=92)
    return compose_photograph(puzzle.pieces, conditions, seed=1).pixels


def test_a_photographed_puzzle_is_solved(real: TestClient, encode: Callable[..., bytes]) -> None:
    files = {"file": ("table.png", encode(photograph("harvesters")))}
    state = finished(real, real.post("/api/workbenches/photo", files=files).json()["id"])
    assert len(state["pieces"]) == 9
    board = solve(real, state["id"], solver="greedy-alpha")
    assert (board["rows"], board["cols"], board["grid_guessed"]) == (3, 3, True)
    assert board["piece_at"] == np.argsort(TRUTH).tolist()
    assert all(0 <= value <= 1 for value in board["confidence"])


def test_pins_steer_every_quick_solver(real: TestClient) -> None:
    request = {"sample": "irises", "grid": {"rows": 2, "cols": 2}, "erosion": "linear", "seed": 1}
    state = real.post("/api/workbenches/sample", json=request).json()
    path = f"/api/workbenches/{state['id']}"
    for solver in ("random", "greedy-alpha", "linear-alpha", "tree-alpha"):
        board = solve(real, state["id"], solver=solver, grid=state["grid"])
        piece = board["piece_at"][0]
        real.post(f"{path}/place", json={"piece": piece, "position": 3, "pin": True})
        again = solve(real, state["id"], solver=solver)
        assert again["piece_at"][3] == piece
        assert again["pinned"] == [piece]
        real.post(f"{path}/pin", json={"pinned": False})


def test_the_default_solver_can_be_warmed_up() -> None:
    shelf = SolverShelf()
    shelf.warm_up()
    assert shelf.names()[0] == DEFAULT_SOLVER
    assert shelf.get(DEFAULT_SOLVER) is shelf.get(DEFAULT_SOLVER)
