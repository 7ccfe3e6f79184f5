"""Scores of the open world, worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import InputError, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.core.open_metrics import OpenAnswer, OpenTruth, score_open

GRID = Grid(2, 3)
MISSING = Conditions(missing=1)


def one(answer, truth):
    """The shares of one puzzle by name."""
    scores = score_open([answer], [truth])
    names = ("perfect", "absolute", "relations")
    found = {name: scores.per_puzzle(name)[0] for name in names}
    return found | {f"{n}_aligned": scores.per_puzzle(f"{n}_aligned")[0] for n in names}


def at(*position_of):
    return np.array(position_of)


def test_a_missing_piece_takes_its_relations_with_it():
    # 0 1 2 / 3 4 .   five pieces; 7 - 2 = 5 true relations are left
    truth = OpenTruth(at(0, 1, 2, 3, 4), GRID, MISSING)
    assert one(OpenAnswer(at(0, 1, 2, 3, 4), GRID), truth)["relations"] == 1
    # pieces 2 and 4 change places: 0-1, 0-3 are kept of 0-1 1-2 3-4 0-3 1-4
    found = one(OpenAnswer(at(0, 1, 4, 3, 2), GRID), truth)
    assert found["absolute"] == pytest.approx(3 / 5)
    assert found["relations"] == pytest.approx(2 / 5)
    assert found["perfect"] == 0


def test_a_piece_that_belongs_is_wrong_aside():
    truth = OpenTruth(at(0, 1, 2, 3, 4), GRID, Conditions(missing=1, foreign=1))
    found = one(OpenAnswer(at(0, 1, 2, 3, -1), GRID), truth)
    assert found["absolute"] == pytest.approx(4 / 5)
    assert found["relations"] == pytest.approx(3 / 5)


def test_foreign_pieces_count_in_pa_alone():
    truth = OpenTruth(at(0, -1, 1), Grid(1, 2), Conditions(foreign=1))
    assert one(OpenAnswer(at(0, -1, 1), Grid(1, 2)), truth)["perfect"] == 1
    conditions = Conditions(missing=1, foreign=1)
    truth = OpenTruth(at(0, -1, 1), Grid(1, 3), conditions)
    found = one(OpenAnswer(at(0, 2, 1), Grid(1, 3)), truth)
    assert (found["perfect"], found["absolute"], found["relations"]) == (0, 1, 1)


def test_turns_must_be_right_too():
    truth = OpenTruth(at(0, 1, 2, 3), Grid(2, 2), Conditions(turned=True), at(0, 1, 2, 3))
    answer = OpenAnswer(at(0, 1, 2, 3), Grid(2, 2), at(0, 1, 2, 0))
    found = one(answer, truth)
    assert found["absolute"] == pytest.approx(3 / 4)
    assert found["relations"] == pytest.approx(2 / 4)  # of 0-1 2-3 0-2 1-3


def test_the_whole_turned_is_right_up_to_a_turn():
    # 0 1      1 3
    # 2 3  →   0 2   a quarter against the clock
    truth = OpenTruth(at(0, 1, 2, 3), Grid(2, 2), Conditions(turned=True), at(0, 1, 2, 3))
    answer = OpenAnswer(at(2, 0, 3, 1), Grid(2, 2), at(1, 2, 3, 0))
    found = one(answer, truth)
    assert (found["perfect"], found["absolute"], found["relations"]) == (0, 0, 0)
    assert found["perfect_aligned"] == found["absolute_aligned"] == 1
    assert found["relations_aligned"] == 1
    wrong_way = one(OpenAnswer(at(2, 0, 3, 1), Grid(2, 2), at(3, 0, 1, 2)), truth)
    assert wrong_way["absolute_aligned"] == 0


def test_a_known_oblong_grid_is_only_turned_around():
    truth = OpenTruth(at(0, 1), Grid(1, 2), Conditions(turned=True), at(0, 0))
    around = one(OpenAnswer(at(1, 0), Grid(1, 2), at(2, 2)), truth)
    assert (around["absolute"], around["perfect_aligned"]) == (0, 1)
    quarter = one(OpenAnswer(at(1, 0), Grid(2, 1), at(1, 1)), truth)
    assert quarter["absolute_aligned"] == 0
    hidden = Conditions(turned=True, hidden=True)
    truth = OpenTruth(at(0, 1), Grid(1, 2), hidden, at(0, 0))
    assert one(OpenAnswer(at(1, 0), Grid(2, 1), at(1, 1)), truth)["perfect_aligned"] == 1


def test_a_hidden_grid_allows_a_shift():
    # truth . 0 / . 1, answered 0 . / 1 .
    conditions = Conditions(missing=2, hidden=True)
    truth = OpenTruth(at(1, 3), Grid(2, 2), conditions)
    found = one(OpenAnswer(at(0, 2), Grid(2, 2)), truth)
    assert (found["absolute"], found["relations"], found["absolute_aligned"]) == (0, 1, 1)
    narrow = score_open([OpenAnswer(at(0, 1), Grid(2, 1))], [truth])
    assert narrow.per_puzzle("absolute_aligned")[0] == 1
    assert narrow.per_puzzle("relations")[0] == 1
    assert narrow.per_puzzle("grids")[0] == 0
    known = OpenTruth(at(1, 3), Grid(2, 2), Conditions(missing=2))
    assert one(OpenAnswer(at(0, 2), Grid(2, 2)), known)["absolute_aligned"] == 0


def test_positions_on_another_grid_are_not_right():
    truth = OpenTruth(at(0, 1, 2, 3), Grid(2, 2), Conditions(hidden=True))
    found = one(OpenAnswer(at(0, 1, 2, 3), Grid(1, 4)), truth)
    assert found["absolute"] == 0
    assert found["absolute_aligned"] == pytest.approx(2 / 4)  # 0 1 where they were
    assert found["relations"] == pytest.approx(2 / 4)  # 0-1 and 2-3


def test_foreign_pieces_found():
    # puzzle 1: two foreign pieces, one of them and one other are left aside
    # puzzle 2: one foreign piece, found
    conditions = Conditions(missing=2, foreign=2)
    grid = Grid(1, 4)
    truths = [
        OpenTruth(at(-1, 0, 1, -1), grid, conditions),
        OpenTruth(at(0, -1, 1, 2), grid, conditions),
    ]
    answers = [
        OpenAnswer(at(-1, 0, -1, 3), grid, aside_prob=np.array([0.9, 0.1, 0.6, 0.3])),
        OpenAnswer(at(0, -1, 1, 2), grid, aside_prob=np.array([0.2, 0.8, 0.3, 0.0])),
    ]
    found = score_open(answers, truths).estimates()
    assert found["foreign_precision"].value == pytest.approx(2 / 3)
    assert found["foreign_recall"].value == pytest.approx(2 / 3)
    assert found["foreign_f1"].value == pytest.approx(2 / 3)
    # foreign 0.9 0.3 0.8 against own 0.1 0.6 0.2 0.3 0.0: wins 5 + 3.5 + 5 of 15
    assert found["foreign_auroc"].value == pytest.approx(13.5 / 15)
    for name, estimate in found.items():
        assert estimate.low <= estimate.value <= estimate.high, name


def test_accuracy_of_the_surest():
    truth = OpenTruth(at(0, 1, 2, 3), Grid(2, 2), Conditions(turned=True))
    answer = OpenAnswer(at(0, 1, 3, 2), Grid(2, 2), confidence=np.array([0.9, 0.2, 0.8, 0.1]))
    found = score_open([answer], [truth]).estimates()
    assert found["accuracy_at_50"].value == pytest.approx(1 / 2)  # 0 right, 2 wrong
    assert found["accuracy_at_70"].value == pytest.approx(2 / 3)
    assert found["accuracy_at_100"].value == pytest.approx(2 / 4)


def test_figures_follow_the_conditions():
    def names(conditions, **told):
        truth = OpenTruth(at(0, 1), Grid(1, 2), conditions)
        return set(score_open([OpenAnswer(at(0, 1), Grid(1, 2), **told)], [truth]).metrics)

    basic = {"perfect", "absolute", "relations"}
    aligned = {f"{name}_aligned" for name in basic}
    foreign = {"foreign_precision", "foreign_recall", "foreign_f1"}
    assert names(Conditions(missing=1)) == basic
    assert names(Conditions(turned=True)) == basic | aligned
    assert names(Conditions(hidden=True)) == basic | aligned | {"grids"}
    assert names(Conditions(foreign=1)) == basic | foreign
    sure = np.array([0.5, 0.5])
    assert "foreign_auroc" in names(Conditions(foreign=1), aside_prob=sure)
    assert "accuracy_at_90" in names(Conditions(missing=1), confidence=sure)


def test_no_answer_has_nothing_right():
    conditions = Conditions(foreign=1, hidden=True)
    truth = OpenTruth(at(0, -1, 1), Grid(1, 2), conditions)
    scores = score_open([None, OpenAnswer(at(0, -1, 1), Grid(1, 2))], [truth, truth])
    found = scores.estimates()
    assert [found[n].value for n in ("perfect", "absolute", "relations", "grids")] == [0.5] * 4
    assert found["foreign_recall"].value == 0.5
    assert scores.failure_counts()["lost"] == 1
    assert scores.failure_counts()["solved"] == 1


def test_what_cannot_be_scored():
    truth = OpenTruth(at(0, 1), Grid(1, 2), MISSING)
    with pytest.raises(InputError, match="1 answers for 2 puzzles"):
        score_open([None], [truth, truth])
    with pytest.raises(InputError, match="no puzzles"):
        score_open([], [])
    with pytest.raises(InputError, match="different conditions"):
        score_open([None, None], [truth, OpenTruth(at(0, 1), Grid(1, 2))])
    with pytest.raises(NotAPermutation):
        score_open([OpenAnswer(at(0, 1, -1), Grid(1, 2))], [truth])


@settings(max_examples=30)
@given(st.permutations(range(6)), st.permutations(range(6)))
def test_closed_puzzles_score_as_ever(predicted, truth):
    closed = score(np.array(predicted), np.array(truth), GRID)
    found = one(OpenAnswer(at(*predicted), GRID), OpenTruth(at(*truth), GRID))
    assert found["perfect"] == closed.perfect_accuracy
    assert found["absolute"] == pytest.approx(closed.absolute_accuracy)
    assert found["relations"] == pytest.approx(closed.relation_accuracy)


@settings(max_examples=30)
@given(
    st.permutations(range(6)), st.lists(st.integers(0, 3), min_size=6, max_size=6),
    st.integers(0, 3), st.integers(0, 1), st.integers(0, 1),
)  # fmt: skip
def test_a_turned_and_shifted_truth_is_aligned(order, turns, turn, down, across):
    grid, turns = Grid(2, 3), np.array(turns)
    truth = OpenTruth(at(*order), grid, Conditions(missing=9, turned=True, hidden=True), turns)
    cells = np.rot90(np.arange(6).reshape(2, 3), turn)
    wide = Grid(cells.shape[0] + 1, cells.shape[1] + 1)
    where = {
        int(cell): wide.position(row + down, col + across)
        for (row, col), cell in np.ndenumerate(cells)
    }
    laid = np.array([where[position] for position in order])
    found = one(OpenAnswer(laid, wide, (turns + turn) % 4), truth)
    assert found["perfect_aligned"] == found["relations_aligned"] == 1
