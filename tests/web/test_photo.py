"""A photograph on the workbench: found, corrected, saved and restored."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient
from waiting import finished

from puzzleflow.samples import load_sample

GROUND = (214, 208, 196)
BOXES = [(20, 24, 70, 60), (18, 130, 64, 80), (130, 30, 60, 76), (126, 150, 72, 58)]


def photograph() -> np.ndarray:
    """(220, 260, 3): four rectangular fragments of a painting on a noisy plain ground."""
    rng = np.random.default_rng(0)
    painting = load_sample("irises")
    photo = np.full((220, 260, 3), GROUND, np.float64)
    for index, (top, left, height, width) in enumerate(BOXES):
        y, x = 40 * index + 160, 60 * index + 90
        photo[top : top + height, left : left + width] = painting[y : y + height, x : x + width]
    return np.clip(photo + rng.normal(0, 2, photo.shape), 0, 255).astype(np.uint8)


@pytest.fixture
def found(client: TestClient, encode: Callable[..., bytes]) -> dict[str, Any]:
    files = {"file": ("table.png", encode(photograph()))}
    answer = client.post("/api/workbenches/photo", files=files)
    assert answer.status_code == 201, answer.text
    return finished(client, answer.json()["id"])


def near(found: Any, expected: Any, px: int = 2) -> bool:
    return bool(np.abs(np.array(found) - np.array(expected)).max() <= px)


def test_fragments_are_found_in_reading_order(client: TestClient, found: dict[str, Any]) -> None:
    assert near(found["photo"]["boxes"], BOXES)
    assert (found["photo"]["width"], found["photo"]["height"]) == (260, 220)
    assert found["photo"]["automatic"] is True
    assert found["pieces"][0]["name"] == "fragment_01.png"
    shown = Image.open(io.BytesIO(client.get(f"/{found['photo']['picture']}").content))
    assert (shown.format, shown.size) == ("JPEG", (260, 220))
    cutout = Image.open(io.BytesIO(client.get(f"/{found['photo']['cutouts'][1]}").content))
    assert near(cutout.size, (80, 64))


def test_corrections_change_pieces_and_photograph_together(
    client: TestClient, found: dict[str, Any]
) -> None:
    path = f"/api/workbenches/{found['id']}"
    turned = client.post(f"{path}/turn", json={"pieces": [3], "quarter_turns": 1}).json()
    assert near((turned["pieces"][3]["height"], turned["pieces"][3]["width"]), (58, 72))
    joined = client.post(f"{path}/merge", json={"pieces": [0, 1]}).json()
    assert len(joined["pieces"]) == len(joined["photo"]["boxes"]) == 3
    assert near(joined["photo"]["boxes"][0], (18, 24, 72, 186))
    assert joined["pieces"][2]["quarter_turns"] == 1  # untouched fragments keep their turn
    divided = client.post(f"{path}/split", json={"piece": 0}).json()
    assert near(divided["photo"]["boxes"], BOXES)
    left = client.post(f"{path}/delete", json={"pieces": [0, 2]}).json()
    assert near(left["photo"]["boxes"], [BOXES[1], BOXES[3]])
    assert client.post(f"{path}/merge", json={"pieces": [0]}).status_code == 422
    assert client.post(f"{path}/merge", json={"pieces": [0, 9]}).status_code == 404
    assert client.post(f"{path}/split", json={"piece": 0}).status_code in (200, 422)
    for expected in (4, 3, 4, 4, 0):  # the turn was no other division
        back = client.post(f"{path}/fragments/undo").json()
        assert len(back["pieces"]) == expected
    assert client.post(f"{path}/fragments/undo").status_code == 422
    assert len(client.post(f"{path}/fragments/redo").json()["pieces"]) == 4


def test_the_threshold_is_moved_and_given_back(client: TestClient, found: dict[str, Any]) -> None:
    bench = found["id"]
    path = f"/api/workbenches/{bench}/threshold"
    assert client.put(path, json={"threshold": 33.0}).status_code == 202
    moved = finished(client, bench)
    assert (moved["photo"]["threshold"], moved["photo"]["automatic"]) == (33.0, False)
    client.put(path, json={"threshold": None})
    assert finished(client, bench)["photo"]["threshold"] == found["photo"]["threshold"]
    client.put(path, json={"threshold": 440})
    nothing = finished(client, bench, "failed")
    assert "no fragments found" in nothing["job"]["message"]
    assert len(nothing["pieces"]) == 4  # what was found before stays
    assert client.put(path, json={"threshold": -1}).status_code == 422


def test_divisions_leave_memory_and_are_cut_again(
    client: TestClient, found: dict[str, Any]
) -> None:
    path = f"/api/workbenches/{found['id']}"
    for _ in range(3):
        client.post(f"{path}/delete", json={"pieces": [0]})
    workbench = client.app.state.service.workbenches.get(found["id"])  # type: ignore[attr-defined]
    photos = [stock.photo for stock in workbench.stocks.steps]
    assert ["segmentation" in vars(photo) for photo in photos] == [False] * 3 + [True] * 2
    workbench.forget_sessions()
    assert not any("segmentation" in vars(photo) for photo in photos)
    assert near(client.get(path).json()["photo"]["boxes"], BOXES[3:])
    for expected in (2, 3, 4):
        back = client.post(f"{path}/fragments/undo").json()
        assert near(back["photo"]["boxes"], BOXES[-expected:])


def test_a_photograph_is_saved_and_restored_with_its_corrections(
    client: TestClient, found: dict[str, Any], solved: Callable[..., dict[str, Any]]
) -> None:
    path = f"/api/workbenches/{found['id']}"
    client.post(f"{path}/merge", json={"pieces": [2, 3]})
    client.post(f"{path}/turn", json={"pieces": [1], "quarter_turns": 1})
    state = solved(found["id"], grid={"rows": 1, "cols": 3})
    saved = client.get(f"{path}/export/workbench.zip").content
    answer = client.post("/api/workbenches/open", files={"file": ("a.zip", saved)})
    assert answer.status_code == 201, answer.text
    again = answer.json()
    assert again["photo"]["boxes"] == state["photo"]["boxes"]
    assert again["board"] == state["board"]
    for kind, first in (("pieces", 0), ("cutouts", 1)):
        for index in range(first, first + 3):
            before = client.get(f"{path}/{kind}/{index}.png").content
            now = client.get(f"/api/workbenches/{again['id']}/{kind}/{index}.png").content
            assert now == before
    divided = client.post(f"/api/workbenches/{again['id']}/split", json={"piece": 2})
    assert len(divided.json()["pieces"]) == 4


def test_a_picture_without_fragments_stays_with_its_slider(
    client: TestClient, encode: Callable[..., bytes]
) -> None:
    plain = np.full((100, 100, 3), GROUND, np.uint8)
    answer = client.post("/api/workbenches/photo", files={"file": ("a.png", encode(plain))})
    assert answer.status_code == 201
    state = finished(client, answer.json()["id"], "failed")
    assert "no fragments found" in state["job"]["message"]
    assert (state["pieces"], state["photo"]["boxes"], state["grids"]) == ([], [], [])
    assert (
        client.post(f"/api/workbenches/{state['id']}/solve", json={"solver": "known"}).status_code
        == 422
    )
    export = client.get(f"/api/workbenches/{state['id']}/export/workbench.zip")
    assert export.status_code == 409


def test_outlines_are_mended_with_brush_and_lasso(
    client: TestClient, found: dict[str, Any]
) -> None:
    path = f"/api/workbenches/{found['id']}"
    top, left, height, width = found["photo"]["boxes"][0]

    def painted(**body: Any) -> dict[str, Any]:
        answer = client.post(f"{path}/paint", json=body)
        assert answer.status_code == 200, answer.text
        state: dict[str, Any] = answer.json()
        return state

    line = [[left + width + 2, top + 10], [left + width + 2, top + 20]]
    grown = painted(tool="brush", points=line, radius=4, piece=0)
    assert grown["photo"]["boxes"][0][3] > width
    below = [[0, top + height // 2], [260, top + height // 2], [260, 100], [0, 100]]
    cut = painted(tool="lasso", points=below, piece=0, add=False)
    assert near(cut["photo"]["boxes"][0][2], height // 2, 3)
    new = painted(tool="lasso", points=[[100, 96], [125, 96], [125, 120], [100, 120]])
    assert len(new["pieces"]) == 5
    gone = painted(tool="lasso", points=[[0, 0], [260, 0], [260, 110], [0, 110]], add=False)
    assert len(gone["pieces"]) == 3  # two whole fragments, and the upper part of the new one
    answer = client.post(f"{path}/paint", json={"tool": "brush", "points": [[1, 1]], "piece": 9})
    assert answer.status_code == 404


def test_single_fragments_are_taken_off_a_plain_ground(
    client: TestClient, encode: Callable[..., bytes]
) -> None:
    photo = photograph()
    crops = [photo[:110, :110], photo[:110, 115:230], photo[110:, :120]]
    files = [("files", (f"{i}.png", encode(np.ascontiguousarray(c)))) for i, c in enumerate(crops)]
    state = client.post("/api/workbenches/pieces", files=files).json()
    sizes = [(piece["height"], piece["width"]) for piece in state["pieces"]]
    assert near(sizes, [box[2:] for box in BOXES[:3]])


def test_square_pieces_of_a_painting_stay_whole(
    client: TestClient, encode: Callable[..., bytes]
) -> None:
    painting = load_sample("irises")
    files = [
        ("files", (f"{i}.png", encode(painting[100 * i : 100 * i + 90, 200:290]))) for i in range(3)
    ]
    state = client.post("/api/workbenches/pieces", files=files).json()
    assert [(p["height"], p["width"]) for p in state["pieces"]] == [(90, 90)] * 3
