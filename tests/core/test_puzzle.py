from __future__ import annotations

import pickle

import numpy as np
import pytest

from puzzleflow.core.errors import FormatError, NotAGrid, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Puzzle, Solution


def pieces(n=4, height=5, width=3):
    return np.zeros((n, height, width, 4), dtype=np.uint8)


def test_a_puzzle_knows_its_size_and_masks():
    rgba = pieces()
    rgba[1, 2, 1, 3] = 255
    puzzle = Puzzle(rgba, Grid(2, 2), truth=[3, 2, 1, 0], names=["a", "b", "c", "d"])
    assert puzzle.num_pieces == 4
    assert puzzle.piece_px == (5, 3)
    assert puzzle.masks.sum() == 1
    assert puzzle.masks[1, 2, 1]
    assert puzzle.truth.tolist() == [3, 2, 1, 0]
    assert puzzle.names == ("a", "b", "c", "d")


def test_a_puzzle_cannot_be_changed_but_its_input_can():
    rgba, truth = pieces(), np.arange(4)
    puzzle = Puzzle(rgba, Grid(2, 2), truth)
    with pytest.raises(ValueError, match="read-only"):
        puzzle.pieces[0, 0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        puzzle.truth[0] = 1
    rgba[0] = 1
    truth[0] = 1


def test_without_truth():
    puzzle = Puzzle(pieces(), Grid(2, 2), np.arange(4), names=tuple("abcd"), puzzle_id="x")
    blind = puzzle.without_truth()
    assert blind.truth is None
    assert (blind.names, blind.puzzle_id) == (puzzle.names, "x")


def test_a_puzzle_travels_to_other_processes():
    puzzle = Puzzle(pieces(), Grid(2, 2), np.arange(4))
    copy = pickle.loads(pickle.dumps(puzzle))
    assert np.array_equal(copy.pieces, puzzle.pieces)
    assert copy.grid == puzzle.grid


@pytest.mark.parametrize(
    ("rgba", "message"),
    [
        (pieces().astype(np.float32), "uint8, not float32"),
        ([[1]], "uint8, not"),
        (pieces()[..., :3], "shape"),
        (pieces()[0], "shape"),
        (np.zeros((4, 0, 3, 4), np.uint8), "shape"),
    ],
)
def test_arrays_that_are_no_pieces(rgba, message):
    with pytest.raises(FormatError, match=message):
        Puzzle(rgba, Grid(2, 2))


def test_pieces_must_fill_the_grid():
    with pytest.raises(NotAGrid, match="4 pieces do not fill a 2x3 grid"):
        Puzzle(pieces(), Grid(2, 3))


def test_truth_must_be_a_permutation():
    with pytest.raises(NotAPermutation):
        Puzzle(pieces(), Grid(2, 2), truth=[0, 0, 1, 2])


def test_every_piece_needs_a_name_if_any_has_one():
    with pytest.raises(FormatError, match="3 names for 4 pieces"):
        Puzzle(pieces(), Grid(2, 2), names=tuple("abc"))


def test_a_solution_knows_both_directions():
    solution = Solution(position_of=[2, 0, 1], solver="hand")
    assert solution.piece_at.tolist() == [1, 2, 0]
    assert solution.num_pieces == 3


@pytest.mark.parametrize("position_of", [[0, 0], [1, 2], [[0, 1]], 0.5])
def test_a_solution_is_a_permutation(position_of):
    with pytest.raises(NotAPermutation):
        Solution(position_of=position_of, solver="hand")
    with pytest.raises(NotAPermutation):
        Layout(position_of)


@pytest.mark.parametrize("extra", [{"confidence": np.ones(3)}, {"position_prob": np.ones((2, 3))}])
def test_what_a_solution_says_of_its_pieces_fits_their_number(extra):
    with pytest.raises(FormatError, match="must have shape"):
        Solution(position_of=[1, 0], solver="hand", **extra)


def test_a_trace_may_collide_on_the_way():
    solution = Solution(position_of=[1, 0], solver="hand", trace=[[0, 0], [1, 0]])
    assert solution.trace.tolist() == [[0, 0], [1, 0]]
    with pytest.raises(NotAPermutation):
        Solution(position_of=[1, 0], solver="hand", trace=[[0, 2]])
