from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from puzzleflow.cli.main import build_app
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.formats.open import open_puzzles
from puzzleflow.pictures import read_picture, write_picture


def invoke(*arguments: Any) -> Any:
    result = CliRunner().invoke(
        build_app(), ["segment", *map(str, arguments)], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """Two by two squares of 60 px on grey."""
    pixels = np.full((240, 240, 3), 190.0)
    for index, colour in enumerate([(200, 40, 30), (30, 90, 40), (20, 30, 120), (250, 220, 40)]):
        top, left = 40 + index // 2 * 100, 40 + index % 2 * 100
        pixels[top : top + 60, left : left + 60] = colour
    pixels += child_rng(3, "photo").normal(0, 1.5, pixels.shape)
    write_picture(tmp_path / "photo.png", np.clip(pixels, 0, 255).astype(np.uint8))
    return tmp_path / "photo.png"


def test_fragments_preview_and_places_are_written(photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = invoke(photo, "--out", out, "--grid", "2x2").output
    assert "4 fragments (threshold 7.0)" in text
    assert "warning" not in text
    assert read_picture(out / "preview.png").shape == (240, 240, 3)
    told = json.loads((out / "segments.json").read_text())
    assert told["photo"] == "photo.png"
    assert [each["bbox"]["left"] // 100 for each in told["fragments"]] == [0, 1, 0, 1]
    first = read_picture(out / "fragments" / told["fragments"][0]["name"], "RGBA")
    assert first.shape == (60, 60, 4)
    assert np.abs(first[..., :3].mean(axis=(0, 1)) - (200, 40, 30)).max() < 3


def test_the_folder_is_a_puzzle(photo: Path, tmp_path: Path) -> None:
    invoke(photo, "--out", tmp_path / "out")
    for folder in (tmp_path / "out", tmp_path / "out" / "fragments"):  # never preview.png
        (puzzle,) = open_puzzles(folder, grid=Grid(2, 2))
        assert puzzle.num_pieces == 4
        assert puzzle.names == tuple(f"fragment_{n:02d}.png" for n in range(1, 5))


def test_another_number_than_expected_is_told(photo: Path, tmp_path: Path) -> None:
    result = invoke(photo, "--out", tmp_path / "out", "--grid", "3x3")
    assert "4 fragments found, 9 expected" in result.stderr


def test_nothing_is_overwritten(photo: Path, tmp_path: Path) -> None:
    invoke(photo, "--out", tmp_path / "out")
    with pytest.raises(InputError, match="not empty"):
        invoke(photo, "--out", tmp_path / "out")


def test_what_cannot_be_segmented_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.png: no such file"):
        invoke(tmp_path / "gone.png", "--out", tmp_path / "out")
    (tmp_path / "text.jpg").write_text("no picture")
    with pytest.raises(FormatError, match=r"text\.jpg: not a readable picture"):
        invoke(tmp_path / "text.jpg", "--out", tmp_path / "out")
    write_picture(tmp_path / "plain.png", np.full((90, 90, 3), 200, np.uint8))
    with pytest.raises(InputError, match=r"plain\.png: no fragments found"):
        invoke(tmp_path / "plain.png", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
