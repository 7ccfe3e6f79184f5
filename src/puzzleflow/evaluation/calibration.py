"""Is a confidence of 80 % right in 80 of 100 cases? Answers, bins, calibration error, coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.intervals import LEVEL, Estimate, clustered_share
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.evaluation.results import Record, Truth

CLAIMS = ("pieces", "seams", "puzzles")
"""What a solver may be sure of."""

NUM_BINS = 10
NUM_RESAMPLES = 1000
NUM_SIMULATED = 200
THRESHOLDS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99)
COVERAGES = tuple(share / 20 for share in range(1, 21))


@dataclass(frozen=True, eq=False)
class Answers:
    """K answers of one solver.

    confidence  (K,) the probability that the solver gave each of being right
    right       (K,) whether it was
    puzzle      (K,) which puzzle it belongs to, 0 … M - 1
    """

    confidence: FloatArray
    right: BoolArray
    puzzle: IntArray

    def __len__(self) -> int:
        return len(self.right)

    @property
    def num_puzzles(self) -> int:
        return int(self.puzzle.max()) + 1

    def sums(self, place: IntArray, values: FloatArray) -> FloatArray:
        """(M, B) sums of ``values`` by puzzle and bin."""
        flat = self.puzzle * NUM_BINS + place
        sums = np.bincount(flat, values, minlength=self.num_puzzles * NUM_BINS)  # (M*B,)
        return sums.reshape(self.num_puzzles, NUM_BINS).astype(np.float64)


def answers_of(what: str, records: Sequence[Record], truths: Sequence[Truth]) -> Answers | None:
    """The :data:`CLAIMS` of all answered puzzles; None if the solver has no confidence to show.

    pieces   every piece that was not given away
    seams    every seam of the layouts; right if the two pieces truly touch that way round
    puzzles  as sure as the least sure piece; right if all pieces are

    ``truths[i]`` belongs to puzzle index i.
    """
    confidence: list[float] = []
    right: list[BoolArray] = []
    for record in records:
        claimed = record.seams if what == "seams" else record.confidence
        if record.position_of is None or claimed is None:
            continue
        laid, truth = np.array(record.position_of), truths[record.index]
        if what == "seams":
            judged = seams_right(laid, truth.position_of, truth.grid)
            if len(claimed) != len(judged):
                raise InputError(
                    f"puzzle {record.index}: {len(claimed)} confidences for the {len(judged)} "
                    f"seams of a {truth.grid} layout"
                )
        elif what == "puzzles":
            claimed, judged = (min(claimed),), np.array([np.array_equal(laid, truth.position_of)])
        else:
            free = ~np.isin(truth.position_of, truth.given)
            claimed = tuple(np.array(claimed)[free].tolist())
            judged = (laid == truth.position_of)[free]
        confidence.extend(claimed)
        right.append(judged)
    if not confidence:
        return None
    puzzle = np.repeat(np.arange(len(right)), [len(judged) for judged in right])
    return Answers(np.array(confidence), np.concatenate(right), puzzle)


def seams_right(position_of: IntArray, truth: IntArray, grid: Grid) -> BoolArray:
    """(E,) for every seam of a layout, right seams and then down seams, whether it is one."""
    truth_at = truth[invert(position_of)]  # (N,) true position of what lies at each position
    found = []
    for direction in (Direction.RIGHT, Direction.DOWN):
        first, second = truth_at[grid.neighbours(direction)].T  # (E,) each
        cells = grid.coordinates
        found.append((cells[second] - cells[first] == direction.step).all(axis=1))
    return np.concatenate(found)


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
class Covered:
    """The answers that are at least as sure as ``threshold``."""

    threshold: float
    coverage: float
    count: int
    right: Estimate | None  # None where no answer is that sure


@dataclass(frozen=True)
class Calibration:
    """How far confidence and truth agree; all in [0, 1].

    ece         expected calibration error: mean distance of confidence and share right over
                the bins, weighted by their answers; its interval comes from drawing puzzles
                anew, which adds noise, so it reaches higher rather than lower
    floor       the calibration error that chance alone gives to as many independent answers
                with the same, true, confidences
    excess      mean confidence - share right: above 0 too sure, below 0 too modest
    brier       mean squared distance of confidence and 1 (right) or 0 (wrong)
    thresholds  what is right among answers at least as sure as each of :data:`THRESHOLDS`
    curve       the same from the surest twentieth of the answers to all of them
    """

    num_answers: int
    num_puzzles: int
    right: Estimate
    ece: Estimate
    floor: float
    excess: Estimate
    brier: Estimate
    bins: tuple[Bin, ...]
    thresholds: tuple[Covered, ...]
    curve: tuple[Covered, ...]


def calibrate(answers: Answers, *, seed: int = 0) -> Calibration:
    """Calibration over :data:`NUM_BINS` equally wide bins, empty ones left out."""
    place = bin_of(answers.confidence)
    counts = answers.sums(place, np.ones(len(answers)))  # (M, B)
    rights = answers.sums(place, answers.right.astype(np.float64))
    claimed = answers.sums(place, answers.confidence)
    squares = answers.sums(place, (answers.confidence - answers.right) ** 2).sum(axis=1)  # (M,)
    rng = child_rng(seed, "calibration")
    num_puzzles = answers.num_puzzles
    even = np.full(num_puzzles, 1 / num_puzzles)
    drawn = rng.multinomial(num_puzzles, even, size=NUM_RESAMPLES).astype(np.float64)  # (R, M)
    weights = np.vstack([np.ones(num_puzzles), drawn])  # (1 + R, M) the answers as they are, first
    totals = weights @ counts.sum(axis=1)  # (1 + R,)
    distance = weights @ claimed - weights @ rights  # (1 + R, B)
    edges = np.linspace(0, 1, NUM_BINS + 1)
    return Calibration(
        num_answers=len(answers),
        num_puzzles=num_puzzles,
        right=clustered_share(rights.sum(axis=1), counts.sum(axis=1)),
        ece=_estimate(np.abs(distance).sum(axis=1) / totals),
        floor=_floor(answers.confidence, place, rng),
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
            for b in range(NUM_BINS)
            if counts[:, b].any()
        ),
        thresholds=tuple(coverage_at(answers, threshold) for threshold in THRESHOLDS),
        curve=tuple(coverage_curve(answers)),
    )


def bin_of(confidence: FloatArray) -> IntArray:
    """(K,) number of the bin of each confidence; 1 belongs to the last."""
    # a confidence of 0.3 written in decimals lies in the bin that begins there
    place: IntArray = np.floor(confidence * NUM_BINS + 1e-9).astype(np.int64)
    return np.minimum(place, NUM_BINS - 1)


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


def _floor(confidence: FloatArray, place: IntArray, rng: np.random.Generator) -> float:
    """Mean calibration error of answers that are right with exactly their confidence."""
    errors = []
    for _ in range(NUM_SIMULATED):
        excess = confidence - (rng.random(len(confidence)) < confidence)
        errors.append(np.abs(np.bincount(place, excess, minlength=NUM_BINS)).sum())
    return float(np.mean(errors)) / len(confidence)


def _estimate(values: FloatArray) -> Estimate:
    """The first value, and the interval that holds it and ``LEVEL`` of the others."""
    value = float(values[0])
    low, high = np.quantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, min(value, float(low)), max(value, float(high)))
