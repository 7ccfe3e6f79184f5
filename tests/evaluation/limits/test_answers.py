from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.evaluation.journal import Record
from puzzleflow.evaluation.limits.answers import (
    piece_answers,
    puzzle_answers,
    seam_answers,
    seams_right,
)
from puzzleflow.evaluation.results import Truth

GRID = Grid(2, 2)
TRUTHS = [Truth(np.array([0, 1, 2, 3]), GRID), Truth(np.array([3, 1, 0, 2]), GRID)]


def record(index: int, position_of: tuple[int, ...] | None, **claims: object) -> Record:
    return Record(index, "", position_of, 0.1, **claims)  # type: ignore[arg-type]


def test_seams_by_hand() -> None:
    # truth:  a b    laid:  b a
    #         c d           c d
    # rows: b-a is no true seam, c-d is; columns: b above c is none, a above d is none
    right = seams_right(np.array([1, 0, 2, 3]), np.array([0, 1, 2, 3]), GRID)
    assert right.tolist() == [False, True, False, False]


def test_a_seam_does_not_run_round_the_edge() -> None:
    # rolled by one column: b a / d c has no true seam to the right, both downwards are
    right = seams_right(np.array([1, 0, 3, 2]), np.array([0, 1, 2, 3]), GRID)
    assert right.tolist() == [False, False, True, True]


@given(rows=st.integers(1, 4), cols=st.integers(1, 4), data=st.data())
def test_right_seams_are_preserved_relations(rows: int, cols: int, data: st.DataObject) -> None:
    grid = Grid(rows, cols)
    order = st.permutations(range(grid.num_pieces))
    laid, truth = np.array(data.draw(order)), np.array(data.draw(order))
    scores = score(laid, truth, grid)
    preserved = scores.right_preserved[0] + scores.down_preserved[0]
    assert seams_right(laid, truth, grid).sum() == preserved


def test_pieces_of_answered_puzzles_in_a_row() -> None:
    records = [
        record(0, (0, 1, 3, 2), confidence=(0.9, 0.8, 0.3, 0.2)),
        record(1, (3, 1, 0, 2), confidence=(1.0, 1.0, 1.0, 0.5)),
    ]
    answers = piece_answers(records, TRUTHS)
    assert answers is not None
    assert answers.right.tolist() == [True, True, False, False, True, True, True, True]
    assert answers.confidence[3] == 0.2
    assert answers.puzzle.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert answers.num_puzzles == 2


def test_a_piece_that_is_given_away_is_no_answer() -> None:
    truths = [Truth(np.array([0, 1, 2, 3]), GRID, given=(2,))]
    answers = piece_answers([record(0, (0, 1, 2, 3), confidence=(0.1, 0.2, 0.3, 0.4))], truths)
    assert answers is not None
    assert answers.confidence.tolist() == [0.1, 0.2, 0.4]


def test_a_puzzle_is_as_sure_as_its_least_sure_piece() -> None:
    records = [
        record(0, (0, 1, 3, 2), confidence=(0.9, 0.8, 0.3, 0.2)),
        record(1, (3, 1, 0, 2), confidence=(1.0, 1.0, 1.0, 0.5)),
    ]
    answers = puzzle_answers(records, TRUTHS)
    assert answers is not None
    assert answers.confidence.tolist() == [0.2, 0.5]
    assert answers.right.tolist() == [False, True]


def test_puzzles_without_answer_or_confidence_are_left_out() -> None:
    records = [record(0, None, refusal="no"), record(1, (3, 1, 0, 2))]
    for collect in (piece_answers, seam_answers, puzzle_answers):
        assert collect(records, TRUTHS) is None
    sure = record(1, (3, 1, 0, 2), confidence=(1.0, 1.0, 1.0, 1.0))
    answers = piece_answers([records[0], sure], TRUTHS)
    assert answers is not None
    assert len(answers) == 4
    assert answers.num_puzzles == 1


def test_too_few_seams() -> None:
    with pytest.raises(InputError, match="puzzle 0: 3 confidences for the 4 seams of a 2x2"):
        seam_answers([record(0, (0, 1, 2, 3), seams=(1.0, 1.0, 1.0))], TRUTHS)
