"""Intervals of a mean over puzzles: by bootstrap, or Wilson's for shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import FloatArray

NUM_RESAMPLES = 2000
LEVEL = 0.95
_AT_ONCE = 100  # resamples whose weights are held at once


@dataclass(frozen=True)
class Estimate:
    """A mean and the interval that holds it with probability ``LEVEL``."""

    value: float
    low: float
    high: float


def percent(share: Estimate) -> Estimate:
    """A share in [0, 1] in percent."""
    return Estimate(100 * share.value, 100 * share.low, 100 * share.high)


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


def bootstrap_ratio(part: ArrayLike, whole: ArrayLike, *, seed: int = 0) -> Estimate:
    """Σ part / Σ whole of numbers per puzzle, with its bootstrap interval; 1 where Σ whole is 0."""
    numbers = np.stack([np.asarray(part, dtype=np.float64), np.asarray(whole, np.float64)], axis=1)

    def ratio(weights: FloatArray) -> FloatArray:
        above, below = (weights @ numbers).T  # (R,) each
        share: FloatArray = np.divide(above, below, out=np.ones_like(above), where=below > 0)
        return share

    return bootstrap_weighted(ratio, len(numbers), seed=seed)


def bootstrap_weighted(
    figure: Callable[[FloatArray], FloatArray],
    num_puzzles: int,
    *,
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
    level: float = LEVEL,
) -> Estimate:
    """Any figure of weighted puzzles with its percentile bootstrap interval.

    figure  weights (R, M), how often each of M puzzles was drawn → (R,) its values
    """
    if num_puzzles < 1:
        raise InputError("an interval needs some puzzles")
    rng = child_rng(seed, "bootstrap")
    even = np.full(num_puzzles, 1 / num_puzzles)
    sizes = [_AT_ONCE] * (num_resamples // _AT_ONCE) + [num_resamples % _AT_ONCE]
    drawn = (rng.multinomial(num_puzzles, even, size=size) for size in sizes if size)
    values = np.concatenate([figure(counts.astype(np.float64)) for counts in drawn])  # (R,)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(figure(np.ones((1, num_puzzles)))[0]), float(low), float(high))


def clustered_share(right: ArrayLike, count: ArrayLike, *, level: float = LEVEL) -> Estimate:
    """Share of answers that are right, when they come in clusters, with Wilson's interval.

    right, count  (M,) right answers and all answers of each cluster, mostly a puzzle

    Pieces of one puzzle are right or wrong together, so they tell less than as
    many single answers. Wilson's interval is taken for the smaller number
    n / d, with d the design effect: the variance between clusters over that of
    independent answers, at least 1. Where all answers agree nothing can be seen of
    it, and each cluster counts about once. Unlike a bootstrap the interval never
    collapses. With single answers it is Wilson's own.
    """
    right, count = np.asarray(right, dtype=np.float64), np.asarray(count, dtype=np.float64)
    if right.ndim != 1 or right.shape != count.shape:
        raise InputError(f"right {right.shape} and all answers {count.shape} of the same clusters")
    right, count = right[count > 0], count[count > 0]
    total = float(count.sum())
    if total == 0:
        raise InputError("an interval needs at least one answer")
    share = float(right.sum()) / total
    if 0 < share < 1 and len(count) > 1:
        single = share * (1 - share) / (total - 1)
        spread = float(((right - share * count) ** 2).sum()) / total**2
        effect = max(1.0, spread * len(count) / (len(count) - 1) / single)
    else:
        effect = float((count**2).sum()) / total
    low, high = _wilson(share, total / effect, level)
    return Estimate(share, low, high)


def _wilson(share: float, count: float, level: float) -> tuple[float, float]:
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = (z2 * (share * (1 - share) / count + z2 / (4 * count**2))) ** 0.5 / (1 + z2 / count)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))
