"""Work on an open workbench through its routes: fragments, solving, steering."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

Solve = Callable[..., dict[str, Any]]


def post(client: TestClient, workbench_id: str, action: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/workbenches/{workbench_id}/{action}", json=body or None)
    assert answer.status_code == 200, answer.text
    state: dict[str, Any] = answer.json()
    return state


def refusal(client: TestClient, workbench_id: str, action: str, **body: Any) -> tuple[int, str]:
    answer = client.post(f"/api/workbenches/{workbench_id}/{action}", json=body or None)
    return answer.status_code, answer.json()["detail"]


def test_the_grid_is_guessed_and_called_a_guess(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    board = solved(workbench["id"])["board"]
    assert (board["rows"], board["cols"]) == (2, 2)
    assert board["grid_guessed"] is True
    assert [(g["rows"], g["cols"]) for g in board["ranking"]] == [(2, 2), (1, 4), (4, 1)]
    assert board["ranking"][0]["cost"] == pytest.approx(40 / 4)
    given = solved(workbench["id"], grid={"rows": 1, "cols": 4})["board"]
    assert (given["rows"], given["cols"], given["grid_guessed"]) == (1, 4, False)


def test_the_board_tells_confidence_candidates_layouts_and_trace(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    board = solved(workbench["id"], grid={"rows": 2, "cols": 2})["board"]
    assert board["confidence"] == pytest.approx([0.8] * 4)
    assert board["right_seams"] == [[0.9], [0.9]]
    assert board["down_seams"] == [[0.3, 0.3]]
    assert board["candidates"][2][0] == {"piece": 2, "probability": 0.8}
    assert len(board["candidates"][2]) == 4
    assert [layout["energy"] for layout in board["layouts"]] == [0.0, 1.0]
    assert board["trace"] == [[0, 0, 0, 0], [0, 1, 2, 3]]
    assert (board["solver"], board["layout_index"], board["right"]) == ("known", 0, None)


def test_moving_pinning_and_solving_again(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    bench = workbench["id"]
    solved(bench, grid={"rows": 2, "cols": 2})
    board = post(client, bench, "place", piece=0, position=3)["board"]
    assert board["piece_at"] == [3, 1, 2, 0]
    assert [sure is None for sure in board["confidence"]] == [True, False, False, True]
    assert board["right_seams"] == [[None], [None]]
    assert board["layout_index"] is None
    board = post(client, bench, "pin", pieces=[0])["board"]
    assert board["pinned"] == [0]
    assert refusal(client, bench, "place", piece=1, position=3)[0] == 422
    board = solved(bench)["board"]
    assert board["piece_at"][3] == 0
    assert (board["pinned"], board["label"]) == ([0], "solve again")
    assert board["given_pins"] == 1  # the numbers hold given this
    assert board["confidence"][3] is None
    assert post(client, bench, "pin", pieces=[0], pinned=False)["board"]["pinned"] == []
    post(client, bench, "pin", pieces=[1])
    assert post(client, bench, "pin", pinned=False)["board"]["pinned"] == []


def test_the_session_is_prepared_once_for_each_grid(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    for _ in range(3):
        solved(workbench["id"], grid={"rows": 2, "cols": 2})
    solver = client.app.state.service.shelf.get("known")  # type: ignore[attr-defined]
    assert [str(grid) for grid in solver.prepared] == ["2x2"]


def test_undo_redo_and_the_arrangement_before(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    bench = workbench["id"]
    assert refusal(client, bench, "undo")[0] == 422
    assert solved(bench, grid={"rows": 2, "cols": 2})["board"]["undo"] is None
    board = post(client, bench, "choose", index=1)["board"]
    assert (board["layout_index"], board["undo"]) == (1, "choose layout 2")
    assert board["previous"]["piece_at"] == [0, 1, 2, 3]
    board = post(client, bench, "undo")["board"]
    assert (board["piece_at"], board["redo"]) == ([0, 1, 2, 3], "choose layout 2")
    assert post(client, bench, "redo")["board"]["piece_at"] == [1, 0, 2, 3]
    assert refusal(client, bench, "redo")[1] == "there is nothing to redo"
    assert refusal(client, bench, "choose", index=9)[0] == 422


def test_pins_fall_with_another_grid(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    bench = workbench["id"]
    solved(bench, grid={"rows": 2, "cols": 2})
    post(client, bench, "pin", pieces=[3])
    assert solved(bench)["board"]["pinned"] == [3]
    other = solved(bench, grid={"rows": 4, "cols": 1})["board"]
    assert (other["pinned"], other["rows"]) == ([], 4)
    assert post(client, bench, "undo")["board"]["rows"] == 2


def test_turning_a_piece_keeps_the_board_and_removing_can_be_undone(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    bench = workbench["id"]
    solved(bench, grid={"rows": 2, "cols": 2})
    post(client, bench, "place", piece=0, position=3)
    before = post(client, bench, "pin", pieces=[2])["board"]
    state = post(client, bench, "turn", pieces=[1], quarter_turns=1)
    board = state["board"]
    assert (board["piece_at"], board["pinned"]) == (before["piece_at"], before["pinned"])
    assert board["undo"] == "turn piece 2"
    turned = state["pieces"][1]
    assert (turned["height"], turned["width"], turned["quarter_turns"]) == (16, 30, 1)
    shown = Image.open(io.BytesIO(client.get(f"/{turned['picture']}").content))
    assert shown.size == (30, 16)
    assert turned["picture"] != workbench["pieces"][1]["picture"]
    assert post(client, bench, "undo")["pieces"][1]["quarter_turns"] == 0
    state = post(client, bench, "delete", pieces=[0, 2])
    assert [piece["name"] for piece in state["pieces"]] == ["frag_1.png", "frag_3.png"]
    assert (state["board"], state["undo_fragments"]) == (None, "remove")
    back = post(client, bench, "fragments/undo")
    assert len(back["pieces"]) == 4
    assert back["board"]["piece_at"] == before["piece_at"]  # with all that was on the board
    assert len(post(client, bench, "fragments/redo")["pieces"]) == 2
    assert refusal(client, bench, "delete", pieces=[0, 1])[1] == "at least one piece must stay"
    assert refusal(client, bench, "turn", pieces=[7]) == (404, "no piece 7")
    assert refusal(client, bench, "merge", pieces=[0, 1])[0] == 409
    board = solved(bench)["board"]
    assert (board["rows"], board["cols"]) == (1, 2)


def test_turning_before_the_board_is_kept_and_undone(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    bench = workbench["id"]
    post(client, bench, "turn", pieces=[1], quarter_turns=-1)
    assert solved(bench)["pieces"][1]["quarter_turns"] == 3
    post(client, bench, "turn", pieces=[1], quarter_turns=1)
    state = post(client, bench, "turn", pieces=[1, 0], quarter_turns=1)
    assert [piece["quarter_turns"] for piece in state["pieces"]] == [1, 1, 0, 0]
    assert state["board"]["undo"] == "turn 2 pieces"


def test_a_solve_can_be_cancelled_and_blocks_nobody_else(
    client: TestClient, workbench: dict[str, Any], fragments: Any, solved: Solve
) -> None:
    path = f"/api/workbenches/{workbench['id']}"
    stuck = client.app.state.service.shelf.get("stuck")  # type: ignore[attr-defined]
    assert client.post(f"{path}/solve", json={"solver": "stuck"}).status_code == 202
    assert stuck.started.wait(20)
    assert refusal(client, workbench["id"], "turn", pieces=[0])[0] == 409
    assert client.post(f"{path}/solve", json={"solver": "known"}).status_code == 409
    other = client.post("/api/workbenches/pieces", files=fragments).json()
    assert solved(other["id"])["board"] is not None
    waited = client.get(f"{path}/job", params={"after": 10_000, "wait": 0.05}).json()
    assert waited["status"] == "running"
    assert client.delete(f"{path}/job").json()["status"] == "cancelled"
    assert solved(workbench["id"])["board"] is not None
    stuck.go.set()


def test_failures_are_told(client: TestClient, workbench: dict[str, Any]) -> None:
    path = f"/api/workbenches/{workbench['id']}"

    def outcome(**request: Any) -> dict[str, Any]:
        job = client.post(f"{path}/solve", json=request).json()
        while job["status"] in ("waiting", "running"):
            query = {"after": job["changes"], "wait": 10}
            job = client.get(f"{path}/job", params=query).json()
        return dict(job)

    failed = outcome(solver="refusing", grid={"rows": 2, "cols": 2})
    assert (failed["status"], failed["message"]) == ("failed", "2x2 is not for me")
    failed = outcome(solver="refusing", grid={"rows": 1, "cols": 4})
    assert failed["message"] == "the solver failed (ZeroDivisionError: a bug)"
    assert client.post(f"{path}/solve", json={"solver": "none such"}).status_code == 404
    assert client.post(f"{path}/solve", json={"solver": "own.py:Solver"}).status_code == 404
    request = {"solver": "refusing", "grid": {"rows": 3, "cols": 3}}
    wrong = client.post(f"{path}/solve", json=request)
    assert (wrong.status_code, wrong.json()["detail"]) == (422, "4 pieces do not fill a 3x3 grid")


def test_what_is_not_there(client: TestClient, workbench: dict[str, Any]) -> None:
    path = f"/api/workbenches/{workbench['id']}"
    for address in ("pieces/4.png", "pieces/-1.png", "job", "export/nothing.exe"):
        assert client.get(f"{path}/{address}").status_code == 404
    assert client.get(f"{path}/pieces/x.png").status_code == 422
    assert client.get(f"{path}/photo.jpg").status_code == 409
    assert client.put(f"{path}/threshold", json={"threshold": 20}).status_code == 409
    assert client.get(f"{path}/export/picture.png").status_code == 422
    assert client.delete(f"{path}/job").status_code == 404
    assert client.get("/api/workbenches/unknown").status_code == 404


def test_the_truth_is_known_for_what_was_cut_here_and_on_its_grid(
    client: TestClient, solved: Solve
) -> None:
    request = {"sample": "irises", "grid": {"rows": 2, "cols": 2}, "erosion": "none", "seed": 3}
    state = client.post("/api/workbenches/sample", json=request).json()
    bench = state["id"]
    board = solved(bench, grid=state["grid"])["board"]
    workbench = client.app.state.service.workbenches.get(bench)  # type: ignore[attr-defined]
    truth = workbench.stock.truth
    assert board["right"] == [bool(truth[piece] == at) for at, piece in enumerate(range(4))]
    for piece in range(4):
        board = post(client, bench, "place", piece=piece, position=int(truth[piece]))["board"]
    assert board["right"] == [True] * 4
    picture = client.get(f"/api/workbenches/{bench}/export/picture.png").content
    shown = np.asarray(Image.open(io.BytesIO(picture)))
    assert shown.shape == (2 * board["cell_height"], 2 * board["cell_width"], 4)  # no gaps to close
    assert solved(bench, grid={"rows": 1, "cols": 4})["board"]["right"] is None
