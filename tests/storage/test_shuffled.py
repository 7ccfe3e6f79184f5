"""One picture of shuffled square pieces: its pieces are found where the picture breaks off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from puzzleflow.core.errors import FormatError, NotAGrid, PuzzleFlowError
from puzzleflow.core.grid import Grid
from puzzleflow.formats.open import open_puzzles
from puzzleflow.pictures import write_picture
from puzzleflow.storage.shuffled import guess_grid


def shuffled_picture(rows: int, cols: int, px: int, seed: int) -> np.ndarray:
    """Smooth pieces that have nothing to do with their neighbours."""
    coarse = np.random.default_rng(seed).uniform(0, 255, (rows, cols, 3, 3, 3))
    zoom = [1, 1, px / 3, px / 3, 1]
    smooth = ndimage.zoom(coarse, zoom, order=1, grid_mode=True, mode="nearest")
    picture = smooth.swapaxes(1, 2).reshape(rows * px, cols * px, 3).astype(np.uint8)
    return np.concatenate([picture, np.full_like(picture[..., :1], 255)], axis=-1)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.integers(2, 5), st.sampled_from([18, 24, 30]), st.integers(0, 99))
def test_the_grid_is_guessed(rows: int, cols: int, px: int, seed: int) -> None:
    assert guess_grid(shuffled_picture(rows, cols, px, seed), "") == Grid(rows, cols)


def test_pieces_come_row_by_row(tmp_path: Path) -> None:
    picture = np.zeros((20, 30, 4), np.uint8)
    picture[..., 3] = 255
    for number in range(6):
        row, col = divmod(number, 3)
        picture[10 * row : 10 * row + 10, 10 * col : 10 * col + 10, 0] = 40 * number
    write_picture(tmp_path / "p.png", picture)
    puzzle = open_puzzles(tmp_path / "p.png", grid=Grid(2, 3))[0]
    assert puzzle.pieces[:, 5, 5, 0].tolist() == [0, 40, 80, 120, 160, 200]
    assert puzzle.piece_px == (10, 10)
    assert puzzle.truth is None
    assert repr(puzzle) == "Puzzle('p', 6 pieces of 10x10 px, 2x3, truth unknown)"


def test_what_is_no_picture_of_pieces_is_said(tmp_path: Path) -> None:
    write_picture(tmp_path / "tiny.png", np.zeros((5, 5, 3), np.uint8))
    write_picture(tmp_path / "plain.png", np.full((64, 64, 3), 90, np.uint8))
    for name, grid, error, text in (
        ("tiny.png", Grid(5, 5), FormatError, "pieces of 1x1 px; expected 8 or more"),
        ("tiny.png", None, NotAGrid, "cannot be seen"),
        ("plain.png", None, NotAGrid, "cannot be seen"),
        ("plain.png", Grid(3, 3), FormatError, "has no 3x3 equal cells"),
    ):
        with pytest.raises(error, match=text):
            open_puzzles(tmp_path / name, grid=grid)[0]


def test_damaged_pictures_are_refused_or_read(tmp_path: Path) -> None:
    write_picture(tmp_path / "p.png", shuffled_picture(2, 3, 16, 0))
    whole = (tmp_path / "p.png").read_bytes()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        damaged = bytearray(whole[: rng.integers(len(whole)) if seed % 2 else None])
        for place in rng.integers(0, max(1, len(damaged)), 3) if damaged else ():
            damaged[place] = rng.integers(256)
        (tmp_path / "p.png").write_bytes(damaged)
        try:
            assert open_puzzles(tmp_path / "p.png")[0].num_pieces > 1
        except PuzzleFlowError as error:
            assert str(tmp_path / "p.png") in str(error)  # noqa: PT017
