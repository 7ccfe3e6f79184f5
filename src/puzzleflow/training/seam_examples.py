"""Examples for the seam scorer: true joins of fresh broken pictures, and likely false ones.

The false ones are what the search for candidates itself proposes, at the pose that it
proposes; that is what the scorer has to tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.alignment import position_error
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import Pose, angle_between
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import ByteArray
from puzzleflow.files import atomic_path
from puzzleflow.generation.free_form import FreeForm, break_picture
from puzzleflow.generation.weathering import Weathering
from puzzleflow.parallel import bounded_map
from puzzleflow.pictures import read_picture, resize
from puzzleflow.solvers.free_form.candidates import Prepared, Search, row_candidates
from puzzleflow.solvers.free_form.contact import refined
from puzzleflow.solvers.free_form.contour import SIGHT
from puzzleflow.solvers.free_form.seams import facts
from puzzleflow.solvers.free_form.strips import strips

SIDE_PX = 360
HARDEST, OTHERS = 6, 2  # false candidates of a pair: the likeliest, and some of the rest
TRUE_TURN, TRUE_SHIFT = 7.0, 0.14  # degrees, of the smaller √area: a candidate is true
FALSE_TURN, FALSE_SHIFT = 12.0, 0.25  # … beyond one of these it is false
JITTER_TURN, JITTER_SHIFT = 2.0, 0.03  # deviations of the true poses that are added
SEARCHES = ((0.10, 0.04, 0.6), (0.10, 0.0, 0.1), (0.12, 0.07, 0.2), (0.16, 0.10, 0.1))
SETS_A_FILE = 10
ROWS = 2  # fragments of a set that are compared with all others
Arrays = dict[str, Any]  # arrays by name; see examples_of


@dataclass(frozen=True)
class _Job:
    pictures: tuple[Path, ...]
    seed: int
    out: Path


def write_examples(
    pictures: Sequence[Path],
    out: Path,
    *,
    sets: int,
    seed: int,
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
    for number, path in enumerate(job.pictures):
        rng = child_rng(job.seed, number)
        broken = break_picture(_picture(path, rng), _how(rng), child_seed(job.seed, number))
        reach, gap, _ = SEARCHES[rng.choice(len(SEARCHES), p=[s[2] for s in SEARCHES])]
        made.append(
            examples_of(broken, Search(reach=reach, gap=gap, angle_step=15.0, peaks=20), rng)
        )
    with atomic_path(job.out) as part, part.open("wb") as stream:
        np.savez_compressed(stream, **joined(made))


def _picture(path: Path, rng: np.random.Generator) -> ByteArray:
    """A random part of a picture."""
    pixels = read_picture(path)
    height, width = pixels.shape[:2]
    share = float(rng.uniform(0.6, 1.0))
    rows, cols = max(64, int(share * height)), max(64, int(share * width))
    top, left = (
        int(rng.integers(0, max(0, s - n) + 1)) for s, n in ((height, rows), (width, cols))
    )
    part = pixels[top : top + rows, left : left + cols]
    scale = SIDE_PX / max(part.shape[:2])
    return resize(part, *(max(64, round(scale * size)) for size in part.shape[:2]))


def _how(rng: np.random.Generator) -> FreeForm:
    """How a picture breaks: from fresh tears to heavy wear."""
    gap = 0.0 if rng.random() < 0.12 else float(np.exp(rng.uniform(np.log(0.015), np.log(0.16))))
    return FreeForm(
        (4, 9),
        weathering=Weathering(
            gap,
            uneven=float(rng.uniform(0.2, 0.6)),
            rounding=float(rng.uniform(0, 0.035)) if gap else 0.0,
            chips=float(rng.uniform(0, 1)) if gap else 0.0,
        ),
        light=float(rng.uniform(0, 0.12)),
    )


def examples_of(broken: FragmentSet, search: Search, rng: np.random.Generator) -> Arrays:
    """Examples of one set.

    table  (P, C) colours behind all points of all outlines, float16
    own, other, geometry  strips, whose rows count in the table
    facts  (S, 8); is_true (S,); gap (S,) over the median √area at the true pose, NaN if false
    """
    prepared = Prepared.of(broken.fragments, search)
    known = [(int(i), int(j)) for i, j in np.argwhere(np.triu(broken.true_neighbours, 1))]
    exact = [(i, j, _true(broken, i, j)) for i, j in known]
    joins: list[tuple[int, int, Pose]] = []
    homes: list[int] = []  # the true pair of an example, -1 of a false one
    for row in rng.permutation(len(broken))[:ROWS].tolist():
        found = row_candidates(prepared, row, [i for i in range(len(broken)) if i != row])
        for other in range(len(broken)):
            pair = (other, row) if other < row else (row, other)
            home = known.index(pair) if pair in known else -1
            false = []
            for each in (c for c in found if c.first == other):
                verdict = home >= 0 and _verdict(broken, other, row, each.pose)
                if verdict:
                    joins.append((other, row, each.pose))
                    homes.append(home)
                elif verdict is False:
                    false.append((other, row, each.pose))
            rest = false[HARDEST:]
            chosen = false[:HARDEST] + [rest[n] for n in rng.permutation(len(rest))[:OTHERS]]
            joins += chosen
            homes += [-1] * len(chosen)
    for home, (i, j, pose) in enumerate(exact):
        near = _jittered(broken, i, j, pose, rng)
        first, second = prepared.rims[i], prepared.rims[j]
        best = refined(first, second, near, prepared.scale, turn=4.0, shift_px=4.0)[0]
        joins.append((i, j, near))
        homes.append(home)
        if _verdict(broken, i, j, best):
            joins.append((i, j, best))
            homes.append(home)
    rings = prepared.contours
    starts = np.cumsum([0, *map(len, rings)])
    found_strips = strips(rings, joins, prepared.scale)
    ends = np.array([[i, j] for i, j, _ in joins])
    own = _rows(found_strips.own, starts[ends])
    facing = _rows(found_strips.other, starts[ends[:, ::-1]])
    at_truth = strips(rings, exact, prepared.scale).geometry  # (T, 2, L, 6)
    faces = at_truth[..., 1]
    gaps = (
        SIGHT * (at_truth[..., 0] * faces).sum(axis=(1, 2)) / np.maximum(1, faces.sum(axis=(1, 2)))
    )
    own_pair = np.array(homes)
    gap = np.where(own_pair >= 0, gaps[own_pair], np.nan)
    return {
        "table": np.concatenate([ring.profile for ring in rings]).astype(np.float16),
        "own": own,
        "other": facing,
        "geometry": found_strips.geometry.astype(np.float16),
        "facts": facts(prepared, joins).astype(np.float16),
        "is_true": own_pair >= 0,
        "gap": gap.astype(np.float16),
    }


def _rows(rows: NDArray[np.int32], starts: NDArray[np.intp]) -> NDArray[np.int32]:
    return np.where(rows >= 0, rows + starts[:, :, None], -1).astype(np.int32)


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Examples of several sets as one."""
    starts = np.cumsum([0, *(len(part["table"]) for part in parts)])
    shifted = [
        part
        | {
            key: np.where(part[key] >= 0, part[key] + start, -1).astype(np.int32)
            for key in ("own", "other")
        }
        for part, start in zip(parts, starts[:-1], strict=True)
    ]
    return {key: np.concatenate([part[key] for part in shifted]) for key in shifted[0]}


def _true(broken: FragmentSet, i: int, j: int) -> Pose:
    first, second = broken.poses[i], broken.poses[j]
    assert first is not None
    assert second is not None
    return second.relative_to(first)


def _verdict(broken: FragmentSet, i: int, j: int, found: Pose) -> bool | None:
    """Whether a pose of a true pair is right; None where it is neither right nor wrong."""
    first, second, true = broken.fragments[i], broken.fragments[j], _true(broken, i, j)
    if first.area_px < second.area_px:
        second, found, true = first, found.inverse(), true.inverse()
    away, turn = position_error(second, found, true), angle_between(found.angle, true.angle)
    if away <= TRUE_SHIFT and turn <= TRUE_TURN:
        return True
    return False if away > FALSE_SHIFT or turn > FALSE_TURN else None


def _jittered(broken: FragmentSet, i: int, j: int, pose: Pose, rng: np.random.Generator) -> Pose:
    root = min(broken.fragments[i].root_area, broken.fragments[j].root_area)
    dx, dy = rng.normal(0, JITTER_SHIFT * root, 2)
    return Pose(pose.x + dx, pose.y + dy, pose.angle + float(rng.normal(0, JITTER_TURN)))
