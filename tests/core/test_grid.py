from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import NotAGrid
from puzzleflow.core.grid import Direction, Grid

grids = st.builds(Grid, st.integers(1, 9), st.integers(1, 9))


@given(grids)
def test_text_and_back(grid):
    assert Grid.parse(str(grid)) == grid


@given(grids)
def test_positions_and_cells_agree(grid):
    for position, (row, col) in enumerate(grid.coordinates.tolist()):
        assert grid.cell(position) == (row, col)
        assert grid.position(row, col) == position


@given(grids, st.sampled_from(Direction))
def test_neighbours_lie_one_step_in_their_direction(grid, direction):
    pairs = grid.neighbours(direction)
    steps = grid.coordinates[pairs[:, 1]] - grid.coordinates[pairs[:, 0]]
    assert (steps == direction.step).all()
    rows, cols = direction.step
    assert len(pairs) == (grid.rows - abs(rows)) * (grid.cols - abs(cols))


@given(grids, st.sampled_from(Direction))
def test_a_cell_has_a_neighbour_or_lies_on_the_frame(grid, direction):
    inner = grid.neighbours(direction)[:, 0]
    frame = grid.on_frame(direction)
    assert sorted([*inner, *frame]) == list(range(grid.num_pieces))


@given(grids, st.sampled_from(Direction))
def test_the_opposite_direction_holds_the_turned_pairs(grid, direction):
    forth = {tuple(pair) for pair in grid.neighbours(direction).tolist()}
    back = {(b, a) for a, b in grid.neighbours(direction.opposite).tolist()}
    assert forth == back


@given(st.integers(1, 200))
def test_factorisations_are_all_grids_of_that_many_cells(num_pieces):
    found = Grid.factorisations(num_pieces)
    assert all(grid.num_pieces == num_pieces for grid in found)
    divisors = [d for d in range(1, num_pieces + 1) if num_pieces % d == 0]
    assert sorted(grid.rows for grid in found) == divisors
    uneven = [abs(grid.rows - grid.cols) for grid in found]
    assert uneven == sorted(uneven)


def test_hand_worked_two_by_three():
    grid = Grid(2, 3)  # 0 1 2 / 3 4 5
    assert grid.neighbours(Direction.RIGHT).tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]
    assert grid.neighbours(Direction.DOWN).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert grid.neighbours(Direction.LEFT).tolist() == [[1, 0], [2, 1], [4, 3], [5, 4]]
    assert grid.neighbours(Direction.UP).tolist() == [[3, 0], [4, 1], [5, 2]]
    assert grid.on_frame(Direction.LEFT).tolist() == [0, 3]
    assert grid.on_frame(Direction.DOWN).tolist() == [3, 4, 5]
    assert Grid.factorisations(6)[:2] == [Grid(2, 3), Grid(3, 2)]


def test_one_cell_has_no_neighbours():
    assert all(Grid(1, 1).neighbours(direction).shape == (0, 2) for direction in Direction)


def test_cached_neighbours_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        Grid(2, 2).neighbours(Direction.RIGHT)[0, 0] = 9


@pytest.mark.parametrize(
    ("text", "grid"),
    [("3", Grid(3, 3)), ("3x5", Grid(3, 5)), (" 2 X 4 ", Grid(2, 4)), ("7×1", Grid(7, 1))],
)
def test_grids_that_people_write(text, grid):
    assert Grid.parse(text) == grid


@pytest.mark.parametrize("text", ["", "x", "3x", "x3", "0x3", "3x0", "-1x2", "3x3x3", "a", "99999"])
def test_texts_that_are_no_grid(text):
    with pytest.raises(NotAGrid):
        Grid.parse(text)


@pytest.mark.parametrize("num_pieces", [-4, 0, 2, 8, 24, 10**18 + 1])
def test_numbers_that_fill_no_square(num_pieces):
    with pytest.raises(NotAGrid):
        Grid.square(num_pieces)


def test_squares():
    assert [Grid.square(n).rows for n in (1, 9, 25, 10**18)] == [1, 3, 5, 10**9]


def test_no_pieces_have_no_grid():
    with pytest.raises(NotAGrid):
        Grid.factorisations(0)


@pytest.mark.parametrize("rows", [2.0, "2", None])
def test_rows_are_whole_numbers(rows):
    with pytest.raises(NotAGrid, match="whole numbers"):
        Grid(rows, 2)


def test_numpy_sizes_become_plain():
    grid = Grid(np.int32(2), np.int64(3))  # type: ignore[arg-type]
    assert grid == Grid(2, 3)
    assert type(grid.rows) is int


def test_turned_against_the_clock() -> None:
    grid = Grid(2, 3)  # 0 1 2    turned once:  2 5
    #                    3 4 5                  1 4
    #                                           0 3
    assert grid.turned(1) == Grid(3, 2)
    assert grid.turned_position(np.arange(6), 1).tolist() == [4, 2, 0, 5, 3, 1]
    assert grid.turned_position(np.array([1]), 2).tolist() == [4]
    assert grid.turned_position(np.arange(6), 4).tolist() == list(range(6))
