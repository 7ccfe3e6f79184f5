from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.assignment import (
    as_assignment,
    as_assignments,
    as_permutation,
    as_permutations,
    check_pins,
    invert,
    invert_rows,
)
from puzzleflow.core.errors import InputError, NotAPermutation

permutations = st.integers(1, 30).flatmap(lambda n: st.permutations(range(n))).map(np.array)
pairs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*2 * [st.permutations(range(n)).map(np.array)])
)


@given(permutations)
def test_inverting_twice_gives_the_same_back(position_of):
    assert np.array_equal(invert(invert(position_of)), position_of)


@given(permutations)
def test_a_piece_lies_where_the_inverse_finds_it(position_of):
    piece_at = invert(position_of)
    for piece, position in enumerate(position_of):
        assert piece_at[position] == piece


@given(permutations)
def test_composing_with_the_inverse_changes_nothing(position_of):
    identity = np.arange(len(position_of))
    assert np.array_equal(invert(position_of)[position_of], identity)
    assert np.array_equal(position_of[invert(position_of)], identity)


@given(pairs)
def test_rows_are_inverted_one_by_one(pair):
    rows = np.stack(pair)
    assert np.array_equal(invert_rows(rows), np.stack([invert(row) for row in rows]))


@given(st.lists(st.integers(-2, 6), min_size=1, max_size=6))
def test_exactly_the_permutations_pass(values):
    truly = sorted(values) == list(range(len(values)))
    if truly:
        assert as_permutation(values, len(values)).tolist() == values
    else:
        with pytest.raises(NotAPermutation):
            as_permutation(values, len(values))


def test_hand_worked_inverse():
    position_of = np.array([2, 0, 1])  # piece 0 lies at 2, piece 1 at 0, piece 2 at 1
    assert invert(position_of).tolist() == [1, 2, 0]


def test_an_assignment_may_collide_but_stays_in_range():
    assert as_assignment([1, 1, 0], 3).tolist() == [1, 1, 0]
    with pytest.raises(NotAPermutation, match=r"piece 1 has position 3, outside 0\.\.2"):
        as_assignment([0, 3, 1], 3)
    with pytest.raises(NotAPermutation, match="piece 0 has position -1"):
        as_assignment([-1, 0], 2)


def test_a_collision_names_both_pieces():
    with pytest.raises(NotAPermutation, match="position 1 used by pieces 0 and 2"):
        as_permutation([1, 0, 1], 3)


def test_a_set_names_the_puzzle_that_is_wrong():
    with pytest.raises(NotAPermutation, match="puzzle 1: position 0 used by pieces 0 and 1"):
        as_permutations([[0, 1], [0, 0]], 2)
    with pytest.raises(NotAPermutation, match="puzzle 2: piece 0 has position 5"):
        as_assignments([[0, 1], [1, 1], [5, 0]], 2)


@pytest.mark.parametrize(
    "values",
    [
        [0, 1],
        [[0, 1, 2]],
        0,
        [0.0, 1.5, 2.0],
        [0, np.nan, 1],
        [True, False, True],
        ["a", "b", "c"],
        [],
    ],
)
def test_what_is_no_row_of_three_whole_numbers_is_refused(values):
    with pytest.raises(NotAPermutation):
        as_permutation(values, 3)


@pytest.mark.parametrize("values", [[[0, 1], [0]], [[0, 1, 2]], [0, 1], [[0.0, 1e300]]])
def test_what_is_no_table_of_two_whole_numbers_is_refused(values):
    with pytest.raises(NotAPermutation):
        as_permutations(values, 2)


def test_floats_that_are_whole_are_taken_for_what_they_mean():
    checked = as_permutations(np.array([[2.0, 0.0, 1.0]], np.float32), 3)
    assert checked.dtype == np.int64
    assert checked.tolist() == [[2, 0, 1]]


def test_the_result_is_a_copy_of_its_own():
    given_array = np.array([1, 0], dtype=np.uint8)
    checked = as_permutation(given_array, 2)
    assert checked.dtype == np.int64
    checked[0] = 0
    assert given_array.tolist() == [1, 0]


def test_floats_and_tables_are_no_permutation():
    for values in ([0.0, 1.0], [[0, 1]]):
        with pytest.raises(NotAPermutation):
            as_permutation(values, 2)


def test_pins_are_checked():
    assert check_pins(None, 4) == {}
    assert check_pins({np.int64(1): 3, 0: np.int32(2)}, 4) == {1: 3, 0: 2}
    with pytest.raises(InputError, match="pin 4→0 lies outside"):
        check_pins({4: 0}, 4)
    with pytest.raises(InputError, match="pin 0→-1 lies outside"):
        check_pins({0: -1}, 4)
    with pytest.raises(NotAPermutation, match="same position"):
        check_pins({0: 1, 2: 1}, 4)
    with pytest.raises(InputError, match="whole numbers"):
        check_pins({"left": 1}, 4)  # type: ignore[dict-item]
