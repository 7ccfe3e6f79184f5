from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core import metrics
from puzzleflow.core.errors import InputError, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import METRICS, official_result, score

TWO, THREE = Grid(2, 2), Grid(3, 3)


@st.composite
def scored_sets(draw, *, collisions=True):
    """A grid with a few predictions and truths."""
    grid = Grid(draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    n = grid.num_pieces
    permutation = st.permutations(range(n))
    loose = st.lists(st.integers(0, n - 1), min_size=n, max_size=n)
    rows = st.one_of(permutation, loose) if collisions else permutation
    size = draw(st.integers(1, 4))
    predicted = draw(st.lists(rows, min_size=size, max_size=size))
    truth = draw(st.lists(permutation, min_size=size, max_size=size))
    return grid, np.array(predicted), np.array(truth)


def by_hand(predicted, truth, grid):
    """The definitions, written out pair by pair as slowly as they are said."""
    steps = {(0, 1): "right", (1, 0): "down", (0, -1): "left", (-1, 0): "up"}
    kept = dict.fromkeys(steps.values(), 0)
    total = dict.fromkeys(steps.values(), 0)
    adjacent = 0
    for put, true in zip(predicted.tolist(), truth.tolist(), strict=True):
        for u in range(grid.num_pieces):
            for v in range(grid.num_pieces):
                apart = np.subtract(grid.cell(true[v]), grid.cell(true[u]))
                if tuple(apart) not in steps:
                    continue
                direction = steps[tuple(apart)]
                put_apart = np.subtract(grid.cell(put[v]), grid.cell(put[u]))
                total[direction] += 1
                kept[direction] += tuple(put_apart) == tuple(apart)
                adjacent += int(np.abs(put_apart).sum() == 1)
    return kept, total, adjacent


@given(scored_sets())
def test_the_counts_are_those_of_the_definitions(case):
    grid, predicted, truth = case
    kept, total, adjacent = by_hand(predicted, truth, grid)
    scores = score(predicted, truth, grid)
    stats = official_result(scores)["detailed_stats"]["spatial_relationships"]
    assert stats["relationship_preserved"] == kept
    assert stats["relationship_counts"] == total
    assert stats["preserved_relationships"] == sum(kept.values())
    assert stats["total_relationships"] == sum(total.values())
    if sum(total.values()):
        assert scores.mean("neighbours") == pytest.approx(adjacent / sum(total.values()))
        assert scores.relation_accuracy == pytest.approx(sum(kept.values()) / sum(total.values()))
    assert scores.absolute_accuracy == pytest.approx((predicted == truth).mean())
    assert scores.perfect_accuracy == pytest.approx((predicted == truth).all(axis=1).mean())


@given(scored_sets(collisions=False))
def test_the_truth_scores_one_everywhere(case):
    grid, _, truth = case
    scores = score(truth, truth, grid)
    assert {metric: scores.mean(metric) for metric in METRICS} == dict.fromkeys(METRICS, 1.0)


@given(scored_sets(collisions=False), st.randoms(use_true_random=False))
def test_the_order_of_the_pieces_does_not_matter(case, random):
    grid, predicted, truth = case
    order = list(range(grid.num_pieces))
    random.shuffle(order)
    one, other = score(predicted, truth, grid), score(predicted[:, order], truth[:, order], grid)
    for metric in METRICS:
        assert np.array_equal(one.per_puzzle(metric), other.per_puzzle(metric))
    assert np.array_equal(one.failure, other.failure)


@given(scored_sets())
def test_a_set_is_scored_like_its_puzzles(case):
    grid, predicted, truth = case
    together = score(predicted, truth, grid)
    for i, (put, true) in enumerate(zip(predicted, truth, strict=True)):
        alone = score(put, true, grid)
        assert {m: alone.mean(m) for m in METRICS} == {
            m: float(together.per_puzzle(m)[i]) for m in METRICS
        }


def test_blocks_join_without_a_seam(monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.permuted(np.tile(np.arange(9), (7, 1)), axis=1)
    predicted = rng.permuted(truth, axis=1)
    whole = score(predicted, truth, THREE)
    monkeypatch.setattr(metrics, "BLOCK", 3)
    parts = score(predicted, truth, THREE)
    assert len(parts) == 7
    for metric in METRICS:
        assert np.array_equal(parts.per_puzzle(metric), whole.per_puzzle(metric))
    assert np.array_equal(parts.failure, whole.failure)


def test_two_by_two_with_the_upper_pieces_exchanged():
    # truth 0 1 / 2 3, prediction 1 0 / 2 3: no directed relation survives but 2-3
    scores = score([1, 0, 2, 3], [0, 1, 2, 3], TWO)
    assert scores.correct.tolist() == [2]
    assert scores.right_preserved.tolist() == [1]  # 3 right of 2
    assert scores.down_preserved.tolist() == [0]
    assert scores.pairs_adjacent.tolist() == [2]  # 0-1 and 2-3 still touch; 0-2 and 1-3 do not
    assert scores.absolute_accuracy == 0.5
    assert scores.relation_accuracy == 0.25
    assert scores.mean("horizontal") == 0.5
    assert scores.mean("vertical") == 0.0
    assert scores.mean("neighbours") == 0.5
    assert scores.failure_counts()["local swap"] == 1


def test_two_by_two_mirrored():
    # 1 0 / 3 2: every pair still touches, the vertical ones in their old direction
    scores = score([1, 0, 3, 2], [0, 1, 2, 3], TWO)
    assert [scores.mean(metric) for metric in METRICS] == [0.0, 0.0, 0.5, 0.0, 1.0, 1.0]


def test_three_by_three_rolled_one_column():
    # truth 0 1 2 / 3 4 5 / 6 7 8, prediction 2 0 1 / 5 3 4 / 8 6 7
    scores = score([1, 2, 0, 4, 5, 3, 7, 8, 6], np.arange(9), THREE)
    assert scores.absolute_accuracy == 0.0
    assert scores.mean("horizontal") == 0.5  # 0-1, 3-4, 6-7 of six
    assert scores.mean("vertical") == 1.0
    assert scores.relation_accuracy == 0.75
    assert scores.mean("neighbours") == 0.75
    assert scores.failure_counts()["exact shift"] == 1


def test_three_by_three_with_two_corners_exchanged():
    # 8 1 2 / 3 4 5 / 6 7 0
    scores = score([8, 1, 2, 3, 4, 5, 6, 7, 0], np.arange(9), THREE)
    assert scores.absolute_accuracy == pytest.approx(7 / 9)
    assert scores.right_preserved.tolist() == [4]  # 0-1 and 7-8 are broken
    assert scores.down_preserved.tolist() == [4]  # 0-3 and 5-8 are broken
    assert scores.relation_accuracy == pytest.approx(8 / 12)


def test_three_by_three_turned_keeps_neighbours_but_no_direction():
    # 6 3 0 / 7 4 1 / 8 5 2: a quarter turn
    position_of = np.empty(9, dtype=int)
    position_of[[6, 3, 0, 7, 4, 1, 8, 5, 2]] = np.arange(9)
    scores = score(position_of, np.arange(9), THREE)
    assert scores.absolute_accuracy == pytest.approx(1 / 9)
    assert scores.relation_accuracy == 0.0
    assert scores.mean("neighbours") == 1.0


def test_a_whole_official_result_by_hand():
    truth = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    predicted = np.array([[1, 0, 2, 3], [3, 2, 1, 0]])  # upper pieces exchanged; solved
    assert official_result(score(predicted, truth, TWO)) == {
        "dataset_info": {"num_puzzles": 2, "num_pieces_per_puzzle": 4, "grid_size": 2},
        "metrics": {
            "perfect_accuracy": 50.0,
            "absolute_accuracy": 75.0,
            "spatial_relationship_accuracy": 62.5,
        },
        "detailed_stats": {
            "perfect_puzzles": 1,
            "total_puzzles": 2,
            "correct_pieces": 6,
            "total_pieces": 8,
            "spatial_relationships": {
                "preserved_relationships": 10,
                "total_relationships": 16,
                "relationship_accuracies": {"right": 75.0, "down": 50.0, "left": 75.0, "up": 50.0},
                "relationship_preserved": {"right": 3, "down": 2, "left": 3, "up": 2},
                "relationship_counts": {"right": 4, "down": 4, "left": 4, "up": 4},
            },
        },
    }


@given(scored_sets())
def test_the_official_result_is_plain_json(case):
    grid, predicted, truth = case
    result = official_result(score(predicted, truth, grid))
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_a_rectangle_reports_both_sides():
    result = official_result(score(np.arange(6), np.arange(6), Grid(2, 3)))
    assert result["dataset_info"]["grid_size"] == [2, 3]


def test_given_pieces_do_not_count():
    # JPwLEG with the centre given: 8 pieces count, here six of them lie right
    predicted = [1, 0, 2, 3, 4, 5, 6, 7, 8]
    scores = score(predicted, np.arange(9), THREE, given=[4])
    assert scores.num_counted == 8
    assert scores.absolute_accuracy == pytest.approx(6 / 8)
    solved = score(np.arange(9), np.arange(9), THREE, given=[4])
    assert solved.perfect_accuracy == 1.0
    with pytest.raises(InputError, match="every piece is given"):
        score([0], [0], Grid(1, 1), given=[0])


def test_intervals_hold_their_value_and_repeat_with_their_seed():
    rng = np.random.default_rng(0)
    truth = np.tile(np.arange(9), (200, 1))
    predicted = np.where(rng.random((200, 1)) < 0.4, truth, rng.permuted(truth, axis=1))
    scores = score(predicted, truth, THREE)
    one = scores.estimates(seed=3)
    assert one == scores.estimates(seed=3)
    assert one != scores.estimates(seed=4)
    for metric, estimate in one.items():
        assert estimate.value == pytest.approx(scores.mean(metric))
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.high > estimate.low


@pytest.mark.parametrize(
    ("predicted", "truth", "error"),
    [
        ([[0, 1, 2, 3]], [[0, 1, 2, 2]], NotAPermutation),
        ([[0, 1, 2, 4]], [[0, 1, 2, 3]], NotAPermutation),
        ([[0, 1, 2]], [[0, 1, 2]], NotAPermutation),
        ([[0, 1, 2, 3]] * 2, [[0, 1, 2, 3]], InputError),
        (np.empty((0, 4), int), np.empty((0, 4), int), InputError),
        ([[0.5, 1.0, 2.0, 3.0]], [[0, 1, 2, 3]], NotAPermutation),
    ],
)
def test_what_cannot_be_scored_is_refused(predicted, truth, error):
    with pytest.raises(error):
        score(predicted, truth, TWO)
