"""The whole measurement: pictures, cases, solvers, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from puzzleflow.core.errors import InputError
from puzzleflow.evaluation.limits.pictures import PictureSet, draw_pictures, sample_pictures
from puzzleflow.evaluation.limits.plan import Plan, points
from puzzleflow.evaluation.limits.run import Progress, run_cases
from puzzleflow.evaluation.limits.scores import LimitsReport, make_report
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.evaluation.write import machine
from puzzleflow.generation.erosion import erosion_label


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
    pictures = None
    if images is not None:
        if work.resolve().is_relative_to(images.resolve()):
            raise InputError(f"{work} lies inside the picture folder {images}; choose another one")
        pictures = draw_pictures(
            images, work / "survey", kinds, count=plan.num_puzzles, seed=plan.seed
        )
    plan = plan.possible(pictures)
    samples = sample_pictures(work / "samples") if "samples" in plan.sections else None
    found = points(plan, pictures, samples)
    cases = {point.case.name: point.case for point in found}
    outcomes = run_cases(
        list(cases.values()),
        specs,
        work,
        seed=plan.seed,
        num_workers=num_workers,
        fresh=fresh,
        on_progress=on_progress,
    )
    return make_report(found, outcomes, _facts(plan, pictures) | dict(facts or {}), plan.seed)


def _facts(plan: Plan, pictures: PictureSet | None) -> dict[str, str]:
    facts = {}
    if pictures is not None:
        unread = f", {pictures.num_unread} more could not be read" if pictures.num_unread else ""
        facts["pictures"] = f"{len(pictures.pictures)} of {pictures.folder.name}{unread}"
    return facts | {
        "masks": erosion_label(plan.erosion),
        "pieces": f"{plan.piece_px} px",
        "puzzles": f"{plan.num_puzzles} of every point, as far as there are pictures",
        "seed": str(plan.seed),
        "machine": machine(),
        "puzzleflow": version("puzzleflow"),
    }
