"""Is a confidence of 80 % right in 80 of 100 cases? Bins, calibration error, coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.intervals import LEVEL, Estimate, clustered_share
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.evaluation.limits.answers import Answers

NUM_BINS = 10
NUM_RESAMPLES = 1000
NUM_SIMULATED = 200
THRESHOLDS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99)
COVERAGES = tuple(share / 20 for share in range(1, 21))


@dataclass(frozen=True)
class Bin:
    """Answers whose confidence lies in [low, high), the last bin with its end.

    confidence  their mean
    right       the share that was right
    """

    low: float
    high: float
    count: int
    confidence: float
    right: Estimate


@dataclass(frozen=True)
class Reliability:
    """How far confidence and truth agree; all in [0, 1].

    ece     expected calibration error: mean distance of confidence and share right over
            the bins, weighted by their answers; its interval comes from drawing puzzles
            anew, which adds noise, so it reaches higher rather than lower
    floor   the calibration error that chance alone gives to as many independent answers
            with the same, true, confidences
    excess  mean confidence - share right: above 0 too sure, below 0 too modest
    brier   mean squared distance of confidence and 1 (right) or 0 (wrong)
    """

    num_answers: int
    num_puzzles: int
    right: Estimate
    ece: Estimate
    floor: float
    excess: Estimate
    brier: Estimate
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Covered:
    """The answers that are at least as sure as ``threshold``."""

    threshold: float
    coverage: float
    count: int
    right: Estimate | None  # None where no answer is that sure


def reliability(answers: Answers, *, num_bins: int = NUM_BINS, seed: int = 0) -> Reliability:
    """Calibration of ``answers`` over equally wide bins, empty ones left out."""
    place = bin_of(answers.confidence, num_bins)
    counts = _sums(answers, place, np.ones(len(answers)), num_bins)  # (M, B)
    rights = _sums(answers, place, answers.right.astype(np.float64), num_bins)
    claimed = _sums(answers, place, answers.confidence, num_bins)
    squares = np.bincount(
        answers.puzzle,
        (answers.confidence - answers.right) ** 2,
        minlength=answers.num_puzzles,
    )  # (M,)
    rng = child_rng(seed, "calibration")
    num_puzzles = answers.num_puzzles
    even = np.full(num_puzzles, 1 / num_puzzles)
    drawn = rng.multinomial(num_puzzles, even, size=NUM_RESAMPLES).astype(np.float64)  # (R, M)
    weights = np.vstack([np.ones(num_puzzles), drawn])  # (1 + R, M) the answers as they are, first
    totals = weights @ counts.sum(axis=1)  # (1 + R,)
    distance = weights @ claimed - weights @ rights  # (1 + R, B)
    edges = np.linspace(0, 1, num_bins + 1)
    return Reliability(
        num_answers=len(answers),
        num_puzzles=num_puzzles,
        right=clustered_share(rights.sum(axis=1), counts.sum(axis=1)),
        ece=_estimate(np.abs(distance).sum(axis=1) / totals),
        floor=_floor(answers.confidence, place, num_bins, rng),
        excess=_estimate(distance.sum(axis=1) / totals),
        brier=_estimate(weights @ squares / totals),
        bins=tuple(
            Bin(
                float(edges[b]),
                float(edges[b + 1]),
                int(counts[:, b].sum()),
                float(claimed[:, b].sum() / counts[:, b].sum()),
                clustered_share(rights[:, b], counts[:, b]),
            )
            for b in range(num_bins)
            if counts[:, b].any()
        ),
    )


def bin_of(confidence: FloatArray, num_bins: int = NUM_BINS) -> IntArray:
    """(K,) number of the bin of each confidence; 1 belongs to the last."""
    # a confidence of 0.3 written in decimals lies in the bin that begins there
    place: IntArray = np.floor(confidence * num_bins + 1e-9).astype(np.int64)
    return np.minimum(place, num_bins - 1)


def coverage_at(answers: Answers, threshold: float) -> Covered:
    """How many answers are at least so sure, and how many of them are right."""
    sure = answers.confidence >= threshold
    count = int(sure.sum())
    if count == 0:
        return Covered(threshold, 0.0, 0, None)
    counts = np.bincount(answers.puzzle[sure])
    rights = np.bincount(answers.puzzle[sure], answers.right[sure])
    return Covered(threshold, count / len(answers), count, clustered_share(rights, counts))


def coverage_curve(answers: Answers) -> list[Covered]:
    """From the surest twentieth of the answers to all; equally sure ones stay together."""
    ordered = np.sort(answers.confidence)[::-1]
    wanted = [ordered[max(0, round(share * len(answers)) - 1)] for share in COVERAGES]
    return [coverage_at(answers, float(threshold)) for threshold in sorted(set(wanted))[::-1]]


def _sums(answers: Answers, place: IntArray, values: FloatArray, num_bins: int) -> FloatArray:
    """(M, B) sums of ``values`` by puzzle and bin."""
    flat = answers.puzzle * num_bins + place
    sums = np.bincount(flat, values, minlength=answers.num_puzzles * num_bins)  # (M*B,)
    return sums.reshape(answers.num_puzzles, num_bins).astype(np.float64)


def _floor(
    confidence: FloatArray, place: IntArray, num_bins: int, rng: np.random.Generator
) -> float:
    """Mean calibration error of answers that are right with exactly their confidence."""
    errors = []
    for _ in range(NUM_SIMULATED):
        excess = confidence - (rng.random(len(confidence)) < confidence)
        errors.append(np.abs(np.bincount(place, excess, minlength=num_bins)).sum())
    return float(np.mean(errors)) / len(confidence)


def _estimate(values: FloatArray) -> Estimate:
    """The first value, and the interval that holds it and ``LEVEL`` of the others."""
    value = float(values[0])
    low, high = np.quantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, min(value, float(low)), max(value, float(high)))
