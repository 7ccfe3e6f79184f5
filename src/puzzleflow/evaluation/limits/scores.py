"""From outcomes to what the report says: rows with intervals, and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.intervals import Estimate, clustered_share, percent
from puzzleflow.evaluation.limits.answers import (
    Answers,
    piece_answers,
    puzzle_answers,
    seam_answers,
)
from puzzleflow.evaluation.limits.plan import Point
from puzzleflow.evaluation.limits.reliability import (
    THRESHOLDS,
    Covered,
    Reliability,
    coverage_at,
    coverage_curve,
    reliability,
)
from puzzleflow.evaluation.limits.run import Outcome
from puzzleflow.evaluation.results import SHOWN, Results

MEASURED = (*SHOWN, "ECE")
"""What a row may hold: PA, AA, SRA, and the calibration error of the confidence in pieces."""

ANSWERS = {"pieces": piece_answers, "seams": seam_answers, "puzzles": puzzle_answers}


@dataclass(frozen=True)
class Row:
    """One solver at one point of a section.

    metrics     of :data:`MEASURED` in percent; no ECE where the solver has no confidence
    kept        percent of a cell that the masks keep
    content_px  pixels of the pictures behind one side of a cell
    """

    section: str
    series: str
    label: str
    solver: str
    grid: Grid
    num_puzzles: int
    num_pictures: int
    num_refused: int
    kept: Estimate
    content_px: float
    metrics: dict[str, Estimate]


@dataclass(frozen=True)
class Calibration:
    """How far one solver's confidence in pieces, seams or puzzles can be trusted."""

    label: str
    solver: str
    what: str
    reliability: Reliability
    thresholds: tuple[Covered, ...]
    curve: tuple[Covered, ...]


def rows_of(point: Point, outcome: Outcome, *, seed: int = 0) -> list[Row]:
    """One row for every solver."""
    rows = []
    for solver, results in outcome.results.items():
        metrics = estimates(results, outcome.case.grid)
        answers = piece_answers(results.records, outcome.truths)
        if answers is not None:
            metrics["ECE"] = percent(reliability(answers, seed=seed).ece)
        rows.append(
            Row(
                section=point.section,
                series=point.series,
                label=point.label,
                solver=solver,
                grid=outcome.case.grid,
                num_puzzles=len(results),
                num_pictures=len(outcome.case.pictures),
                num_refused=results.num_refused,
                kept=outcome.kept,
                content_px=outcome.case.content_px,
                metrics=metrics,
            )
        )
    return rows


def estimates(results: Results, grid: Grid) -> dict[str, Estimate]:
    """PA, AA and SRA in percent; the puzzles of one picture are one cluster."""
    pairs = sum(len(grid.neighbours(d)) for d in (Direction.RIGHT, Direction.DOWN))
    answers = {"PA": 1, "AA": grid.num_pieces, "SRA": max(1, pairs)}
    pictures = [record.puzzle_id for record in results.records]
    _, cluster = np.unique(pictures, return_inverse=True)
    found = {}
    for metric in SHOWN:
        right = np.bincount(cluster, answers[metric] * results.shares[metric])
        found[metric] = percent(clustered_share(right, answers[metric] * np.bincount(cluster)))
    return found


def calibrations_of(point: Point, outcome: Outcome, *, seed: int = 0) -> list[Calibration]:
    """Pieces, seams and puzzles of every solver that says how sure it is."""
    found = []
    for solver, results in outcome.results.items():
        for what, collect in ANSWERS.items():
            answers = collect(results.records, outcome.truths)
            if answers is not None:
                found.append(_calibration(point.label, solver, what, answers, seed))
    return found


def _calibration(label: str, solver: str, what: str, answers: Answers, seed: int) -> Calibration:
    return Calibration(
        label=label,
        solver=solver,
        what=what,
        reliability=reliability(answers, seed=seed),
        thresholds=tuple(coverage_at(answers, threshold) for threshold in THRESHOLDS),
        curve=tuple(coverage_curve(answers)),
    )


@dataclass(frozen=True, eq=False)
class LimitsReport:
    """Everything that the page shows.

    facts         what was run
    rows          of the sections kind, gap, grid and samples, in that order
    calibrations  of the section calibration
    """

    facts: Mapping[str, str]
    solvers: tuple[str, ...]
    sections: tuple[str, ...]
    rows: tuple[Row, ...]
    calibrations: tuple[Calibration, ...]

    def of(self, section: str) -> list[Row]:
        return [row for row in self.rows if row.section == section]


def make_report(
    points: Sequence[Point], outcomes: Mapping[str, Outcome], facts: Mapping[str, str], seed: int
) -> LimitsReport:
    """The report of finished cases."""
    rows: list[Row] = []
    calibrations: list[Calibration] = []
    for point in points:
        outcome = outcomes[point.case.name]
        rows += rows_of(point, outcome, seed=seed)
        if point.section == "calibration":
            calibrations += calibrations_of(point, outcome, seed=seed)
    return LimitsReport(
        facts,
        tuple(dict.fromkeys(row.solver for row in rows)),
        tuple(dict.fromkeys(point.section for point in points)),
        tuple(rows),
        tuple(calibrations),
    )
