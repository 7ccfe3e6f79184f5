"""Bootstrap intervals of a mean over puzzles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng

NUM_RESAMPLES = 2000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and the interval that holds it with probability ``LEVEL``."""

    value: float
    low: float
    high: float


def bootstrap_mean(
    values: ArrayLike,
    *,
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
    level: float = LEVEL,
) -> Estimate:
    """Mean of one number per puzzle with its percentile bootstrap interval.

    Puzzles are drawn with replacement. Only how often each distinct value is
    drawn matters, and those counts are multinomial, so the cost depends on
    the number of distinct values, not of puzzles. Where all puzzles have the
    same value (none solved, all solved) the interval collapses to it, as a
    bootstrap must; it then says nothing about the puzzles not seen.

    The difference of two solvers on the same puzzles is the mean of the
    per-puzzle differences: give those for a paired interval.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"an interval needs one value for each of some puzzles, not {array.shape}")
    distinct, counts = np.unique(array, return_counts=True)
    rng = child_rng(seed, "bootstrap")
    drawn = rng.multinomial(array.size, counts / array.size, size=num_resamples)  # (R, U)
    means = drawn @ distinct / array.size  # (R,)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(array.mean()), float(low), float(high))
