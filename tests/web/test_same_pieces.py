"""The same files give the same pieces and the same answer, by folder and by workbench."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run
from PIL import Image
from starlette.testclient import TestClient
from waiting import finished

from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.formats.open import open_puzzles
from puzzleflow.pictures import resize, write_picture
from puzzleflow.samples import load_sample
from puzzleflow.solvers.registry import load_solver
from puzzleflow.storage.layout import read_layout

GRID = Grid(2, 2)
PAINTING = resize(load_sample("irises")[:600, :600], 240, 240)
Save = Callable[[Path], None]


def worn(seed: int) -> np.ndarray:
    """(120, 120, 4) a quarter of the painting with uneven straight margins."""
    row, col = divmod(seed, 2)
    piece = np.zeros((120, 120, 4), np.uint8)
    top, left, bottom, right = child_rng(seed, "margins").integers(2, 24, 4)
    inside = np.s_[top : 120 - bottom, left : 120 - right]
    piece[inside][..., :3] = PAINTING[120 * row :, 120 * col :][inside]
    piece[inside][..., 3] = 255
    return piece


def cells_with_alpha(folder: Path) -> None:
    """Equal cells; the margins tell where in its cell a piece lies."""
    for seed in range(4):
        write_picture(folder / f"p{seed + 8}.png", worn(seed))


def cut_outs_of_differing_sizes(folder: Path) -> None:
    """Also larger than solvers look at them."""
    for seed in range(4):
        large = worn(seed).repeat(2, axis=0).repeat(2, axis=1)
        write_picture(folder / f"p{seed + 8}.png", large[seed:, : 240 - 2 * seed])


def small_on_one_canvas(folder: Path) -> None:
    """Cut out by hand from photographs of one size: the canvas means nothing."""
    for seed in range(4):
        canvas = np.zeros((400, 500, 4), np.uint8)
        canvas[30 * seed : 30 * seed + 120, 200 : 200 + 120] = worn(seed)
        write_picture(folder / f"p{seed + 8}.png", canvas)


def photographs_on_plain_ground(folder: Path, kind: str = "JPEG") -> None:
    """One photograph a fragment, all of one size, as a camera writes them."""
    folder.mkdir(exist_ok=True)
    for seed in range(4):
        photo = np.full((170, 190, 3), (60, 70, 95), np.uint8)
        piece = worn(seed)
        where = photo[20:140, 20 + seed : 140 + seed]
        where[piece[..., 3] > 0] = piece[piece[..., 3] > 0][:, :3]
        noisy = photo + child_rng(seed, "noise").normal(0, 1.5, photo.shape)
        image = Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))
        image.save(folder / f"p{seed + 8}.{kind.lower()}", kind)


def tiles_of_a_painting(folder: Path) -> None:
    """Opaque, as TIFF, CMYK and palette: nothing is cut off them."""
    folder.mkdir(exist_ok=True)
    for index, (name, mode) in enumerate(
        [("p8.tif", "RGB"), ("p9.jpg", "CMYK"), ("P10.tiff", "CMYK"), ("p11.gif", "P")]
    ):
        row, col = divmod(index, 2)
        tile = PAINTING[120 * row : 120 * row + 120, 120 * col : 120 * col + 120]
        Image.fromarray(np.ascontiguousarray(tile)).convert(mode).save(folder / name)


@pytest.mark.parametrize(
    "save",
    [
        cells_with_alpha,
        cut_outs_of_differing_sizes,
        small_on_one_canvas,
        photographs_on_plain_ground,
        tiles_of_a_painting,
    ],
    ids=lambda save: save.__name__,
)
def test_a_folder_and_an_upload(
    client: TestClient, solved: Callable[..., Any], tmp_path: Path, save: Save
) -> None:
    save(tmp_path / "pieces")
    puzzle = open_puzzles(tmp_path / "pieces")[0]
    assert [Path(name).stem.lower() for name in puzzle.names or ()] == ["p8", "p9", "p10", "p11"]
    files = [("files", (p.name, p.read_bytes())) for p in sorted((tmp_path / "pieces").iterdir())]
    answer = client.post("/api/workbenches/pieces", files=files)
    assert answer.status_code == 201, answer.text
    same_pieces_and_answer(client, solved, answer.json()["id"], tmp_path / "pieces")


def test_a_photograph(client: TestClient, solved: Callable[..., Any], tmp_path: Path) -> None:
    photo = np.full((330, 330, 3), (60, 70, 95), np.uint8)
    for index in range(4):
        row, col = divmod(index, 2)
        piece = worn(index)
        where = photo[30 + 150 * row : 150 + 150 * row, 30 + 150 * col : 150 + 150 * col]
        where[piece[..., 3] > 0] = piece[piece[..., 3] > 0][:, :3]
    write_picture(tmp_path / "photo.png", photo)
    run("segment", tmp_path / "photo.png", "--out", tmp_path / "segmented")
    content = (tmp_path / "photo.png").read_bytes()
    answer = client.post("/api/workbenches/photo", files={"file": ("photo.png", content)})
    assert answer.status_code == 201, answer.text
    finished(client, answer.json()["id"])
    same_pieces_and_answer(client, solved, answer.json()["id"], tmp_path / "segmented")


def same_pieces_and_answer(
    client: TestClient, solved: Callable[..., Any], workbench_id: str, folder: Path
) -> None:
    """Compare pixel by pixel what solvers are given, and what a real one answers."""
    service: Any = client.app.state.service  # type: ignore[attr-defined]
    service.shelf.solvers["tree-alpha"] = load_solver("tree-alpha")
    bench = service.workbenches.get(workbench_id)
    puzzle = open_puzzles(folder, grid=GRID)[0]
    np.testing.assert_array_equal(puzzle.pieces, bench.cells())
    state = solved(workbench_id, solver="tree-alpha", grid={"rows": 2, "cols": 2})
    out = folder.parent / "solved"
    run("solve", folder, "--grid", "2x2", "--solver", "tree-alpha", "--out", out)
    (layout,) = out.glob("*.layout.json")
    saved = read_layout(layout)
    assert np.argsort(saved.position_of).tolist() == state["board"]["piece_at"]
    answer = json.loads(next(out.glob("*.confidence.json")).read_text())
    assert answer["energy"] == bench.history.now.answer.solution.energy
    picture = client.get(f"/api/workbenches/{workbench_id}/export/picture.png").content
    laid = np.array(Image.open(io.BytesIO(picture)).convert("RGBA"))
    drawn = np.array(Image.open(next(out.glob("*_*[!e].png"))))
    assert laid.shape[0] <= drawn.shape[0]  # the workbench draws it closed
    assert laid.shape[1] <= drawn.shape[1]
    assert (laid[..., 3] > 127).sum() == (drawn[..., 3] > 127).sum()
