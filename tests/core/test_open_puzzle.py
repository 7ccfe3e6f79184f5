"""Puzzles and solutions of the open world; those of the closed one are in test_puzzle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.assignment import as_permutation, as_placement, as_turns, check_pins
from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import CannotSolve, FormatError, InputError, NotAGrid, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Puzzle, Solution, turned_pieces

GRID = Grid(2, 2)


def pieces(n, px=3):
    rgba = np.zeros((n, px, px, 4), dtype=np.uint8)
    rgba[..., 0] = np.arange(px * px).reshape(px, px)
    rgba[..., 1] = np.arange(n)[:, None, None]
    rgba[..., 3] = 255
    return rgba


# --- placements -------------------------------------------------------------


def test_a_placement_leaves_pieces_aside_and_cells_empty():
    placed = as_placement([3, -1, 0], 3, 4)
    assert placed.tolist() == [3, -1, 0]
    assert placed.dtype == np.int64


@pytest.mark.parametrize(
    ("position_of", "message"),
    [
        ([0, 1], "expected 3 positions"),
        ([0, 1, 4], "piece 2 has position 4, outside 0..3"),
        ([0, -2, 1], "piece 1 has position -2"),
        ([2, -1, 2], "position 2 is used by two pieces"),
        ([0.0, 1.5, 2.0], "whole numbers"),
    ],
)
def test_what_is_no_placement(position_of, message):
    with pytest.raises(NotAPermutation, match=message):
        as_placement(position_of, 3, 4)


@given(st.permutations(range(6)))
def test_every_permutation_is_a_placement(order):
    assert np.array_equal(as_placement(order, 6, 6), as_permutation(order, 6))


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_placements_use_no_cell_twice(num_pieces, num_cells, data):
    position_of = data.draw(
        st.lists(st.integers(-1, num_cells - 1), min_size=num_pieces, max_size=num_pieces)
    )
    laid = [position for position in position_of if position >= 0]
    if len(set(laid)) == len(laid):
        assert as_placement(position_of, num_pieces, num_cells).tolist() == position_of
    else:
        with pytest.raises(NotAPermutation):
            as_placement(position_of, num_pieces, num_cells)


@pytest.mark.parametrize("turns", [[0, 4], [0, -1], [0], [0, 1, 2], [[0, 1]], [0.5, 1.0]])
def test_what_are_no_turns(turns):
    with pytest.raises(NotAPermutation):
        as_turns(turns, 2)


def test_pins_may_name_more_cells_than_there_are_pieces():
    assert check_pins({0: 8}, 3, 9) == {0: 8}
    with pytest.raises(InputError):
        check_pins({0: 9}, 3, 9)
    with pytest.raises(InputError):
        check_pins({3: 0}, 3, 9)


# --- turning ----------------------------------------------------------------


def test_turns_go_against_the_clock():
    piece = np.zeros((1, 2, 2, 4), np.uint8)
    piece[0, 0, 1, 0] = 9  # top right goes to top left
    assert turned_pieces(piece, np.array([1]))[0, 0, 0, 0] == 9
    assert turned_pieces(piece, np.array([0])) is piece


@given(st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_turning_back_changes_nothing(turns):
    turns = np.array(turns)
    there = turned_pieces(pieces(5), turns)
    assert np.array_equal(turned_pieces(there, -turns % 4), pieces(5))


# --- puzzles ----------------------------------------------------------------


def test_a_puzzle_with_a_piece_missing_and_one_foreign():
    conditions = Conditions(missing=2, foreign=1)
    puzzle = Puzzle(pieces(3), GRID, truth=[2, -1, 0], conditions=conditions)
    assert puzzle.truth.tolist() == [2, -1, 0]
    assert not puzzle.is_closed
    assert puzzle.grid == GRID
    with pytest.raises(CannotSolve, match="every piece"):
        _ = puzzle.closed_grid


def test_a_closed_puzzle_is_closed():
    puzzle = Puzzle(pieces(4), GRID, truth=[3, 2, 1, 0])
    assert puzzle.is_closed
    assert puzzle.closed_grid == GRID
    with pytest.raises(NotAPermutation):
        Puzzle(pieces(4), GRID, truth=[3, 2, 1, -1])


def test_nobody_may_know_the_grid():
    puzzle = Puzzle(pieces(4), None)
    assert not puzzle.is_closed
    for ask in ("grid", "closed_grid"):
        with pytest.raises(CannotSolve, match="not known"):
            getattr(puzzle, ask)


def test_solvers_see_neither_truth_nor_a_hidden_grid():
    conditions = Conditions(turned=True, hidden=True)
    puzzle = Puzzle(
        pieces(4), GRID, truth=[0, 1, 2, 3], conditions=conditions, true_turns=[0, 1, 2, 3]
    )
    seen = puzzle.without_truth()
    assert (seen.truth, seen.true_turns, seen.known_grid) == (None, None, None)
    assert seen.conditions == conditions
    told = Puzzle(pieces(4), GRID, conditions=Conditions(turned=True)).without_truth()
    assert told.grid == GRID


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"known_grid": Grid(3, 3)}, NotAGrid, "4 pieces do not fill a 3x3 grid"),
        ({"known_grid": None, "truth": [0, 1, -1, 3]}, NotAGrid, "needs its grid"),
        ({"truth": [0, 1, 1, 3]}, NotAPermutation, "position 1 is used by two"),
        ({"truth": [0, 1, 4, 3]}, NotAPermutation, "position 4"),
        ({"true_turns": [0, 1, 2, 4]}, NotAPermutation, "quarter turns"),
        ({"true_turns": [0, 1, 2]}, NotAPermutation, "quarter turns"),
    ],
)
def test_what_no_puzzle_can_be(changes, error, message):
    conditions = Conditions(missing=1, foreign=1, turned=True)
    with pytest.raises(error, match=message):
        Puzzle(pieces(4), **{"known_grid": GRID, "conditions": conditions} | changes)


def test_turned_pieces_are_square():
    with pytest.raises(FormatError, match="square"):
        Puzzle(pieces(4)[:, :2], GRID, conditions=Conditions(turned=True))


# --- solutions --------------------------------------------------------------


def test_a_solution_that_leaves_a_cell_empty():
    solution = Solution([3, -1, 0], "x", grid=GRID, turns=[0, 0, 3])
    assert solution.piece_at.tolist() == [2, -1, -1, 0]
    assert solution.turns.tolist() == [0, 0, 3]


def test_without_a_grid_a_solution_is_a_permutation():
    assert Solution([1, 0], "x").piece_at.tolist() == [1, 0]
    for made in (lambda: Solution([1, -1], "x"), lambda: Layout([1, -1])):
        with pytest.raises(NotAPermutation):
            made()


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"position_of": [0, 0, 1]}, NotAPermutation),
        ({"position_of": [0, 1, 4]}, NotAPermutation),
        ({"turns": [0, 1]}, NotAPermutation),
        ({"confidence": np.ones(4)}, FormatError),
        ({"aside_prob": np.ones(2)}, FormatError),
        ({"position_prob": np.ones((3, 3))}, FormatError),
    ],
)
def test_what_no_solution_can_say(facts, error):
    told = {"position_of": [3, -1, 0], "grid": GRID, "solver": "x"}
    Solution(**told, position_prob=np.ones((3, 4)), aside_prob=np.ones(3))
    with pytest.raises(error):
        Solution(**told | facts)


@given(st.integers(1, 7), st.randoms(use_true_random=False))
def test_piece_at_turns_position_of_around(num_pieces, random):
    grid = Grid(2, 3)
    cells = random.sample(range(-6, 6), num_pieces)
    position_of = np.array([max(cell, -1) for cell in cells])
    piece_at = Solution(position_of, "x", grid=grid).piece_at
    for piece, position in enumerate(position_of):
        assert position < 0 or piece_at[position] == piece
    assert np.count_nonzero(piece_at >= 0) == np.count_nonzero(position_of >= 0)
