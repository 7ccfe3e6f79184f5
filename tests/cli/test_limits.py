from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from puzzleflow.cli.main import build_app
from puzzleflow.core.errors import InputError, OutputError, PuzzleFlowError
from puzzleflow.core.rng import child_rng
from puzzleflow.lock import locked
from puzzleflow.pictures import resize, write_picture


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    for index in range(4):
        coarse = child_rng(0, index).integers(0, 256, (6, 6, 3)).astype(np.uint8)
        write_picture(folder / f"{index}.png", resize(coarse, 48, 48))
    return folder


def invoke(*arguments: Any) -> Any:
    words = ["limits", *map(str, arguments)]
    return CliRunner().invoke(build_app(), words, catch_exceptions=False)


def test_a_small_run_from_end_to_end(images: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    options = [
        *("--images", images, "--out", out, "--work", work, "--solvers", "search-alpha"),
        *("--sections", "calibration,gap", "--puzzles", 2, "--base-grids", "2"),
        *("--erosion", "linear", "--piece-px", 32),
    ]
    result = invoke(*options)
    assert result.exit_code == 0
    assert "limits.md" in result.output
    report = json.loads((out / "limits.json").read_text())
    assert report["solvers"] == ["search-alpha"]
    assert {c["what"] for c in report["calibrations"]} == {"pieces", "seams", "puzzles"}
    assert report["facts"]["command"] == (
        "`puzzleflow limits --out out --images pictures --solvers search-alpha "
        "--sections calibration,gap --puzzles 2 --base-grids 2 --erosion linear --piece-px 32`"
    )
    kept = [row["kept"]["value"] for row in report["rows"] if row["series"] == "linear"]
    assert kept == sorted(kept, reverse=True)
    before = (out / "limits.md").read_bytes()
    left = out / "images" / f".limits-gap.png.{9**20}.abc.part"  # of a process that was killed
    left.touch()
    assert invoke(*options).exit_code == 0
    assert (out / "limits.md").read_bytes() == before
    assert not left.exists()
    assert not (out / "work").exists()


def test_a_folder_that_another_run_holds(images: Path, tmp_path: Path) -> None:
    options = ["--images", images, "--out", tmp_path / "out", "--solvers", "random"]
    for more in ([], ["--fresh"]):
        with (
            locked(tmp_path / "out" / "work"),
            pytest.raises(OutputError, match=r"work: process \d+ on .* is writing here"),
        ):
            invoke(*options, *more)
    with pytest.raises(InputError, match="inside the picture folder"):
        invoke(*options, "--work", images / "work")
    assert not (images / "work").exists()


def test_without_kinds_that_section_is_left_out(images: Path, tmp_path: Path) -> None:
    result = invoke(
        *("--images", images, "--out", tmp_path / "out", "--solvers", "random"),
        *("--puzzles", 1, "--base-grids", 2, "--grids", 2, "--erosion", "none", "--piece-px", 16),
    )
    assert result.exit_code == 0
    page = (tmp_path / "out" / "limits.md").read_text()
    assert "## By kind" not in page
    assert "## By number of pieces" in page
    assert "samples, 2x2" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sections", "mood"], "unknown section"),
        (["--sections", "kind"], "needs kinds"),
        (["--sections", "grid", "--grids", "0x2"], "grid"),
        (["--sections", "grid", "--grids", ","], "no grid given"),
        (["--solvers", "nobody"], "nobody"),
        (["--erosion", "rust"], "rust"),
        (["--merge", "a=b"], "--kinds"),
        (["--kinds", "none.csv"], "cannot read"),
        (["--piece-px", "1"], "pieces of 1 pixels"),
    ],
)
def test_bad_input(images: Path, tmp_path: Path, options: list[str], message: str) -> None:
    small = ["--puzzles", "1", "--base-grids", "2", "--erosion", "none", "--piece-px", "16"]
    with pytest.raises(PuzzleFlowError, match=message):
        invoke("--images", images, "--out", tmp_path / "out", *small, *options)
    assert not (tmp_path / "out" / "limits.md").exists()


def test_no_pictures_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a folder of pictures"):
        invoke("--out", tmp_path / "out", "--sections", "grid")
    with pytest.raises(InputError, match="no such folder"):
        invoke("--out", tmp_path / "out", "--images", tmp_path / "none")
