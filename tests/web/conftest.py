"""A workbench server in this process, with solvers that are quick and known."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from puzzleflow.core.errors import CannotSolve, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Puzzle, Solution
from puzzleflow.solvers.base import allowed_placements, nearest_allowed
from puzzleflow.web.app import create_app
from puzzleflow.web.limits import Limits

BOUNDS = Limits(
    max_request_bytes=2_000_000,
    max_file_bytes=1_000_000,
    max_files=12,
    max_pixels=600_000,
    max_total_pixels=900_000,
    max_pieces=30,
    max_workbenches=4,
    kept_pixels=500_000,
)


class KnownSession:
    """Lays pieces in their order, as far as pins allow; tells everything a solver can tell."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def solve(
        self, *, seed: int, pinned: Any = None, forbidden: Any = (), num_alternatives: int = 0
    ) -> Solution:
        count = self.grid.num_pieces
        allowed = allowed_placements(count, pinned, forbidden)
        position_of = nearest_allowed(np.arange(count), allowed)
        prob = np.full((count, count), 0.2 / max(count - 1, 1))
        prob[np.arange(count), position_of] = 0.8
        rows, cols = self.grid.shape
        layouts = [position_of]
        if count > 1 and not pinned:
            other = position_of.copy()
            other[[0, 1]] = other[[1, 0]]
            layouts.append(other)
        return Solution(
            position_of,
            "known",
            seconds=0.5,
            energy=float(10 * count + abs(rows - cols)),
            confidence=np.full(count, 0.8),
            seam_confidence=(np.full((rows, cols - 1), 0.9), np.full((rows - 1, cols), 0.3)),
            position_prob=prob,
            alternatives=tuple(Layout(p, float(k)) for k, p in enumerate(layouts))[
                :num_alternatives
            ],
            trace=np.stack([np.zeros(count, np.int64), position_of]),
        )


class KnownSolver:
    name = "known"

    def __init__(self) -> None:
        self.prepared: list[Grid] = []

    def prepare(self, puzzle: Puzzle) -> KnownSession:
        self.prepared.append(puzzle.grid)
        return KnownSession(puzzle.grid)


class StuckSolver:
    """Prepares for as long as nobody lets it go."""

    name = "stuck"

    def __init__(self) -> None:
        self.go = threading.Event()
        self.started = threading.Event()

    def prepare(self, puzzle: Puzzle) -> KnownSession:
        self.started.set()
        self.go.wait(20)
        return KnownSession(puzzle.grid)


class RefusingSolver:
    name = "refusing"

    def prepare(self, puzzle: Puzzle) -> KnownSession:
        if puzzle.grid == Grid(2, 2):
            raise CannotSolve("2x2 is not for me")
        raise ZeroDivisionError("a bug")


class Shelf:
    """Takes the place of the registry's solvers."""

    def __init__(self) -> None:
        self.solvers: dict[str, Any] = {
            solver.name: solver for solver in (KnownSolver(), StuckSolver(), RefusingSolver())
        }

    def names(self) -> list[str]:
        return ["random", *self.solvers]

    def get(self, name: str) -> Any:
        if name not in self.solvers:
            raise UnknownName("solver", name, self.solvers)
        return self.solvers[name]


def picture_bytes(pixels: np.ndarray, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


@pytest.fixture
def encode() -> Callable[..., bytes]:
    return picture_bytes


@pytest.fixture
def bounds() -> Limits:
    return BOUNDS


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """A client of a server whose shelf holds ``known``, ``stuck`` and ``refusing``."""
    app = create_app(limits=BOUNDS, scratch=tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        shelf = Shelf()
        app.state.service.shelf = shelf
        yield client
        shelf.solvers["stuck"].go.set()


@pytest.fixture
def fragments() -> list[tuple[str, tuple[str, bytes]]]:
    """Four RGBA fragments of uneven size, as multipart files."""
    files = []
    for index, (height, width) in enumerate([(20, 24), (30, 16), (24, 24), (18, 28)]):
        pixels = np.zeros((height + 6, width + 6, 4), np.uint8)
        pixels[3:-3, 3:-3] = (50 * index, 200 - 40 * index, 90, 255)
        files.append(("files", (f"frag_{index}.png", picture_bytes(pixels))))
    return files


@pytest.fixture
def workbench(client: TestClient, fragments: Any) -> dict[str, Any]:
    """The state of a workbench with four fragments."""
    answer = client.post("/api/workbenches/pieces", files=fragments)
    assert answer.status_code == 201, answer.text
    state: dict[str, Any] = answer.json()
    return state


@pytest.fixture
def solved(client: TestClient) -> Callable[..., dict[str, Any]]:
    """Solve a workbench and wait; the new state."""

    def solve(workbench_id: str, **request: Any) -> dict[str, Any]:
        path = f"/api/workbenches/{workbench_id}"
        job = client.post(f"{path}/solve", json={"solver": "known", **request})
        assert job.status_code == 202, job.text
        seen = job.json()
        while seen["status"] in ("waiting", "running"):
            query = {"after": seen["changes"], "wait": 10}
            seen = client.get(f"{path}/job", params=query).json()
        state: dict[str, Any] = client.get(path).json()
        assert seen["status"] == "done", seen
        return state

    return solve
