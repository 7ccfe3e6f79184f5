"""What may be amiss with a puzzle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import InputError, NotAGrid
from puzzleflow.core.grid import Grid

GRID = Grid(3, 3)


def test_nothing_is_amiss_by_default():
    assert Conditions() == CLOSED
    assert CLOSED.is_closed
    assert CLOSED.is_complete


@pytest.mark.parametrize(
    ("conditions", "complete"),
    [
        (Conditions(missing=1), False),
        (Conditions(foreign=1), False),
        (Conditions(turned=True), True),
        (Conditions(hidden=True), True),
    ],
)
def test_each_condition_opens_the_world(conditions, complete):
    assert not conditions.is_closed
    assert conditions.is_complete is complete


@pytest.mark.parametrize("name", ["missing", "foreign"])
def test_negative_numbers_are_refused(name):
    with pytest.raises(InputError, match=f"-1 pieces {name}"):
        Conditions(**{name: -1})


@pytest.mark.parametrize(
    ("conditions", "allowed"),
    [
        (CLOSED, [9]),
        (Conditions(missing=2), [7, 8, 9]),
        (Conditions(foreign=1), [9, 10]),
        (Conditions(missing=1, foreign=2), [8, 9, 10, 11]),
        (Conditions(turned=True, hidden=True), [9]),
    ],
)
def test_numbers_of_pieces_that_fit_a_grid(conditions, allowed):
    for num_pieces in range(5, 14):
        if num_pieces in allowed:
            conditions.check(num_pieces, GRID)
        else:
            with pytest.raises(NotAGrid, match=f"{num_pieces} pieces do not fill a 3x3 grid"):
                conditions.check(num_pieces, GRID)


def test_the_refusal_names_what_was_allowed():
    with pytest.raises(NotAGrid, match="even with 1 missing and 0 foreign"):
        Conditions(missing=1).check(7, GRID)
    with pytest.raises(NotAGrid, match=r"grid$"):
        CLOSED.check(8, GRID)


def test_grids_of_five_pieces():
    assert set(CLOSED.grids(5)) == {Grid(1, 5), Grid(5, 1)}
    assert Grid(2, 3) in Conditions(missing=1).grids(5)
    assert Grid(2, 2) in Conditions(foreign=1).grids(5)
    assert Grid(2, 2) not in Conditions(missing=1).grids(5)


@given(st.integers(1, 12), st.integers(0, 3), st.integers(0, 3))
def test_grids_are_those_that_pass_the_check(num_pieces, missing, foreign):
    conditions = Conditions(missing=missing, foreign=foreign)
    found = conditions.grids(num_pieces)
    assert len(set(found)) == len(found)
    for rows in range(1, 16):
        for cols in range(1, 16):
            try:
                conditions.check(num_pieces, Grid(rows, cols))
            except NotAGrid:
                assert Grid(rows, cols) not in found
            else:
                assert Grid(rows, cols) in found
