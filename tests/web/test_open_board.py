"""The open world on the workbench: missing, foreign and turned pieces, grids that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import InputError, NotAGrid
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Puzzle, Solution
from puzzleflow.storage.layout import read_layout
from puzzleflow.web.drawing import closed
from puzzleflow.web.solve_job import Asked, check_asked, conditions_for
from puzzleflow.web.solving import solve_together
from puzzleflow.web.views import grid_choices

Solve = Callable[..., dict[str, Any]]


class OpenSession:
    """Lays the pieces in their order, the last ones aside if cells run out; pins are honoured."""

    def __init__(self, puzzle: Puzzle) -> None:
        self.puzzle = puzzle
        self.grid = puzzle.known_grid or Grid(3, 3)

    def solve(
        self, *, seed: int, pinned: Any = None, forbidden: Any = (), num_alternatives: int = 0
    ) -> Solution:
        count, cells = self.puzzle.num_pieces, self.grid.num_pieces
        pins = dict(pinned or {})
        position_of = np.full(count, -1)
        free = [cell for cell in range(cells) if cell not in pins.values()]
        for piece in range(count):
            position_of[piece] = pins[piece] if piece in pins else free.pop(0) if free else -1
        turned = self.puzzle.conditions.turned
        turns = np.ones(count, np.int64) if turned else None
        return Solution(
            position_of,
            "open",
            energy=float(position_of[0]),
            confidence=np.full(count, 0.7),
            position_prob=np.full((count, cells), 0.1),
            alternatives=(Layout(position_of, grid=self.grid, turns=turns),)[:num_alternatives],
            grid=self.grid,
            turns=turns,
            aside_prob=np.full(count, 0.1),
            grid_prob=((self.grid, 0.8), (Grid(2, 4), 0.2)),
        )


class OpenSolver:
    name = "open"

    def __init__(self) -> None:
        self.asked: list[tuple[Grid | None, Conditions]] = []

    def prepare(self, puzzle: Puzzle) -> OpenSession:
        self.asked.append((puzzle.known_grid, puzzle.conditions))
        return OpenSession(puzzle)


@pytest.fixture
def open_solver(client: TestClient) -> OpenSolver:
    solver = OpenSolver()
    shelf: Any = client.app.state.service.shelf  # type: ignore[attr-defined]
    shelf.solvers["open"] = solver
    return solver


def post(client: TestClient, bench: str, action: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/workbenches/{bench}/{action}", json=body or None)
    assert answer.status_code == 200, answer.text
    state: dict[str, Any] = answer.json()
    return state


def test_a_grid_with_missing_pieces_has_empty_cells(
    client: TestClient, workbench: dict[str, Any], solved: Solve, open_solver: OpenSolver
) -> None:
    bench = workbench["id"]
    grid = {"rows": 2, "cols": 3}
    board = solved(bench, solver="open", grid=grid, missing=2)["board"]
    assert open_solver.asked == [(Grid(2, 3), Conditions(missing=2))]
    assert board["piece_at"] == [0, 1, 2, 3, -1, -1]
    assert board["confidence"] == [0.7] * 4 + [None] * 2
    board = post(client, bench, "place", piece=0, position=5)["board"]
    assert board["piece_at"] == [-1, 1, 2, 3, -1, 0]
    csv = client.get(f"/api/workbenches/{bench}/export/layout.csv").content.decode("utf-8-sig")
    assert csv.splitlines()[4].startswith("frag_0.png,2,3,,no")
    refused = client.post(f"/api/workbenches/{bench}/solve", json={"solver": "open", "grid": grid})
    assert refused.status_code == 422


def test_the_tray_and_what_belongs_nowhere(
    client: TestClient, workbench: dict[str, Any], solved: Solve, open_solver: OpenSolver,
    tmp_path: Any,
) -> None:  # fmt: skip
    bench = workbench["id"]
    grid = {"rows": 1, "cols": 3}
    board = solved(bench, solver="open", grid=grid, foreign=1)["board"]
    assert open_solver.asked[-1] == (Grid(1, 3), Conditions(foreign=1))
    assert (board["piece_at"], board["aside"]) == ([0, 1, 2], [3])
    assert board["aside_confidence"] == [0.7]
    board = post(client, bench, "place", piece=1, position=-1)["board"]
    assert (board["piece_at"], board["aside"]) == ([0, -1, 2], [1, 3])
    assert board["aside_confidence"] == [None, 0.7]
    post(client, bench, "pin", pieces=[1])
    board = solved(bench, solver="open")["board"]  # pins keep the grid
    assert open_solver.asked[-1] == (Grid(1, 3), Conditions(missing=0, foreign=1))
    assert (board["piece_at"], board["aside"], board["given_pins"]) == ([0, 2, 3], [1], 1)
    path = tmp_path / "layout.json"
    path.write_bytes(client.get(f"/api/workbenches/{bench}/export/layout.json").content)
    layout = read_layout(path)
    assert layout.position_of.tolist() == [0, -1, 1, 2]


def test_turned_pieces_lie_as_the_solver_turned_them(
    client: TestClient, workbench: dict[str, Any], solved: Solve, open_solver: OpenSolver
) -> None:
    bench = workbench["id"]
    post(client, bench, "turn", pieces=[0], quarter_turns=1)
    state = solved(bench, solver="open", grid={"rows": 2, "cols": 2}, turned=True)
    assert open_solver.asked[-1][1] == Conditions(turned=True)
    assert [piece["quarter_turns"] for piece in state["pieces"]] == [2, 1, 1, 1]
    assert state["board"]["confidence"] == [0.7] * 4
    assert state["board"]["layout_index"] == 0


def test_a_guessed_grid_tells_its_rivals(
    client: TestClient, workbench: dict[str, Any], solved: Solve, open_solver: OpenSolver
) -> None:
    board = solved(workbench["id"], solver="open", foreign=1)["board"]
    assert open_solver.asked[-1] == (None, Conditions(foreign=1, hidden=True))
    assert (board["rows"], board["cols"], board["grid_guessed"]) == (3, 3, True)
    assert [guess["probability"] for guess in board["ranking"]] == [0.8, 0.2]


def test_what_may_be_amiss_follows_from_the_numbers() -> None:
    nine = Grid(3, 3)
    assert conditions_for(9, Asked("s", nine)) == Conditions()
    assert conditions_for(8, Asked("s", nine, missing=1)) == Conditions(missing=1)
    assert conditions_for(8, Asked("s", nine, 1), num_aside=1) == Conditions(2, 1)
    assert conditions_for(10, Asked("s", nine, foreign=1)) == Conditions(0, 1)
    assert conditions_for(7, Asked("s")) == Conditions(missing=2, hidden=True)  # fits no grid
    assert conditions_for(9, Asked("s")) == Conditions(hidden=True)
    for asked in (Asked("s", nine), Asked("s", Grid(2, 3))):
        with pytest.raises(NotAGrid):
            check_asked(8, asked)
    with pytest.raises(InputError, match="no cell"):
        check_asked(8, Asked("s", nine, missing=9))


def test_the_page_is_told_when_no_grid_fits(client: TestClient, encode: Any) -> None:
    names = [f"{g.rows}x{g.cols}{'-' * g.missing}{'+' * g.extra}" for g in grid_choices(7)]
    assert names[:2] == ["1x7", "7x1"]
    assert set(names[2:6]) == {"2x4-", "4x2-", "2x3+", "3x2+"}
    assert "3x3--" in names
    pixels = np.full((20, 20, 4), 255, np.uint8)
    pixels[0] = 0
    files = [("files", (f"{i}.png", encode(pixels))) for i in range(7)]
    assert client.post("/api/workbenches/pieces", files=files).json()["no_grid"] is True


def test_pieces_that_belong_together_stay_so_wherever_they_go() -> None:
    """The energy is the position of piece 0: the block goes to the first place it fits."""
    puzzle = Puzzle(np.zeros((6, 8, 8, 4), np.uint8) + 255, Grid(2, 3))
    session = OpenSession(puzzle)
    told: list[str] = []
    answer = solve_together(
        session, Grid(2, 3), {5: 0}, [{0: 4, 1: 5}], lambda text, part: told.append(text),
        seed=0, num_alternatives=1,
    )  # fmt: skip
    assert (answer.position_of[0], answer.position_of[1], answer.position_of[5]) == (1, 2, 0)
    assert told


def test_belonging_together_is_kept_when_solving_again(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    bench = workbench["id"]
    solved(bench, grid={"rows": 2, "cols": 2})
    post(client, bench, "place", piece=0, position=1)  # 1 0 / 2 3
    board = post(client, bench, "join", pieces=[1, 0])["board"]
    assert board["groups"] == [[0, 1]]
    board = solved(bench)["board"]
    assert board["groups"] == [[0, 1]]
    at = board["piece_at"].index
    assert at(0) == at(1) + 1
    moved = post(client, bench, "shift", pieces=[0, 1], rows=1)["board"]
    assert {moved["piece_at"].index(0), moved["piece_at"].index(1)} == {2, 3}


def test_cells_are_drawn_as_tight_as_outlines_allow() -> None:
    masks = np.zeros((4, 10, 10), bool)
    masks[0, 2:8, 2:6] = True  # 4 wide, ends at column 6
    masks[1, 2:8, 4:8] = True  # begins at column 4
    masks[2, 0:4, 1:9] = True
    masks[3, 5:9, 2:7] = True
    shape = closed(masks, np.array([0, 1, 2, 3]), Grid(2, 2))
    # columns: piece 0 against 1 needs 2 pixels, piece 2 against 3 share no row
    assert shape.lefts == pytest.approx((-0.1, 0.1))
    assert shape.width == pytest.approx(0.9)
    assert shape.tops[1] - shape.tops[0] == pytest.approx(0.8)
    wider = shape.opened(0.5)
    assert wider.lefts[1] == pytest.approx(0.6)
    assert wider.width == pytest.approx(1.4)
    full = closed(np.ones((4, 10, 10), bool), np.array([0, 1, -1, 2]), Grid(2, 2))
    assert (full.lefts, full.width, full.height) == ((0.0, 1.0), 2.0, 2.0)
