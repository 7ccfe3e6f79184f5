"""Records of open puzzles, scored and checked."""

from dataclasses import replace

import numpy as np
import pytest

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.open_facts import OpenFacts
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.evaluation.predicted import score_predictions
from puzzleflow.evaluation.results import CLASSES, Record, Truth, score_records
from puzzleflow.evaluation.worker import checked
from puzzleflow.storage.predictions import Predictions

GRID = Grid(2, 2)
CONDITIONS = Conditions(missing=1, foreign=1, turned=True)
TRUTH = Truth(np.array([0, 1, -1, 2]), GRID, CONDITIONS, np.array([0, 1, 2, 3]))
RIGHT = Record(0, "a", (0, 1, -1, 2), 1.0, open=OpenFacts("2x2", (0, 1, 0, 3), (0.1, 0.1, 0.9, 0)))


def test_open_records_are_scored():
    turned = replace(RIGHT, index=1, open=replace(RIGHT.open, turns=(0, 1, 0, 0)))
    refused = Record(2, "c", None, 1.0, refusal="no")
    results = score_records("x", [RIGHT, turned, refused], [TRUTH] * 3)
    assert results.shares["PA"].tolist() == [1, 0, 0]
    assert results.shares["AA"].tolist() == pytest.approx([1, 2 / 3, 0])
    assert [CLASSES[kind] for kind in results.classes] == ["solved", "local swap", "no answer"]
    added = results.open_estimates()
    assert added["foreign_recall"].value == pytest.approx(200 / 3)
    assert added["foreign_auroc"].value == 100
    assert "perfect" not in added
    closed = score_records("x", [Record(0, "", (0, 1), 1.0)], [Truth(np.arange(2), Grid(1, 2))])
    assert closed.open is None
    assert closed.open_estimates() == {}


def test_records_of_other_puzzles_are_refused():
    with pytest.raises(InputError, match="do not fit"):
        score_records("x", [replace(RIGHT, position_of=(0, 1), open=None)], [TRUTH])


def solution(**changes):
    told = {"position_of": [0, 1, -1, 2], "grid": GRID, "turns": [0, 1, 0, 3]}
    return Solution(**told | {"solver": "x"} | changes)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (Solution([0, 1, 2, 3], "x"), CannotSolve, "closed puzzles only"),
        (solution(turns=None), CannotSolve, "closed puzzles only"),
        (solution(grid=Grid(1, 4)), InputError, "laid a 1x4 grid, not 2x2"),
        (solution(position_of=[0, -1, -1, 2]), InputError, "2 pieces aside and 2 cells empty"),
        (Solution([0, 1], "x", grid=Grid(1, 2)), InputError, "2 positions for 4 pieces"),
    ],
)
def test_answers_that_break_the_rules(answer, error, message):
    puzzle = Puzzle(np.zeros((4, 4, 4, 4), np.uint8), GRID, conditions=CONDITIONS)
    assert checked(solution(), puzzle).grid == GRID
    with pytest.raises(error, match=message):
        checked(answer, puzzle)


def test_a_closed_puzzle_is_laid_whole():
    puzzle = Puzzle(np.zeros((4, 4, 4, 4), np.uint8), GRID)
    assert checked(Solution([0, 1, 3, 2], "x", grid=GRID), puzzle).num_pieces == 4
    for answer in (solution(), Solution([0, 1, 3, 2], "x", grid=Grid(1, 4))):
        with pytest.raises(InputError, match="closed puzzle"):
            checked(answer, puzzle)


def test_open_predictions_are_not_scored_as_closed_ones():
    rows = np.array([[0, -1, 1]])
    told = {"grid": np.array([[1, 2]])}
    with pytest.raises(InputError, match="open puzzles"):
        score_predictions(Predictions(rows, rows, told=told))
