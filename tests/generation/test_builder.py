from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.canvas import cells_of
from puzzleflow.core.errors import FormatError, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.generation.builder import (
    build_puzzle,
    centre_crop,
    cut_pieces,
    cut_puzzle,
    draw_positions,
    make_canvas,
    mask_seeds,
)
from puzzleflow.generation.erosion import erosion_model


def test_two_by_two_worked_by_hand() -> None:
    # cells of one pixel: 10 20 / 30 40; the mask of position 2 is empty
    canvas = np.array([[10, 20], [30, 40]], np.uint8)[..., None].repeat(3, axis=2)
    masks = np.array([True, True, False, True]).reshape(4, 1, 1)
    position_of = np.array([3, 0, 2, 1])
    pieces = cut_pieces(canvas, Grid(2, 2), masks, position_of)
    assert pieces[:, 0, 0].tolist() == [
        [40, 40, 40, 255],
        [10, 10, 10, 255],
        [0, 0, 0, 0],
        [20, 20, 20, 255],
    ]


def test_cells_are_row_major_on_a_wide_grid() -> None:
    canvas = np.arange(2 * 6, dtype=np.uint8).reshape(2, 6, 1)
    cells = cells_of(canvas, Grid(1, 3))
    assert cells[..., 0].tolist() == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]]


@pytest.mark.parametrize(
    ("have", "want", "crop"),
    [
        ((10, 20), (1, 1), (slice(0, 10), slice(5, 15))),
        ((20, 10), (1, 1), (slice(5, 15), slice(0, 10))),
        ((21, 10), (3, 3), (slice(5, 15), slice(0, 10))),
        ((10, 20), (20, 10), (slice(0, 10), slice(7, 12))),
        ((30, 30), (10, 20), (slice(7, 22), slice(0, 30))),
        ((7, 7), (7, 7), (slice(0, 7), slice(0, 7))),
    ],
)
def test_centre_crop(
    have: tuple[int, int], want: tuple[int, int], crop: tuple[slice, slice]
) -> None:
    picture = np.arange(have[0] * have[1] * 3).reshape(*have, 3).astype(np.uint8)
    assert np.array_equal(centre_crop(picture, *want), picture[crop])


def test_a_sliver_keeps_at_least_one_pixel() -> None:
    picture = np.full((1, 500, 3), 9, np.uint8)
    canvas = make_canvas(picture, Grid(3, 3), (4, 4))
    assert canvas.shape == (12, 12, 3)
    assert np.all(canvas == 9)


@given(
    rows=st.integers(1, 4),
    cols=st.integers(1, 4),
    height=st.integers(1, 7),
    width=st.integers(1, 7),
    seed=st.integers(0, 2**32),
)
def test_laid_pieces_give_the_masked_canvas(
    rows: int, cols: int, height: int, width: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    grid = Grid(rows, cols)
    picture = rng.integers(0, 256, (30, 40, 3)).astype(np.uint8)
    masks = rng.random((grid.num_pieces, height, width)) < 0.6
    puzzle = build_puzzle(picture, grid, masks, rng.permutation(grid.num_pieces))
    assert puzzle.truth is not None
    assert puzzle.piece_px == (height, width)
    canvas = make_canvas(picture, grid, (height, width))
    for piece, position in enumerate(puzzle.truth):
        row, col = grid.cell(int(position))
        cell = canvas[row * height : (row + 1) * height, col * width : (col + 1) * width]
        mask = masks[position]
        assert np.array_equal(puzzle.pieces[piece, ..., 3], mask * 255)
        assert np.array_equal(puzzle.pieces[piece, ..., :3], cell * mask[..., None])


def test_wrong_masks_and_permutations_are_refused() -> None:
    picture = np.zeros((8, 8, 3), np.uint8)
    with pytest.raises(FormatError, match="masks of shape"):
        cut_pieces(picture, Grid(2, 2), np.ones((3, 4, 4), bool), np.arange(4))
    with pytest.raises(FormatError, match="no 3x3 equal cells"):
        cells_of(picture, Grid(3, 3))
    with pytest.raises(NotAPermutation):
        build_puzzle(picture, Grid(2, 2), np.ones((4, 4, 4), bool), np.array([0, 0, 1, 2]))


def test_one_call_cuts_as_its_parts_do() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (50, 70, 3)).astype(np.uint8)
    grid = Grid(2, 3)
    puzzle = cut_puzzle(picture, grid, "linear", 11, piece_px=20, puzzle_id="x")
    masks = erosion_model("linear").masks(mask_seeds(11, grid), 20, 20)
    expected = build_puzzle(picture, grid, masks, draw_positions(11, grid))
    assert np.array_equal(puzzle.pieces, expected.pieces)
    assert np.array_equal(puzzle.truth, expected.truth)
    assert puzzle.puzzle_id == "x"
    assert not np.array_equal(
        cut_puzzle(picture, grid, "linear", 12, piece_px=20).truth, puzzle.truth
    )


def test_a_model_serves_as_well_as_its_name() -> None:
    class Left:
        name = "left"

        def masks(self, seeds: Sequence[int], height: int, width: int) -> np.ndarray:
            return np.broadcast_to(np.arange(width) < width // 2, (len(seeds), height, width))

    puzzle = cut_puzzle(np.full((9, 9, 3), 7, np.uint8), Grid(1, 2), Left(), 0)
    assert puzzle.piece_px == (128, 128)
    assert puzzle.pieces[..., :64, 3].all()
    assert not puzzle.pieces[..., 64:, :].any()
