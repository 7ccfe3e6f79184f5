from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.canvas import (
    BOARD,
    EMPTY,
    PAGE,
    RIGHT,
    WRONG,
    board,
    composite,
    erode,
    lay,
    lay_all,
    mark,
    outline,
    panels,
    rightly_laid,
    tile,
)
from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Puzzle


def flat_pieces(n, height=4, width=3):
    """Opaque pieces; every pixel of piece i is (i + 1, 0, 0)."""
    pieces = np.zeros((n, height, width, 4), np.uint8)
    pieces[..., 0] = np.arange(1, n + 1)[:, None, None]
    pieces[..., 3] = 255
    return pieces


@st.composite
def layouts(draw):
    grid = Grid(draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    return grid, np.array(draw(st.permutations(range(grid.num_pieces))))


@given(layouts(), st.integers(0, 3))
def test_every_piece_lies_in_its_cell(layout, spacing_px):
    grid, position_of = layout
    canvas = lay(flat_pieces(grid.num_pieces), position_of, grid, spacing_px=spacing_px)
    assert canvas.shape == (
        grid.rows * (4 + spacing_px) - spacing_px,
        grid.cols * (3 + spacing_px) - spacing_px,
        4,
    )
    for piece, position in enumerate(position_of):
        row, col = grid.cell(position)
        top, left = row * (4 + spacing_px), col * (3 + spacing_px)
        assert (canvas[top : top + 4, left : left + 3, 0] == piece + 1).all()
    assert (canvas[..., 3] == 255).sum() == grid.num_pieces * 12  # nothing in between


def test_unplaced_pieces_are_left_out():
    canvas = lay(flat_pieces(4), np.array([-1, 3, 0, -1]), Grid(2, 2))
    assert canvas[0, 0].tolist() == [3, 0, 0, 255]
    assert canvas[-1, -1].tolist() == [2, 0, 0, 255]
    assert not canvas[:4, 3:].any()
    assert not canvas[4:, :3].any()


def test_compositing_mixes_by_alpha():
    rgba = np.array([[[200, 0, 100, 255], [200, 0, 100, 0], [200, 0, 100, 51]]], np.uint8)
    mixed = composite(rgba, (100, 100, 100))
    assert mixed.tolist() == [[[200, 0, 100], [100, 100, 100], [120, 80, 100]]]


def test_hand_worked_erosion():
    mask = np.ones((5, 5), bool)
    assert erode(mask, 0).sum() == 25
    assert erode(mask, 1).sum() == 9  # the edge of the array counts as outside
    assert erode(mask, 2).sum() == 1
    assert erode(mask, 3).sum() == 0


@given(st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_erosion_only_takes_away_and_takes_more_with_width(width_px, seed):
    masks = np.random.default_rng(seed).random((2, 9, 8)) < 0.9
    inner = erode(masks, width_px)
    assert not (inner & ~masks).any()
    assert not (erode(masks, width_px + 1) & ~inner).any()
    for mask, eroded in zip(masks, inner, strict=True):
        assert np.array_equal(erode(mask, width_px), eroded)


def test_an_outline_follows_the_mask_and_stays_inside():
    piece = np.zeros((1, 7, 7, 4), np.uint8)
    piece[0, 1:6, 1:6] = (9, 9, 9, 255)
    drawn = outline(piece, [(1, 2, 3)], [1])
    ring = (drawn[0] == (1, 2, 3, 255)).all(axis=-1)
    assert ring.sum() == 16  # the rim of a 5x5 square
    assert ring[1, 1:6].all()
    assert ring[1:6, 1].all()
    assert (drawn[0, 2:5, 2:5] == (9, 9, 9, 255)).all()
    assert not drawn[0, 0].any()  # outside stays transparent
    assert (piece[0, 1, 1] == (9, 9, 9, 255)).all()  # the input is left alone


def test_wrong_pieces_are_orange_and_twice_as_thick():
    drawn = mark(flat_pieces(2, 12, 12), [True, False], width_px=1)
    right = (drawn[0, ..., :3] == RIGHT).all(axis=-1)
    wrong = (drawn[1, ..., :3] == WRONG).all(axis=-1)
    assert right.sum() == 12 * 12 - 10 * 10
    assert wrong.sum() > right.sum()
    assert wrong[1, 3:9].all()
    assert not right[1, 3:9].any()


def test_the_panels_of_a_puzzle():
    truth = np.array([1, 0, 2, 3])
    puzzle = Puzzle(flat_pieces(4, 8, 8), Grid(2, 2), truth)
    shown = panels(puzzle, np.array([1, 0, 3, 2]))
    assert list(shown) == ["shuffled", "solved", "truth"]
    centre_of = {0: (5, 5), 1: (5, 13), 2: (13, 5), 3: (13, 13)}  # with a rim of one
    assert [shown["shuffled"][centre_of[p]][0] for p in range(4)] == [1, 2, 3, 4]
    assert [shown["truth"][centre_of[p]][0] for p in range(4)] == [2, 1, 3, 4]
    assert [shown["solved"][centre_of[p]][0] for p in range(4)] == [2, 1, 4, 3]
    assert shown["solved"][1, 1].tolist() == list(RIGHT)
    assert shown["solved"][9, 1].tolist() == list(WRONG)


def test_panels_without_truth_or_solution():
    puzzle = Puzzle(flat_pieces(4), Grid(2, 2))
    assert list(panels(puzzle, None)) == ["shuffled"]
    solved = panels(puzzle, np.arange(4))
    assert list(solved) == ["shuffled", "solved"]
    assert np.array_equal(solved["shuffled"], solved["solved"])  # nothing is marked


def test_a_board_has_a_rim():
    rgba = np.full((128, 64, 4), 255, np.uint8)
    drawn = board(rgba)
    assert drawn.shape == (132, 68, 3)
    assert (drawn[:2] == BOARD).all()
    assert (drawn[2:-2, 2:-2] == 255).all()


def test_tiles_are_centred_with_margins():
    small, large = np.zeros((2, 2, 3), np.uint8), np.zeros((4, 6, 3), np.uint8)
    page = tile([large, small, small], 2, margin_px=5, spacing_px=3)
    assert page.shape == (5 + 4 + 3 + 4 + 5, 5 + 6 + 3 + 6 + 5, 3)
    black = (page == 0).all(axis=-1)
    assert black.sum() == 24 + 4 + 4
    assert black[5:9, 5:11].all()
    assert black[6:8, 16:18].all()
    assert black[13:15, 7:9].all()
    assert page[0, 0].tolist() == list(PAGE)


def test_fewer_tiles_than_columns_take_no_more_room():
    assert tile([np.zeros((4, 4, 3), np.uint8)], 9, margin_px=1).shape == (6, 6, 3)
    with pytest.raises(InputError):
        tile([], 3)


def test_an_open_layout_shows_empty_cells_and_pieces_aside():
    pieces = np.zeros((3, 48, 48, 4), dtype=np.uint8)
    pieces[..., 3] = 255
    pieces[:, :24, :, 0] = [[[50]], [[100]], [[150]]]  # the upper half of each is red
    laid = lay_all(pieces, np.array([2, -1, 0]), Grid(2, 2), np.array([0, 0, 1]))
    assert laid.shape == (2 * 48 + 12 + 48, 96, 4)
    assert laid[50, 5, 0] == 50  # piece 0 in row 1
    assert laid[90, 5, 0] == 0
    assert laid[40, 5, 0] == 150  # piece 2 turned: what was above lies on the left
    assert laid[40, 40, 0] == 0
    assert laid[0, 48, :3].tolist() == list(EMPTY)  # a frame, and nothing within
    assert laid[10, 60, 3] == 0
    assert laid[2 * 48 + 12 + 1, 5, 0] == 100  # piece 1 below
    assert laid[2 * 48 + 12 + 1, 60, 3] == 0


def test_a_whole_layout_looks_as_ever():
    pieces = np.random.default_rng(0).integers(0, 255, (4, 8, 8, 4), dtype=np.uint8)
    position_of = np.array([2, 0, 3, 1])
    assert np.array_equal(
        lay_all(pieces, position_of, Grid(2, 2)), lay(pieces, position_of, Grid(2, 2))
    )


def test_pieces_that_lie_right_in_cell_turn_and_grid():
    pieces = np.full((3, 8, 8, 4), 255, dtype=np.uint8)
    conditions = Conditions(missing=2, foreign=1, turned=True, hidden=True)
    puzzle = Puzzle(
        pieces, Grid(2, 2), truth=[0, -1, 1], conditions=conditions, true_turns=[1, 2, 3]
    )

    def right(position_of, turns, grid=Grid(2, 2)):  # noqa: B008
        return rightly_laid(puzzle, Layout(position_of, grid=grid, turns=turns)).tolist()

    assert right([0, -1, 1], [1, 0, 3]) == [True, True, True]
    assert right([0, -1, 1], [1, 0, 0]) == [True, True, False]
    assert right([0, 3, 1], [1, 2, 3]) == [True, False, True]
    assert right([0, -1, 1], [1, 0, 3], Grid(1, 4)) == [False, True, False]
    assert rightly_laid(puzzle.without_truth(), Layout([0, -1, 1], grid=Grid(2, 2))) is None
    shown = panels(puzzle, Layout([0, -1, 1], grid=Grid(1, 4), turns=[1, 0, 3]))
    assert set(shown) == {"shuffled", "solved", "truth"}
