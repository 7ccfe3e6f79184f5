from __future__ import annotations

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.intervals import bootstrap_mean


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
