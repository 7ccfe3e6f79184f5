from __future__ import annotations

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.intervals import Estimate, bootstrap_mean, bootstrap_ratio, clustered_share


def test_drawing_counts_is_drawing_puzzles():
    """The quick multinomial agrees with the bootstrap as it is told, puzzle by puzzle."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 10, size=300) / 9
    plain = values[rng.integers(0, 300, size=(20_000, 300))].mean(axis=1)
    low, high = np.quantile(plain, [0.025, 0.975])
    estimate = bootstrap_mean(values, num_resamples=20_000)
    assert estimate.low == pytest.approx(low, abs=2e-3)
    assert estimate.high == pytest.approx(high, abs=2e-3)


def test_an_interval_is_as_wide_as_theory_says():
    values = np.repeat([0.0, 1.0], [700, 300])
    estimate = bootstrap_mean(values, num_resamples=10_000)
    half = 1.96 * np.sqrt(0.3 * 0.7 / 1000)
    assert estimate.value == pytest.approx(0.3)
    assert estimate.low == pytest.approx(0.3 - half, abs=2e-3)
    assert estimate.high == pytest.approx(0.3 + half, abs=2e-3)


def test_a_wider_level_gives_a_wider_interval():
    values = np.arange(50.0)
    narrow, wide = (bootstrap_mean(values, level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_equal_values_collapse():
    estimate = bootstrap_mean([0.5, 0.5, 0.5])
    assert (estimate.low, estimate.value, estimate.high) == (0.5, 0.5, 0.5)


def test_paired_differences_may_be_negative():
    estimate = bootstrap_mean([-1, 0, 0, 1, -1, -1])
    assert estimate.low < estimate.value < 0


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], 3.0])
def test_no_values_have_no_interval(values):
    with pytest.raises(InputError):
        bootstrap_mean(values)


def test_wilson_by_hand():
    """The textbook's 8 of 10: 0.490 to 0.943."""
    estimate = clustered_share(np.repeat([1, 0], [8, 2]), np.ones(10))
    assert estimate.value == 0.8
    assert estimate.low == pytest.approx(0.4902, abs=1e-4)
    assert estimate.high == pytest.approx(0.9433, abs=1e-4)


def test_wilson_does_not_collapse():
    none, all_ = (clustered_share(np.full(20, right), np.ones(20)) for right in (0, 1))
    assert (none.low, none.value) == (0, 0)
    assert none.high == pytest.approx(0.1611, abs=1e-4)
    assert (all_.value, all_.high) == (1, 1)
    assert all_.low == pytest.approx(1 - none.high)


def test_answers_that_stand_and_fall_together_count_once():
    single = clustered_share(np.repeat([1, 0], [60, 40]), np.ones(100))
    ninefold = clustered_share(np.repeat([9, 0], [60, 40]), np.full(100, 9))
    assert ninefold.value == single.value
    assert ninefold.low == pytest.approx(single.low, abs=2e-3)
    assert ninefold.high == pytest.approx(single.high, abs=2e-3)


def test_independent_answers_count_each():
    rng = np.random.default_rng(0)
    right = rng.binomial(9, 0.6, size=500)
    clustered = clustered_share(right, np.full(500, 9))
    half = 1.96 * np.sqrt(0.6 * 0.4 / 4500)
    assert clustered.high - clustered.low == pytest.approx(2 * half, rel=0.15)


def test_all_right_counts_clusters_not_answers():
    together = clustered_share([9] * 10, [9] * 10)
    assert together.low == pytest.approx(clustered_share([1] * 10, [1] * 10).low)


def test_clusters_without_answers_change_nothing():
    assert clustered_share([3, 0, 1], [4, 0, 2]) == clustered_share([3, 1], [4, 2])


def test_the_share_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        ability = rng.beta(2, 1, size=60)  # puzzles differ: mean 2/3
        estimate = clustered_share(rng.binomial(9, ability), np.full(60, 9))
        covered += estimate.low <= 2 / 3 <= estimate.high
    assert 0.91 < covered / 400 < 0.98


@pytest.mark.parametrize(("right", "count"), [([], []), ([0], [0]), ([1, 2], [3]), ([[1]], [[1]])])
def test_no_answers_no_share(right, count):
    with pytest.raises(InputError):
        clustered_share(right, count)


def test_a_ratio_is_pooled_over_puzzles():
    estimate = bootstrap_ratio([1, 0, 3], [1, 2, 3])
    assert estimate.value == pytest.approx(4 / 6)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert bootstrap_ratio([0, 0], [0, 0]) == Estimate(1.0, 1.0, 1.0)
    assert bootstrap_ratio([2, 2], [4, 4]) == Estimate(0.5, 0.5, 0.5)


def test_equal_totals_give_the_interval_of_a_mean():
    values = np.random.default_rng(1).integers(0, 10, 200)
    ratio, mean = bootstrap_ratio(values, np.full(200, 10)), bootstrap_mean(values / 10)
    assert ratio.value == pytest.approx(mean.value)
    assert ratio.low == pytest.approx(mean.low, abs=0.005)
    assert ratio.high == pytest.approx(mean.high, abs=0.005)


def test_no_puzzles_no_ratio():
    with pytest.raises(InputError):
        bootstrap_ratio([], [])
