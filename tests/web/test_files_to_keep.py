"""Layers, cut-outs, scale, notes: the files that a conservator takes away."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient
from waiting import finished

from puzzleflow.samples import load_sample

Solve = Callable[..., dict[str, Any]]


@pytest.fixture
def described(client: TestClient, workbench: dict[str, Any], solved: Solve) -> dict[str, Any]:
    """Solved on 2 × 2, with a scale of 4 pixels a millimetre, an author and a note."""
    path = f"/api/workbenches/{workbench['id']}"
    solved(workbench["id"], grid={"rows": 2, "cols": 2})
    sheet = {"title": "Wall 3", "author": "Ada <b>", "date": "May", "px_per_mm": 4.0}
    client.put(f"{path}/sheet", json=sheet)
    note = {"piece": 2, "inventory": "=Inv. 12", "note": "burnt & cracked"}
    state: dict[str, Any] = client.post(f"{path}/describe", json=note).json()
    return state


def export(client: TestClient, state: dict[str, Any], kind: str, **query: Any) -> bytes:
    answer = client.get(f"/api/workbenches/{state['id']}/export/{kind}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.content


def test_the_sheet_and_notes_are_told_everywhere(
    client: TestClient, described: dict[str, Any]
) -> None:
    assert (described["title"], described["author"], described["px_per_mm"]) == (
        "Wall 3", "Ada <b>", 4.0,
    )  # fmt: skip
    assert described["pieces"][2]["inventory"] == "=Inv. 12"
    report = export(client, described, "report.html").decode()
    for text in ("Ada &lt;b&gt;", "May", "burnt &amp; cracked", "4 pixels a millimetre"):
        assert text in report
    table = export(client, described, "layout.csv").decode("utf-8-sig")
    assert "'=Inv. 12,burnt & cracked" in table  # no formula
    with pytest.raises(AssertionError):
        export(client, described, "nothing.png")


def test_the_picture_knows_its_resolution(client: TestClient, described: dict[str, Any]) -> None:
    picture = Image.open(io.BytesIO(export(client, described, "picture.png")))
    assert picture.info["dpi"] == pytest.approx((101.6, 101.6), abs=0.1)
    page = export(client, described, "life-size.html").decode()
    assert f"width:{picture.width / 4:.3f}mm" in page
    path = f"/api/workbenches/{described['id']}"
    sheet = {"title": "x", "px_per_mm": None}
    assert client.put(f"{path}/sheet", json=sheet).json()["px_per_mm"] is None
    refused = client.get(f"{path}/export/life-size.html")
    assert (refused.status_code, "measure a ruler" in refused.json()["detail"]) == (422, True)


def test_svg_has_a_group_for_each_fragment(client: TestClient, described: dict[str, Any]) -> None:
    root = ElementTree.fromstring(export(client, described, "picture.svg"))
    space = {"s": "http://www.w3.org/2000/svg"}
    groups = root.findall("s:g", space)
    assert [group.get("id") for group in groups] == [f"fragment-{n}" for n in (1, 2, 3, 4)]
    assert groups[2].get("data-inventory") == "=Inv. 12"
    assert root.get("width", "").endswith("mm")
    sizes = [(i.get("width"), i.get("height")) for i in root.findall(".//s:image", space)]
    assert sizes == [("24", "20"), ("16", "30"), ("24", "24"), ("28", "18")]


def test_psd_has_a_layer_for_each_fragment(client: TestClient, described: dict[str, Any]) -> None:
    psd_tools = pytest.importorskip("psd_tools")
    drawn = psd_tools.PSDImage.open(io.BytesIO(export(client, described, "picture.psd")))
    assert [layer.name for layer in drawn] == ["frag_0", "frag_1", "frag_2", "frag_3"]
    assert [(layer.width, layer.height) for layer in drawn] == [
        (24, 20), (16, 30), (24, 24), (28, 18),
    ]  # fmt: skip
    picture = Image.open(io.BytesIO(export(client, described, "picture.png")))
    assert drawn.size == picture.size


def test_cut_outs_are_upright_and_whole(client: TestClient, described: dict[str, Any]) -> None:
    client.post(f"/api/workbenches/{described['id']}/turn", json={"pieces": [1]})
    with zipfile.ZipFile(io.BytesIO(export(client, described, "fragments.zip"))) as archive:
        sizes = {n: Image.open(io.BytesIO(archive.read(n))).size for n in archive.namelist()}
    assert sizes["frag_1.png"] == (30, 16)
    assert len(sizes) == 4


def test_free_placing(client: TestClient, workbench: dict[str, Any]) -> None:
    bench = workbench["id"]
    path = f"/api/workbenches/{bench}/free"
    state = client.post(f"{path}/begin").json()
    assert [pose["piece"] for pose in state["free"]["poses"]] == [0, 1, 2, 3]
    poses = [{"piece": 0, "x": 100, "y": 50, "angle": 90}, {"piece": 1, "x": 130, "y": 50}]
    state = client.post(f"{path}/place", json={"poses": poses, "tray": [2, 3]}).json()
    free = state["free"]
    assert (free["tray"], free["undo"]) == ([2, 3], "move 4 pieces")
    assert (free["poses"][0]["angle"], free["prepared"]) == (90.0, False)
    client.post(f"{path}/pin", json={"pieces": [0]})
    refused = client.post(f"{path}/place", json={"poses": poses[:1]})
    assert refused.status_code == 422
    assert client.get(f"{path}/fits", params={"piece": 1}).status_code == 409
    assert client.post(f"{path}/pin", json={"pieces": [3]}).status_code == 422
    picture = Image.open(io.BytesIO(export(client, state, "picture.png", free=True)))
    # piece 0 stands 20 wide, 24 tall at 90..110, piece 1 16 wide, 30 tall at 122..138
    assert picture.size == (48, 30)
    alpha = np.asarray(picture)[..., 3]
    assert alpha[15, 22:30].max() == 0
    assert "waits in the tray" in export(client, state, "report.html", free=True).decode()
    assert client.post(f"{path}/undo").json()["free"]["undo"] == "move 4 pieces"
    saved = export(client, state, "workbench.zip")
    again = client.post("/api/workbenches/open", files={"file": ("a.zip", saved)}).json()
    assert again["free"] == client.get(f"/api/workbenches/{bench}").json()["free"]


@pytest.mark.slow
def test_the_rest_is_assembled_and_fits_are_ranked(client: TestClient, encode: Any) -> None:
    """Two halves of a painting, cut along a wave: they are found to fit."""
    painting = load_sample("irises")[100:260, 100:300]
    y, x = np.mgrid[:160, :200]
    wave = x < 100 + 14 * np.sin(y / 12)
    files = []
    for index, mask in enumerate((wave, ~wave)):
        cut = np.zeros((160, 200, 4), np.uint8)
        cut[mask, :3], cut[mask, 3] = painting[mask], 255
        files.append(("files", (f"half_{index}.png", encode(cut))))
    state = client.post("/api/workbenches/pieces", files=files).json()
    path = f"/api/workbenches/{state['id']}/free"
    client.post(f"{path}/begin")
    assert client.post(f"{path}/compare").status_code == 202
    assert finished(client, state["id"])["free"]["prepared"] is True
    partners = client.get(f"{path}/partners", params={"piece": 0}).json()
    assert partners[0]["piece"] == 1
    sides = {
        side: client.get(f"{path}/partners", params={"piece": 0, "side": side}).json()
        for side in ("left", "right", "above", "below")
    }
    assert sum(len(found) for found in sides.values()) == len(partners)
    assert client.get(f"{path}/fits", params={"piece": 1}).status_code == 200
    client.post(f"{path}/pin", json={"pieces": [0]})
    before = client.get(f"/api/workbenches/{state['id']}").json()["free"]["poses"][0]
    assert client.post(f"{path}/assemble").status_code == 202
    free = finished(client, state["id"])["free"]
    pinned = next(pose for pose in free["poses"] if pose["piece"] == 0)
    for key in ("x", "y", "angle"):
        assert pinned[key] == pytest.approx(before[key])
