from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.evaluation.calibration import (
    CLAIMS,
    Answers,
    answers_of,
    bin_of,
    calibrate,
    coverage_at,
    coverage_curve,
    seams_right,
)
from puzzleflow.evaluation.results import Record, Truth

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
    answers = answers_of("pieces", records, TRUTHS)
    assert answers is not None
    assert answers.right.tolist() == [True, True, False, False, True, True, True, True]
    assert answers.confidence[3] == 0.2
    assert answers.puzzle.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert answers.num_puzzles == 2


def test_a_piece_that_is_given_away_is_no_answer() -> None:
    truths = [Truth(np.array([0, 1, 2, 3]), GRID, given=(2,))]
    answers = answers_of(
        "pieces", [record(0, (0, 1, 2, 3), confidence=(0.1, 0.2, 0.3, 0.4))], truths
    )
    assert answers is not None
    assert answers.confidence.tolist() == [0.1, 0.2, 0.4]


def test_a_puzzle_is_as_sure_as_its_least_sure_piece() -> None:
    records = [
        record(0, (0, 1, 3, 2), confidence=(0.9, 0.8, 0.3, 0.2)),
        record(1, (3, 1, 0, 2), confidence=(1.0, 1.0, 1.0, 0.5)),
    ]
    answers = answers_of("puzzles", records, TRUTHS)
    assert answers is not None
    assert answers.confidence.tolist() == [0.2, 0.5]
    assert answers.right.tolist() == [False, True]


def test_puzzles_without_answer_or_confidence_are_left_out() -> None:
    records = [record(0, None, refusal="no"), record(1, (3, 1, 0, 2))]
    for what in CLAIMS:
        assert answers_of(what, records, TRUTHS) is None
    sure = record(1, (3, 1, 0, 2), confidence=(1.0, 1.0, 1.0, 1.0))
    answers = answers_of("pieces", [records[0], sure], TRUTHS)
    assert answers is not None
    assert len(answers) == 4
    assert answers.num_puzzles == 1


def test_too_few_seams() -> None:
    with pytest.raises(InputError, match="puzzle 0: 3 confidences for the 4 seams of a 2x2"):
        answers_of("seams", [record(0, (0, 1, 2, 3), seams=(1.0, 1.0, 1.0))], TRUTHS)


def answers(confidence: list[float], right: list[int], puzzle: list[int] | None = None) -> Answers:
    each = range(len(right)) if puzzle is None else puzzle
    return Answers(np.array(confidence), np.array(right, dtype=bool), np.array(list(each)))


