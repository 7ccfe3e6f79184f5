from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import Failure, classify, cyclic_offsets

FIVE = Grid(5, 5)
grids = st.builds(Grid, st.integers(1, 5), st.integers(1, 5))


def rolled(grid, rows, cols):
    """put_at of the picture rolled by so many rows and columns."""
    row, col = grid.coordinates.T
    return (row + rows) % grid.rows * grid.cols + (col + cols) % grid.cols


def exchanged(put_at, *positions):
    """The same layout with the pieces of these positions passed round."""
    put_at = put_at.copy()
    put_at[list(positions)] = np.roll(put_at[list(positions)], 1)
    return put_at


def kind(put_at, grid):
    return Failure(int(classify(np.asarray(put_at)[None], grid)[0]))


@given(grids, st.integers(0, 4), st.integers(0, 4))
def test_rolled_pictures_are_exact_shifts(grid, rows, cols):
    still = rows % grid.rows == 0 and cols % grid.cols == 0
    expected = Failure.SOLVED if still else Failure.EXACT_SHIFT
    assert kind(rolled(grid, rows, cols), grid) == expected


@given(grids, st.integers(0, 4), st.integers(0, 4))
def test_offsets_of_a_rolled_picture_are_all_the_roll(grid, rows, cols):
    offsets = cyclic_offsets(rolled(grid, rows, cols)[None], grid)
    assert np.unique(offsets).tolist() == [grid.position(rows % grid.rows, cols % grid.cols)]


@given(grids.flatmap(lambda g: st.tuples(st.just(g), st.permutations(range(g.num_pieces)))))
def test_only_the_truth_is_solved(case):
    grid, put_at = case
    assert (kind(put_at, grid) == Failure.SOLVED) == (list(put_at) == sorted(put_at))


@given(st.integers(0, 4), st.integers(0, 4), st.permutations(range(25)))
def test_two_pieces_exchanged_make_it_near(rows, cols, order):
    put_at = exchanged(rolled(FIVE, rows, cols), order[0], order[1])
    assert kind(put_at, FIVE) == (Failure.NEAR_SHIFT if rows or cols else Failure.LOCAL_SWAP)


@pytest.mark.parametrize(
    ("passed_round", "expected"),
    [(2, Failure.LOCAL_SWAP), (8, Failure.LOCAL_SWAP), (9, Failure.LOST), (25, Failure.LOST)],
)
def test_two_thirds_of_25_are_17(passed_round, expected):
    # passing round i, 7i, ... keeps the wrong offsets scattered
    positions = [7 * i % 25 for i in range(passed_round)]
    rng = np.random.default_rng(0)
    put_at = np.arange(25)
    while True:
        put_at[positions] = rng.permutation(positions)
        if (put_at != np.arange(25)).sum() == passed_round:
            break
    assert kind(put_at, FIVE) == expected


def test_hand_worked_three_by_three():
    grid = Grid(3, 3)
    assert kind([0, 1, 2, 3, 4, 5, 7, 8, 6], grid) == Failure.LOCAL_SWAP  # a row of three turned
    assert kind([1, 2, 0, 4, 5, 3, 7, 8, 6], grid) == Failure.EXACT_SHIFT
    # the left and middle columns moved right whole, the last came in upside down
    assert kind([1, 2, 6, 4, 5, 3, 7, 8, 0], grid) == Failure.NEAR_SHIFT
    assert kind([8, 7, 6, 5, 4, 3, 2, 1, 0], grid) == Failure.LOST


def test_small_grids():
    assert kind([0], Grid(1, 1)) == Failure.SOLVED
    assert kind([1, 0], Grid(1, 2)) == Failure.EXACT_SHIFT
    assert kind([1, 0, 2, 3], Grid(2, 2)) == Failure.LOCAL_SWAP


def test_pieces_heaped_on_one_cell_are_lost():
    assert kind([4] * 9, Grid(3, 3)) == Failure.LOST


def test_labels():
    assert [failure.label for failure in Failure] == [
        "solved",
        "local swap",
        "exact shift",
        "near shift",
        "lost",
    ]
