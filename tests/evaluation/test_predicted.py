from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.evaluation.predicted import (
    better_turned,
    layout_of,
    result_record,
    score_predictions,
)
from puzzleflow.storage.layout import SavedLayout
from puzzleflow.storage.predictions import Predictions
from puzzleflow.storage.source import PuzzleSource

TRUTH = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]])


class Held(PuzzleSource):
    """Puzzles that are nowhere but here."""

    kind = "held"

    def __init__(self, truth=TRUTH, grid=Grid(2, 2), pins=()):  # noqa: B008
        super().__init__(Path("held"))
        self.truth, self._grid, self._pins = truth, grid, pins

    @classmethod
    def recognise(cls, path):
        return False

    @property
    def grid(self):
        return self._grid

    @property
    def has_truth(self):
        return self.truth is not None

    def truths(self):
        return None if self._grid is None else self.truth

    def __len__(self):
        return 3

    def read(self, index):
        raise AssertionError("scoring needs no pixels")

    def pins(self, index):
        return self._pins[index] if self._pins else {}


def test_scored_against_a_source():
    scores = score_predictions(Predictions(TRUTH[[0, 1, 0]]), Held())
    assert scores.correct.tolist() == [4, 4, 0]


def test_scored_against_their_own_targets():
    predictions = Predictions(TRUTH[[0, 1, 0]], targets=TRUTH)
    assert score_predictions(predictions).perfect_accuracy == pytest.approx(2 / 3)
    assert score_predictions(predictions, grid=Grid(1, 4)).grid == Grid(1, 4)


def test_given_pieces_do_not_count_unless_asked():
    pins = [{0: 0}, {3: 0}, {1: 0, 2: 3}]  # position 0 is given in all, position 3 in one
    predictions = Predictions(TRUTH[[0, 1, 0]])
    assert score_predictions(predictions, Held(pins=pins)).num_counted == 3
    assert score_predictions(predictions, Held(pins=pins), count_given=True).num_counted == 4


@pytest.mark.parametrize(
    ("predictions", "source", "message"),
    [
        (Predictions(TRUTH), None, "no targets"),
        (Predictions(TRUTH), Held(truth=None), "truth is not known"),
        (Predictions(TRUTH), Held(grid=None), "differ in grid"),
        (Predictions(TRUTH[:2]), Held(), "2 predictions of 4 pieces, but held holds 3 puzzles"),
        (Predictions(np.tile(np.arange(9), (3, 1))), Held(), "predictions of 9 pieces"),
        (Predictions(TRUTH, targets=TRUTH[::-1]), Held(), "made for other puzzles"),
    ],
)
def test_what_does_not_fit_is_said(predictions, source, message):
    with pytest.raises(InputError, match=message):
        score_predictions(predictions, source)


def test_the_record_extends_the_official_result():
    scores = score_predictions(Predictions(TRUTH[[0, 1, 0]]), Held())
    record = result_record(scores)
    assert list(record) == [
        "dataset_info",
        "metrics",
        "detailed_stats",
        "legacy_format",
        "puzzleflow",
    ]
    assert record["legacy_format"]["per_sample_perfect"].tolist() == [True, True, False]
    assert record["legacy_format"]["perfect_rate"] == pytest.approx(2 / 3)
    perfect = record["puzzleflow"]["metrics"]["perfect"]
    assert perfect["percent"] == pytest.approx(record["metrics"]["perfect_accuracy"])
    assert perfect["interval_95"] == [0.0, 100.0]
    assert sum(record["puzzleflow"]["failures"].values()) == 3
    assert json.dumps(record["puzzleflow"])


def test_a_layout_finds_its_pieces_by_name():
    pieces = np.zeros((4, 2, 2, 4), np.uint8)
    saved = SavedLayout(np.array([3, 2, 1, -1]), Grid(2, 2), ("a", "b", "c", "d"))
    renamed = Puzzle(pieces, Grid(2, 2), names=("d", "c", "b", "a"))
    assert layout_of(saved, renamed).tolist() == [-1, 1, 2, 3]
    same = Puzzle(pieces, Grid(2, 2), names=("a", "b", "c", "d"), puzzle_id="renamed folder")
    assert layout_of(replace(saved, puzzle_id="folder"), same).tolist() == [3, 2, 1, -1]
    for foreign in (("e", "f", "g", "h"), ("a", "b", "c", "c"), None):
        with pytest.raises(InputError, match="none here is called"):
            layout_of(saved, Puzzle(pieces, Grid(2, 2), names=foreign))
    with pytest.raises(InputError, match="2x2 grid does not fit a 1x4 puzzle"):
        layout_of(saved, Puzzle(pieces, Grid(1, 4)))


def test_a_layout_without_names_of_its_own_belongs_to_one_puzzle():
    puzzle = Puzzle(np.zeros((4, 2, 2, 4), np.uint8), Grid(2, 2), puzzle_id="test/3")
    saved = SavedLayout.of(puzzle, Solution(np.array([3, 2, 1, 0]), "x"))
    assert layout_of(saved, puzzle).tolist() == [3, 2, 1, 0]
    assert layout_of(replace(saved, puzzle_id=""), puzzle).tolist() == [3, 2, 1, 0]
    with pytest.raises(InputError, match="layout of puzzle 'test/4', not of 'test/3'"):
        layout_of(replace(saved, puzzle_id="test/4"), puzzle)


def test_the_other_direction_is_told_when_it_is_far_better():
    truth = np.array([[1, 2, 0, 3], [3, 0, 1, 2], [1, 2, 3, 0]])  # no row is its own inverse
    right, turned = Predictions(truth), Predictions(truth).turned()
    source = Held(truth=truth)
    assert better_turned(turned, score_predictions(turned, source), source) == 1.0
    assert better_turned(right, score_predictions(right, source), source) is None
    both = Predictions(TRUTH)  # every row is its own inverse
    assert better_turned(both, score_predictions(both, Held()), Held()) is None