def drawn(num_puzzles: int, *, power: float = 1.0, seed: int = 0) -> Answers:
    """Nine answers a puzzle, right with probability confidence ** power."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(9 * num_puzzles)
    right = rng.random(len(confidence)) < confidence**power
    return Answers(confidence, right, np.repeat(np.arange(num_puzzles), 9))


def test_bins_by_hand() -> None:
    found = bin_of(np.array([0.0, 0.0999, 0.1, 0.3, 0.6, 0.7, 0.95, 1.0]))
    assert found.tolist() == [0, 0, 1, 3, 6, 7, 9, 9]


def test_calibration_error_by_hand() -> None:
    # [0.2, 0.3): 0.20 and 0.26 claimed, none right; [0.9, 1]: 0.9, 0.9, 1.0, 1.0, three right
    found = calibrate(answers([0.20, 0.26, 0.9, 0.9, 1.0, 1.0], [0, 0, 1, 0, 1, 1]))
    low, high = found.bins
    assert (low.low, low.high, low.count) == (pytest.approx(0.2), pytest.approx(0.3), 2)
    assert low.confidence == pytest.approx(0.23)
    assert low.right.value == 0
    assert (high.count, high.confidence) == (4, pytest.approx(0.95))
    assert high.right.value == 0.75
    assert found.ece.value == pytest.approx((2 * 0.23 + 4 * 0.20) / 6)
    assert found.excess.value == pytest.approx((0.46 + 3.8 - 3) / 6)
    assert found.brier.value == pytest.approx((0.04 + 0.0676 + 0.01 + 0.81 + 0 + 0) / 6)
    assert found.right.value == 0.5
    assert (found.num_answers, found.num_puzzles) == (6, 6)


def test_sure_and_right_is_perfect() -> None:
    found = calibrate(answers([1.0] * 8 + [0.0] * 4, [1] * 8 + [0] * 4))
    for estimate in (found.ece, found.excess, found.brier):
        assert (estimate.value, estimate.low, estimate.high) == (0, 0, 0)
    assert found.floor == 0
    assert found.bins[-1].right.low < 1, "eight right answers do not prove that all are"


def test_sure_and_wrong_is_hopeless() -> None:
    found = calibrate(answers([1.0] * 8, [0] * 8))
    assert (found.ece.value, found.brier.value, found.excess.value) == (1, 1, 1)


def test_true_confidence_errs_no_more_than_chance() -> None:
    found = calibrate(drawn(400))
    assert found.ece.value < 2 * found.floor
    assert found.excess.low < 0 < found.excess.high
    assert all(b.right.low - 0.03 < b.confidence < b.right.high + 0.03 for b in found.bins)
    assert found.brier.value == pytest.approx(1 / 6, abs=0.02)  # ∫ p (1 - p)


def test_too_much_confidence_is_seen() -> None:
    found = calibrate(drawn(400, power=2.0))
    assert found.ece.low > 3 * found.floor
    assert found.excess.low > 0
    assert found.excess.value == pytest.approx(1 / 2 - 1 / 3, abs=0.02)
    assert found.ece.value == pytest.approx(found.excess.value, abs=0.01)


def test_more_puzzles_narrow_the_intervals() -> None:
    few, many = calibrate(drawn(40)), calibrate(drawn(1000))
    assert many.brier.high - many.brier.low < few.brier.high - few.brier.low
    assert many.floor < few.floor


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.integers(0, 3)), min_size=1, max_size=40)
)
def test_what_always_holds(drawn: list[tuple[float, bool, int]]) -> None:
    _, puzzle = np.unique([number for *_, number in drawn], return_inverse=True)
    given = answers([c for c, *_ in drawn], [int(r) for _, r, _ in drawn], puzzle.tolist())
    found = calibrate(given)
    assert sum(b.count for b in found.bins) == len(given)
    assert abs(found.excess.value) <= found.ece.value + 1e-9
    assert 0 <= found.brier.value <= 1
    for b in found.bins:
        assert b.low - 1e-9 <= b.confidence <= b.high + 1e-9
        assert 0 <= b.right.low <= b.right.value <= b.right.high <= 1
    curve = coverage_curve(given)
    assert curve[-1].coverage == 1
    assert [point.coverage for point in curve] == sorted(point.coverage for point in curve)


def test_coverage_by_hand() -> None:
    given = answers([0.9, 0.9, 0.6, 0.2], [1, 0, 1, 0])
    covered = coverage_at(given, 0.6)
    assert (covered.coverage, covered.count) == (0.75, 3)
    assert covered.right is not None
    assert covered.right.value == pytest.approx(2 / 3)
    assert coverage_at(given, 0.95).right is None
    assert coverage_at(given, 0.95).coverage == 0


def test_equally_sure_answers_stay_together() -> None:
    given = answers([0.9, 0.9, 0.9, 0.1], [1, 1, 0, 0])
    assert [point.count for point in coverage_curve(given)] == [3, 4]


def test_a_useful_confidence_puts_the_right_ones_first() -> None:
    rights = [point.right.value for point in coverage_curve(drawn(300)) if point.right]
    assert rights[0] > 0.9
    assert rights[-1] == pytest.approx(0.5, abs=0.04)
    assert len(rights) == 20
