"""What is taken away, and that a saved workbench comes back whole."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from starlette.testclient import TestClient
from typer.testing import CliRunner

from puzzleflow.cli.main import build_app
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.formats.open import open_puzzles
from puzzleflow.storage.layout import read_layout
from puzzleflow.web.report import BANDS, UNKNOWN, band_of, extent, percent

Solve = Callable[..., dict[str, Any]]


@pytest.fixture
def steered(client: TestClient, workbench: dict[str, Any], solved: Solve) -> dict[str, Any]:
    """Solved, piece 1 moved to cell 4 and pinned, one change undone."""
    path = f"/api/workbenches/{workbench['id']}"
    solved(workbench["id"], grid={"rows": 2, "cols": 2})
    client.post(f"{path}/place", json={"piece": 0, "position": 3, "pin": True})
    client.post(f"{path}/pin", json={"pieces": [1]})
    state: dict[str, Any] = client.post(f"{path}/undo").json()
    return state


def export(client: TestClient, state: dict[str, Any], kind: str) -> bytes:
    answer = client.get(f"/api/workbenches/{state['id']}/export/{kind}")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"].startswith("attachment")
    return answer.content


def test_the_picture_is_transparent_and_at_full_resolution(
    client: TestClient, steered: dict[str, Any]
) -> None:
    shown = np.asarray(Image.open(io.BytesIO(export(client, steered, "picture.png"))))
    assert shown[0, 0].tolist() == [0, 0, 0, 0]
    areas = [18 * 28, 30 * 16, 24 * 24, 20 * 24]
    assert int((shown[..., 3] == 255).sum()) == sum(areas)  # no pixel lost
    # pieces 4 2 / 3 1 pushed together until the widest of a column and row touch
    assert shown.shape == (26 + 24 + 4, 28 + 24, 4) or shown.shape[0] < 60
    opened = client.get(f"/api/workbenches/{steered['id']}/export/picture.png?gap=0.5").content
    assert Image.open(io.BytesIO(opened)).size == (shown.shape[1] + 15, shown.shape[0] + 15)


def test_the_layout_is_what_render_and_evaluate_read(
    client: TestClient, steered: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "layout.json"
    path.write_bytes(export(client, steered, "layout.json"))
    layout = read_layout(path)
    assert layout.position_of.tolist() == [3, 1, 2, 0]
    assert (layout.pinned, layout.solver) == (frozenset({0}), "known")
    with zipfile.ZipFile(io.BytesIO(export(client, steered, "workbench.zip"))) as archive:
        archive.extractall(tmp_path / "saved")
    pieces = tmp_path / "saved" / "pieces"
    source = open_puzzles(pieces)
    assert isinstance(source[0], Puzzle)
    assert source.pins(0) == {0: 3}
    out = tmp_path / "drawn.png"
    command = ["render", str(pieces), "--layout", str(path), "--out", str(out)]
    result = CliRunner().invoke(build_app(), command)
    assert result.exit_code == 0, result.output
    assert out.exists()


def test_the_table_lists_every_piece(client: TestClient, steered: dict[str, Any]) -> None:
    text = export(client, steered, "layout.csv").decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == [
        "piece",
        "row",
        "column",
        "confidence",
        "pinned",
        "turned",
        "inventory",
        "note",
    ]
    assert [row["piece"] for row in rows] == [f"frag_{i}.png" for i in (3, 1, 2, 0)]
    assert [(row["row"], row["column"]) for row in rows] == [
        ("1", "1"),
        ("1", "2"),
        ("2", "1"),
        ("2", "2"),
    ]
    assert [row["pinned"] for row in rows] == ["no", "no", "no", "yes"]
    assert float(rows[1]["confidence"]) == pytest.approx(0.8)


def test_the_report_stands_alone(client: TestClient, steered: dict[str, Any]) -> None:
    text = export(client, steered, "report.html").decode()
    assert text.count("data:image/jpeg;base64,") == 3
    assert "<script" not in text
    assert "http" not in text
    assert text.count("fixed by hand") >= 2
    assert "2 × 2" in text
    assert "frag_3.png" in text


def test_names_cannot_write_into_the_report(client: TestClient, solved: Solve, encode: Any) -> None:
    name = "<img src=x onerror=alert(1)>.png"
    pixels = np.full((20, 20, 4), 255, np.uint8)
    pixels[0] = 0
    file = {"file": (name, encode(pixels))}
    query = {"rows": 1, "cols": 1, "erosion": "none"}
    state = client.post("/api/workbenches/cut", files=file, params=query).json()
    text = export(client, solved(state["id"]), "report.html").decode()
    assert "<img src=x" not in text
    assert "&lt;img src=x" in text


def test_a_saved_workbench_comes_back_whole(client: TestClient, steered: dict[str, Any]) -> None:
    saved = export(client, steered, "workbench.zip")
    answer = client.post("/api/workbenches/open", files={"file": ("mine.zip", saved)})
    assert answer.status_code == 201, answer.text
    state = answer.json()
    assert state["board"] == steered["board"]
    assert state["board"]["redo"] == "pin piece 2"
    for key in ("title", "origin", "grid"):
        assert state[key] == steered[key]
    for now, before in zip(state["pieces"], steered["pieces"], strict=True):
        assert (now["name"], now["width"], now["height"]) == (
            before["name"], before["width"], before["height"],
        )  # fmt: skip
        assert (
            client.get(f"/{now['picture']}").content == client.get(f"/{before['picture']}").content
        )
    assert export(client, state, "picture.png") == export(client, steered, "picture.png")


def test_single_rows_come_back_too(
    client: TestClient, workbench: dict[str, Any], solved: Solve
) -> None:
    state = solved(workbench["id"], grid={"rows": 1, "cols": 4})
    saved = export(client, state, "workbench.zip")
    again = client.post("/api/workbenches/open", files={"file": ("a.zip", saved)}).json()
    assert again["board"] == state["board"]


def rewritten(saved: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The same file with its JSON changed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "workbench.json":
                description = json.loads(content)
                change(description)
                content = json.dumps(description).encode()
            new.writestr(name, content)
    return stream.getvalue()


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another schema": lambda d: d.update(schema="other"),
    "another version": lambda d: d.update(version=3),
    "a path as name": lambda d: d["pieces"].__setitem__(0, "../evil.png"),
    "a piece that is missing": lambda d: d["pieces"].__setitem__(0, "none.png"),
    "no piece": lambda d: d.update(pieces=[]),
    "a wrong grid": lambda d: d.update(grid=[0, 3]),
    "a wrong truth": lambda d: d.update(truth=[0, 0, 1, 2], truth_grid=[2, 2]),
    "a collision": lambda d: d["steps"][0].update(position_of=[0, 0, 1, 2]),
    "a step on another grid": lambda d: d["steps"][0].update(rows=1, cols=2),
    "an answer that is not there": lambda d: d["steps"][0].update(answer=99),
    "a pin that is not there": lambda d: d["steps"][0].update(pinned=[77]),
    "a place beyond the history": lambda d: d.update(at=99),
    "a ragged matrix": lambda d: d["answers"][0].update(position_prob=[[1.0], [0.5, 0.5]]),
    "wrong seams": lambda d: d["answers"][0].update(right_seams=[[0.1, 0.2, 0.3]]),
    "an infinite number": lambda d: d["answers"][0].update(energy=float("inf")),
    "a huge number": lambda d: d["answers"][0].update(position_of=[10**30, 1, 2, 3]),
    "a wrong trace": lambda d: d["answers"][0].update(trace=[[0, 1]]),
    "a field too many": lambda d: d.update(surprise=1),
}


@pytest.mark.parametrize("what", CHANGES)
def test_contradictions_in_a_saved_file_are_refused(
    client: TestClient, steered: dict[str, Any], what: str
) -> None:
    saved = rewritten(export(client, steered, "workbench.zip"), CHANGES[what])
    answer = client.post("/api/workbenches/open", files={"file": ("a.zip", saved)})
    assert answer.status_code == 422, answer.text
    assert len(client.app.state.service.workbenches) == 1  # type: ignore[attr-defined]


def test_zip_bombs_and_crowds_are_refused(client: TestClient) -> None:
    def opened(members: dict[str, bytes]) -> int:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        files = {"file": ("a.zip", stream.getvalue())}
        return client.post("/api/workbenches/open", files=files).status_code

    assert opened({"workbench.json": b" " * (65 << 20)}) == 413
    assert opened({f"{index}": b"" for index in range(60)}) == 413
    assert opened({"workbench.json": b"[" * 100_000}) == 422
    assert opened({"other.json": b"{}"}) == 422


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_never_break_the_server(
    client: TestClient, steered: dict[str, Any], data: st.DataObject
) -> None:
    saved = bytearray(export(client, steered, "workbench.zip"))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(4, len(saved) - 1))
        saved[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 60))
    content = bytes(saved[: len(saved) - cut])
    answer = client.post("/api/workbenches/open", files={"file": ("a.zip", content)})
    assert answer.status_code in (201, 413, 422)


def test_bands_and_percentages() -> None:
    assert [band_of(p).label for p in (1.0, 0.95, 0.8, 0.79, 0.5, 0.0)] == [
        "almost certain",
        "almost certain",
        "likely",
        "unsure",
        "unsure",
        "little more than a guess",
    ]
    assert band_of(None) is UNKNOWN
    assert band_of(float("nan")) is UNKNOWN
    assert [percent(p) for p in (0.005, 0.994, None)] == ["1 %", "99 %", "–"]
    assert [extent(index) for index in range(4)] == [
        "from 95 %",
        "from 80 %",
        "from 50 %",
        "below 50 %",
    ]
    assert BANDS[0].rgb == (0x0B, 0x62, 0xA8)
