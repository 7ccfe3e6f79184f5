"""Examples for the seam scorer: joins of fresh broken pictures, right, nearly right and wrong.

The wrong ones are what the search for candidates itself proposes, moved to where a scorer
likes them best (or drawn apart by some widths, while there is none): that is what the next
scorer has to tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.alignment import ANGLE_TOLERANCE, POSITION_TOLERANCE, position_error
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import Pose, angle_between
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import FloatArray
from puzzleflow.files import atomic_path
from puzzleflow.generation.fracture import Weathering
from puzzleflow.generation.free_form import FreeForm, break_picture
from puzzleflow.models.seam_scorer import SeamScorer
from puzzleflow.parallel import bounded_map
from puzzleflow.pictures import fitted, read_picture
from puzzleflow.solvers.free_form.candidates import Prepared, Search, row_candidates
from puzzleflow.solvers.free_form.measures import JoinPose, measured, placed
from puzzleflow.solvers.free_form.ranking import OPENINGS
from puzzleflow.solvers.free_form.seams import Seams, load_scorer

SIDE_PX = 340
SEARCH = Search(peaks=16)
STRANGERS = 8  # pairs of fragments that are no neighbours, of each set
AS_FOUND = 0.25  # of the candidates stay as they were found, too
JITTERS = (0.0, 0.02, 0.02, 0.05, 0.09)  # of √area: deviations of true poses that are added
JITTER_TURN = 50.0  # degrees for a deviation of √area
NUM_ACROSS, ACROSS = 2, (-0.06, 0.09)  # of √area: true joins, too narrow or too wide by so much
SETS_A_FILE = 10
PHOTOGRAPHED = 0.6  # share of the sets whose edges look as in photographs
Arrays = dict[str, Any]  # arrays by name; see examples_of


@dataclass(frozen=True)
class _Job:
    pictures: tuple[Path, ...]
    seed: int
    out: Path
    scorer: Path | None


def write_examples(
    pictures: Sequence[Path],
    out: Path,
    *,
    sets: int,
    seed: int,
    scorer: Path | None = None,
    num_workers: int = 1,
    on_progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> list[Path]:
    """Files of examples of ``sets`` broken pictures; those that are there are kept."""
    order = child_rng(seed, "pictures").permutation(len(pictures))
    chosen = [pictures[order[number % len(order)]] for number in range(sets)]
    jobs = [
        _Job(
            tuple(chosen[first : first + SETS_A_FILE]),
            child_seed(seed, "sets", first),
            out / f"seams_{first:06d}.npz",
            scorer,
        )
        for first in range(0, sets, SETS_A_FILE)
    ]
    out.mkdir(parents=True, exist_ok=True)
    missing = [job for job in jobs if not job.out.exists()]
    done = len(jobs) - len(missing)
    for _ in bounded_map(_make, missing, num_workers=num_workers):
        done += 1
        on_progress("sets", min(sets, done * SETS_A_FILE), sets)
    return [job.out for job in jobs]


def _make(job: _Job) -> None:
    made = []
    network = None if job.scorer is None else load_scorer(job.scorer)
    for number, path in enumerate(job.pictures):
        rng = child_rng(job.seed, number)
        picture = fitted(read_picture(path), SIDE_PX, least_px=64)
        broken = break_picture(picture, _how(rng), child_seed(job.seed, number))
        made.append(examples_of(broken, SEARCH, rng, network))
    with atomic_path(job.out) as part, part.open("wb") as stream:
        np.savez_compressed(stream, **joined(made))


def _how(rng: np.random.Generator) -> FreeForm:
    """How a picture breaks: from fresh tears to heavy wear, clean or badly photographed."""
    gap = 0.0 if rng.random() < 0.08 else float(np.exp(rng.uniform(np.log(0.008), np.log(0.16))))
    return FreeForm(
        (4, 9),
        weathering=Weathering(
            gap,
            uneven=float(rng.uniform(0.1, 0.6)),
            rounding=float(rng.uniform(0, 0.035)) if gap else 0.0,
            chips=float(rng.uniform(0, 1)) if gap else 0.0,
        ),
        light=float(rng.uniform(0, 0.12)),
        photographed=bool(rng.random() < PHOTOGRAPHED),
    )


def examples_of(
    broken: FragmentSet, search: Search, rng: np.random.Generator, network: SeamScorer | None
) -> Arrays:
    """Examples of one set.

    inputs   (S, I) what is measured of a join, float32
    strips   (S, 2, C, L) what is seen along its edges, float16
    error    (S,) of its pose over the tolerance, infinite where the two are no neighbours
    gap      (S,) over √area at the true pose, NaN where there is none
    set_gap  (S,) the median of these over the set
    """
    prepared = Prepared.of(broken.fragments, search)
    known = broken.true_neighbours
    pairs = [(i, j) for j in range(len(broken)) for i in range(j)]
    apart = [pair for pair in pairs if not known[pair]][:STRANGERS]
    found = [
        (each.first, each.second, each.pose)
        for row in range(1, len(broken))
        for each in row_candidates(
            prepared, row, [i for i in range(row) if known[i, row] or (i, row) in apart]
        )
    ]
    exact = [(i, j, _true(broken, i, j)) for i, j in pairs if known[i, j]]
    near = [_jittered(broken, join, share, rng) for join in exact for share in JITTERS]
    near += _moved_across(prepared, [join for join in exact for _ in range(NUM_ACROSS)], rng)
    if network is None:
        joins = _drawn_apart(prepared, found, rng) + near
    else:
        seams = Seams(prepared, network)
        left = [found[n] for n in rng.permutation(len(found))[: int(AS_FOUND * len(found))]]
        joins = _liked(seams, found) + left + near + _liked(seams, exact)
    gaps = measured(prepared.contours, *placed(exact, prepared.scale)).gaps
    gap_of = {(i, j): float(gap) for (i, j, _), gap in zip(exact, gaps, strict=True)}
    shown = measured(prepared.contours, *placed(joins, prepared.scale))
    return {
        "inputs": shown.inputs,
        "strips": shown.strips.astype(np.float16),
        "error": np.array([_error(broken, *join) for join in joins], dtype=np.float32),
        "gap": np.array([gap_of.get((i, j), np.nan) for i, j, _ in joins], dtype=np.float32),
        "set_gap": np.full(len(joins), np.median(gaps) if len(gaps) else 0.0, dtype=np.float32),
    }


def _liked(seams: Seams, joins: Sequence[JoinPose]) -> list[JoinPose]:
    return seams.polished(seams.opened(joins, OPENINGS), shift=0.04, turn=4.0, levels=3)


def _drawn_apart(
    prepared: Prepared, joins: Sequence[JoinPose], rng: np.random.Generator
) -> list[JoinPose]:
    """Every join twice, with the fragments drawn apart by other widths."""
    widths = [rng.choice((0.0, *OPENINGS), 2, replace=False) for _ in joins]
    twice = [join for join in joins for _ in range(2)]
    return _across(prepared, twice, np.concatenate(widths) if widths else np.zeros(0))


def _moved_across(
    prepared: Prepared, joins: Sequence[JoinPose], rng: np.random.Generator
) -> list[JoinPose]:
    """Joins whose gap is too narrow or too wide: what is told of it must not hang on the pose."""
    return _across(prepared, joins, rng.uniform(*ACROSS, len(joins)))


def _across(prepared: Prepared, joins: Sequence[JoinPose], widths: FloatArray) -> list[JoinPose]:
    """Every join with the fragments drawn apart by a width over √area."""
    frames = measured(prepared.contours, *placed(joins, prepared.scale)).frames
    unit = prepared.contours[0].unit / prepared.scale
    return [
        (i, j, Pose(pose.x + width * unit * x, pose.y + width * unit * y, pose.angle))
        for (i, j, pose), (_, _, x, y), width in zip(joins, frames.tolist(), widths, strict=True)
    ]


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Examples of several sets as one."""
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _true(broken: FragmentSet, i: int, j: int) -> Pose:
    first, second = broken.poses[i], broken.poses[j]
    assert first is not None
    assert second is not None
    return second.relative_to(first)


def _error(broken: FragmentSet, i: int, j: int, found: Pose) -> float:
    """How far a join is off, in tolerances, of the smaller as the larger sees it."""
    if not broken.true_neighbours[i, j]:
        return np.inf
    first, second, true = broken.fragments[i], broken.fragments[j], _true(broken, i, j)
    if first.area_px < second.area_px:
        second, found, true = first, found.inverse(), true.inverse()
    return max(
        position_error(second, found, true) / POSITION_TOLERANCE,
        angle_between(found.angle, true.angle) / ANGLE_TOLERANCE,
    )


def _jittered(
    broken: FragmentSet, join: JoinPose, share: float, rng: np.random.Generator
) -> JoinPose:
    i, j, pose = join
    root = min(broken.fragments[i].root_area, broken.fragments[j].root_area)
    dx, dy, turn = rng.normal(0, 1, 3) * share * (root, root, JITTER_TURN)
    return i, j, Pose(pose.x + dx, pose.y + dy, pose.angle + turn)
