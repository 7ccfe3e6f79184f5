"""Ways to open a workbench, and what is refused on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.samples import load_sample
from puzzleflow.web.limits import Limits
from puzzleflow.web.routes_intake import cut
from puzzleflow.web.stock import plain_names


def test_about_tells_the_limits_before_the_upload(client: TestClient, bounds: Limits) -> None:
    about = client.get("/api/about").json()
    assert about["limits"]["max_files"] == bounds.max_files
    assert about["limits"]["max_pixels"] == bounds.max_pixels
    assert about["solvers"][0] == about["default_solver"] or "known" in about["solvers"]
    assert len(about["samples"]) > 20
    assert [band["least"] for band in about["bands"]] == [0.95, 0.8, 0.5, 0.0]


def test_every_sample_has_a_picture(client: TestClient) -> None:
    assert client.get("/api/samples/irises.jpg").content[:2] == b"\xff\xd8"
    assert client.get("/api/samples/..%2firises.jpg").status_code == 404


def test_a_sample_becomes_a_puzzle(client: TestClient) -> None:
    request = {"sample": "irises", "grid": {"rows": 2, "cols": 3}, "erosion": "linear", "seed": 5}
    state = client.post("/api/workbenches/sample", json=request).json()
    assert state["title"] == "Irises, Vincent van Gogh"
    assert len(state["pieces"]) == 6
    assert state["grid"] == {"rows": 2, "cols": 3}
    assert state["board"] is None
    picture = client.get(f"/{state['pieces'][0]['picture']}")
    assert picture.content.startswith(b"\x89PNG")


def test_ones_own_picture_is_cut(client: TestClient, encode: Callable[..., bytes]) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (120, 200, 3), dtype=np.uint8)
    answer = client.post(
        "/api/workbenches/cut",
        files={"file": ("mine.jpeg", encode(pixels, "JPEG"))},
        params={"rows": 2, "cols": 4, "erosion": "none"},
    )
    state = answer.json()
    assert answer.status_code == 201, state
    assert (state["title"], len(state["pieces"])) == ("mine", 8)
    assert state["pieces"][0]["width"] == 50


def test_fragments_keep_scale_and_order(client: TestClient, workbench: dict[str, Any]) -> None:
    sizes = [(piece["height"], piece["width"]) for piece in workbench["pieces"]]
    assert sizes == [(20, 24), (30, 16), (24, 24), (18, 28)]
    choices = [(g["rows"], g["cols"], g["missing"], g["extra"]) for g in workbench["grids"]]
    assert choices[:3] == [(2, 2, 0, 0), (1, 4, 0, 0), (4, 1, 0, 0)]
    assert {(2, 3, 2, 0), (3, 2, 2, 0), (1, 3, 0, 1)} <= set(choices)
    assert workbench["no_grid"] is False
    assert workbench["grid"] is None


def refused(client: TestClient, kind: str, name: str, content: bytes) -> tuple[int, str]:
    field = "files" if kind == "pieces" else "file"
    answer = client.post(f"/api/workbenches/{kind}", files={field: (name, content)})
    assert len(client.app.state.service.workbenches) == 0  # type: ignore[attr-defined]
    scratch = client.app.state.service.workbenches.folder  # type: ignore[attr-defined]
    assert [path.name for path in scratch.iterdir()] == [".lock"]
    return answer.status_code, answer.json()["detail"]


@pytest.mark.parametrize("kind", ["photo", "pieces", "cut"])
@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 40,
        b"<svg xmlns='x'/>",
        b"%!PS-Adobe-3.0 EPSF",
        b"PK\x03\x04nothing",
        b"\x89PNG\r\n\x1a\nno",
    ],
)
def test_what_is_no_picture_is_refused_whatever_its_name(
    client: TestClient, kind: str, content: bytes
) -> None:
    status, detail = refused(client, kind, "photo.png", content)
    assert status == 422
    assert "photo.png" in detail


def test_an_empty_file_is_refused(client: TestClient) -> None:
    assert refused(client, "photo", "a.png", b"") == (422, "a.png: empty")


def test_bombs_are_refused_before_they_are_decoded(
    client: TestClient, encode: Callable[..., bytes]
) -> None:
    bomb = encode(np.zeros((4000, 4000), np.uint8))
    status, detail = refused(client, "photo", "bomb.png", bomb)
    assert status == 422
    assert "16,000,000" in detail or "4000x4000" in detail


def test_a_file_above_its_bound_is_refused(client: TestClient) -> None:
    status, detail = refused(client, "photo", "a.png", b"\x89PNG" + b"\0" * 1_000_001)
    assert status == 413
    assert "a.png" in detail


def test_too_many_files_are_refused(client: TestClient, encode: Callable[..., bytes]) -> None:
    tiny = encode(np.full((9, 9, 4), 255, np.uint8))
    files = [("files", (f"{index}.png", tiny)) for index in range(13)]
    answer = client.post("/api/workbenches/pieces", files=files)
    assert (answer.status_code, answer.json()["detail"]) == (413, "13 files; at most 12 at once")


def test_a_transparent_picture_holds_no_fragment(
    client: TestClient, encode: Callable[..., bytes]
) -> None:
    status, detail = refused(client, "pieces", "air.png", encode(np.zeros((20, 20, 4), np.uint8)))
    assert status == 422
    assert "transparent" in detail


def test_tiny_pictures_are_refused(client: TestClient, encode: Callable[..., bytes]) -> None:
    status, _ = refused(client, "pieces", "dot.png", encode(np.zeros((3, 3, 3), np.uint8)))
    assert status == 422


@pytest.mark.parametrize(
    ("request_body", "status"),
    [
        ({"sample": "mona-lisa"}, 422),
        ({"sample": "irises", "erosion": "outlines:/etc"}, 422),
        ({"sample": "irises", "grid": {"rows": 6, "cols": 6}}, 413),
        ({"sample": "irises", "grid": {"rows": 0, "cols": 6}}, 422),
        ({"sample": "irises", "more": 1}, 422),
        ({"sample": "irises", "seed": 1e400}, 422),
        ({"sample": "\ud800"}, 422),
    ],
)
def test_wrong_requests_are_told(client: TestClient, request_body: Any, status: int) -> None:
    import json

    content = json.dumps(request_body).replace("Infinity", "1e999").encode()
    headers = {"content-type": "application/json"}
    answer = client.post("/api/workbenches/sample", content=content, headers=headers)
    assert answer.status_code == status
    assert answer.json()["detail"]


def test_closing_removes_the_files(client: TestClient, workbench: dict[str, Any]) -> None:
    path = f"/api/workbenches/{workbench['id']}"
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404
    scratch = client.app.state.service.workbenches.folder  # type: ignore[attr-defined]
    assert [file.name for file in scratch.iterdir()] == [".lock"]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=8))
def test_names_become_plain_and_distinct(names: list[str]) -> None:
    plain = plain_names(names)
    assert len({name.lower() for name in plain}) == len(names)
    for name in plain:
        assert name.endswith(".png")
        assert name[0] not in ".-=+@ "
        assert not set(name) & set('/\\:\0"<>|*?')
    assert plain_names(plain) == plain


def test_hostile_names() -> None:
    names = ["../../etc/passwd", "C:\\x\\a.png", "a.JPG", "A.png", "=1+1.png", ".png", ""]
    assert plain_names(names) == [
        "passwd.png", "a.png", "a-2.png", "A-3.png", "_1_1.png", "piece.png", "piece-2.png",
    ]  # fmt: skip


def test_a_picture_too_small_for_its_grid_is_refused() -> None:
    picture = load_sample("irises")[:40, :40]
    with pytest.raises(InputError, match="too small"):
        cut(picture, Grid(5, 5), "none", 0, Limits())
    puzzle, cropped = cut(picture, Grid(2, 2), "none", 0, Limits())
    assert (puzzle.piece_px, cropped) == ((20, 20), 0.0)


def test_what_square_pieces_leave_over_is_said(client: TestClient, encode: Any) -> None:
    wide = load_sample("irises")[:100, :200]
    query = {"rows": 2, "cols": 2, "erosion": "none"}
    state = client.post(
        "/api/workbenches/cut", files={"file": ("a.png", encode(wide))}, params=query
    ).json()
    assert state["remarks"] == [{"what": "cropped", "number": 0.5}]
    whole = client.post(
        "/api/workbenches/cut", files={"file": ("a.png", encode(wide))}, params=query | {"cols": 4}
    ).json()
    assert whole["remarks"] == []
