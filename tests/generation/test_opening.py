"""Closed puzzles made open."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, turned_pieces
from puzzleflow.core.rng import child_rng
from puzzleflow.generation.builder import opened

GRID = Grid(2, 3)


def closed(seed=0):
    """Every piece is known by its pixels."""
    rng = child_rng(seed, "opening")
    rgba = rng.integers(0, 255, size=(6, 4, 4, 4), dtype=np.uint8)
    return Puzzle(rgba, GRID, truth=rng.permutation(6), puzzle_id=str(seed))


@given(st.integers(0, 3), st.integers(0, 5), st.booleans(), st.booleans(), st.integers(0, 99))
def test_what_is_left_is_what_it_was(missing, foreign, turned, hidden, seed):
    conditions = Conditions(missing, foreign, turned, hidden)
    whole, stranger = closed(), closed(1)
    puzzle = opened(whole, conditions, seed, [stranger])
    assert puzzle.conditions == conditions
    assert puzzle.num_pieces == 6 - missing + foreign
    assert np.count_nonzero(puzzle.truth < 0) == foreign
    assert (puzzle.true_turns is not None) == turned
    upright = turned_pieces(puzzle.pieces, puzzle.true_turns) if turned else puzzle.pieces
    for piece, position in zip(upright, puzzle.truth, strict=True):
        if position < 0:
            assert (stranger.pieces == piece).all((1, 2, 3)).any()
        else:
            mine = int(np.flatnonzero(whole.truth == position)[0])
            assert np.array_equal(piece, whole.pieces[mine])


def test_the_same_seed_gives_the_same_puzzle():
    conditions = Conditions(1, 1, True, True)
    one, again, other = (opened(closed(), conditions, seed, [closed(1)]) for seed in (3, 3, 4))
    assert np.array_equal(one.pieces, again.pieces)
    assert np.array_equal(one.truth, again.truth)
    assert not np.array_equal(one.pieces, other.pieces)


def test_what_cannot_be_opened():
    with pytest.raises(InputError, match="truth is known"):
        opened(closed().without_truth(), CLOSED, 0)
    twice = opened(closed(), Conditions(missing=1), 0)
    with pytest.raises(InputError, match="closed puzzle"):
        opened(twice, Conditions(missing=1), 0)
    with pytest.raises(InputError, match="6 strangers for 7 foreign pieces"):
        opened(closed(), Conditions(foreign=7), 0, [closed(1)])
