"""The whole measurement: every condition is a benchmark, resumed puzzle by puzzle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.intervals import Estimate, bootstrap_mean, clustered_share, percent
from puzzleflow.evaluation.calibration import CLAIMS, Calibration, answers_of, calibrate
from puzzleflow.evaluation.limits.conditions import (
    Condition,
    PictureSet,
    Plan,
    conditions,
    draw_pictures,
    sample_pictures,
)
from puzzleflow.evaluation.report import machine
from puzzleflow.evaluation.results import SHOWN, Results
from puzzleflow.evaluation.runner import Bench
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.generation.erosion import erosion_label
from puzzleflow.generation.recipe_file import RecipeSource

MEASURED = (*SHOWN, "ECE")
"""What a row may hold: PA, AA, SRA, and the calibration error of the confidence in pieces."""

Progress = Callable[[str, int, int], None]  # stage, done, total
NUM_WEIGHED = 32  # puzzles whose masks tell how much of a cell is kept


@dataclass(frozen=True)
class Row:
    """One solver under one condition.

    kept          percent of a cell that the masks keep
    metrics       of :data:`MEASURED` in percent; no ECE where the solver has no confidence
    calibrations  of the confidence in pieces, seams and puzzles, as far as there is one
    """

    condition: Condition
    solver: str
    num_puzzles: int
    num_refused: int
    kept: Estimate
    metrics: Mapping[str, Estimate]
    calibrations: Mapping[str, Calibration]


@dataclass(frozen=True, eq=False)
class LimitsReport:
    """Rows in the order of the sections and, within a condition, of the solvers."""

    facts: Mapping[str, str]
    rows: Sequence[Row]

    @property
    def solvers(self) -> list[str]:
        return list(dict.fromkeys(row.solver for row in self.rows))

    @property
    def sections(self) -> dict[str, list[Row]]:
        """Rows by section."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.condition.section, []).append(row)
        return found


def measure_limits(
    plan: Plan,
    specs: Sequence[SolverSpec],
    work: Path,
    *,
    images: Path | None = None,
    kinds: Mapping[str, str] | None = None,
    facts: Mapping[str, str] | None = None,
    num_workers: int = 1,
    fresh: bool = False,
    on_progress: Progress = lambda stage, done, total: None,
) -> LimitsReport:
    """Cut, solve and score what ``plan`` asks for.

    work    folder of puzzles and results; a stopped measurement goes on there
    images  pictures that the solvers have not seen; only section "samples" needs none
    kinds   file → kind; without it the subfolders of ``images`` are the kinds
    facts   further lines for the head of the report
    """
    given = samples = PictureSet(Path(), (), {})
    if images is not None:
        if work.resolve().is_relative_to(images.resolve()):
            raise InputError(f"{work} lies inside the picture folder {images}; choose another one")
        given = draw_pictures(
            images, work / "survey", kinds, count=plan.num_puzzles, seed=plan.seed
        )
    if plan.sections is None or "samples" in plan.sections:
        samples = sample_pictures(work / "samples")
    asked = conditions(plan, given, samples)
    distinct = {condition.request.name: condition for condition in asked}
    rows: dict[str, list[Row]] = {}
    for number, (name, condition) in enumerate(distinct.items(), start=1):
        with condition.open(work / name) as source:
            bench = Bench(source, specs, work / name, seed=plan.seed)
            if number == 1:
                bench.check()
            total = len(specs) * bench.num_puzzles
            for done, _ in enumerate(bench.stream(num_workers=num_workers, fresh=fresh), start=1):
                on_progress(f"{number}/{len(distinct)} {name}", done, total)
            kept = kept_share(source)
            rows[name] = [score(condition, bench, results, kept) for results in bench.results()]
    found = [replace(row, condition=c) for c in asked for row in rows[c.request.name]]
    return LimitsReport(_facts(plan, given) | dict(facts or {}), found)


def score(condition: Condition, bench: Bench, results: Results, kept: Estimate) -> Row:
    """Metrics and calibration of one solver."""
    metrics = estimates(results, condition.request.grid)
    claims = {what: answers_of(what, results.records, bench.truths) for what in CLAIMS}
    calibrations = {
        what: calibrate(claimed, seed=bench.seed) for what, claimed in claims.items() if claimed
    }
    if "pieces" in calibrations:
        metrics["ECE"] = percent(calibrations["pieces"].ece)
    refused = results.num_refused
    return Row(condition, results.solver, len(results), refused, kept, metrics, calibrations)


def estimates(results: Results, grid: Grid) -> dict[str, Estimate]:
    """PA, AA and SRA in percent; the puzzles of one picture are one cluster."""
    pairs = sum(len(grid.neighbours(d)) for d in (Direction.RIGHT, Direction.DOWN))
    answers = {"PA": 1, "AA": grid.num_pieces, "SRA": max(1, pairs)}
    _, cluster = np.unique([record.puzzle_id for record in results.records], return_inverse=True)
    metrics = {}
    for metric in SHOWN:
        right = np.bincount(cluster, answers[metric] * results.shares[metric])
        metrics[metric] = percent(clustered_share(right, answers[metric] * np.bincount(cluster)))
    return metrics


def kept_share(source: RecipeSource) -> Estimate:
    """Percent of a cell that its masks keep, from the first puzzles."""
    renderer = source.recipe.renderer(source.path)
    masks = renderer.masks(source.recipe.rows[:NUM_WEIGHED])  # (M, N, px, px)
    return bootstrap_mean(100 * masks.mean(axis=(2, 3)).ravel(), seed=source.recipe.seed)


def _facts(plan: Plan, given: PictureSet) -> dict[str, str]:
    facts = {}
    if given.pictures:
        unread = f", {given.num_unread} more could not be read" if given.num_unread else ""
        facts["pictures"] = f"{len(given.pictures)} of {given.folder.name}{unread}"
    return facts | {
        "masks": erosion_label(plan.erosion),
        "pieces": f"{plan.piece_px} px",
        "puzzles": f"{plan.num_puzzles} of every point, as far as there are pictures",
        "seed": str(plan.seed),
        "machine": machine(),
        "puzzleflow": version("puzzleflow"),
    }
