"""How right an assembly is. Shares lie in [0, 1]; NaN = not defined for this set.

The *judged* fragments are those with a known true pose. The largest component
(most material) is moved onto the truth by the best motion of
:mod:`puzzleflow.core.alignment`; what lies in smaller components or nowhere counts
as not placed.

q_pos            Σ area · shared share of the largest component over Σ area of all
                 judged fragments: the corrected Q_pos
right            share of judged fragments within 5 degrees and 0.1 √area
all_right        1 if all judged fragments are right and no foreign one was joined on
position_error   mean distance of centroids over √area, of judged fragments in the
                 largest component; angle_error likewise, in degrees, wrapped
neighbour_*      pairs that touch within a component of the answer against true
                 neighbours: precision, recall, F1, by adjacency alone
joined_*         the same, where a pair is right only if its relative pose is too:
                 within 10 degrees and 0.2 √area of the smaller (two fragments may
                 be off)
overlap          share of placed material that lies over other material
foreign_*        fragments left out (in no component, or alone in one) against those
                 known to be foreign; NaN without any
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from puzzleflow.core.alignment import (
    ANGLE_TOLERANCE,
    POSITION_TOLERANCE,
    align,
    is_right,
    position_error,
    shared_area,
)
from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import Fragment, FragmentSet, neighbours
from puzzleflow.core.intervals import Estimate, bootstrap_mean
from puzzleflow.core.plane import place, window_around
from puzzleflow.core.pose import Pose, angle_between
from puzzleflow.core.types import BoolArray

PAIR_FACTOR = 2.0  # both fragments of a pair may be off
RASTER_PX = 48.0  # √area of the median fragment where overlap is measured
MAX_SIDE_PX = 4000  # of that raster


@dataclass(frozen=True)
class AssemblyScores:
    """One assembly against the truth; the module says what is what."""

    q_pos: float
    right: float
    all_right: float
    position_error: float
    angle_error: float
    neighbour_precision: float
    neighbour_recall: float
    neighbour_f1: float
    joined_precision: float
    joined_recall: float
    joined_f1: float
    overlap: float
    foreign_precision: float
    foreign_recall: float
    foreign_f1: float

    def as_dict(self) -> dict[str, float]:
        """By name."""
        return asdict(self)


def score_assembly(fragments: FragmentSet, assembly: Assembly) -> AssemblyScores:
    """All scores of one answer."""
    if assembly.num_fragments != len(fragments):
        raise InputError(
            f"an assembly of {assembly.num_fragments} fragments for a set of {len(fragments)}"
        )
    true = {i: pose for i, pose in enumerate(fragments.poses) if pose is not None}
    if not true:
        raise InputError(f"{fragments.name or 'the set'}: no fragment has a known pose")
    parts, areas = fragments.fragments, fragments.areas
    largest = assembly.largest(areas)
    common = [i for i in largest if i in true]
    q_pos = right = 0.0
    away = turn = math.nan
    if common:
        motion = align(parts, largest, true)
        moved = {i: motion @ largest[i] for i in common}
        q_pos = float(shared_area(parts, largest, true, motion) @ areas / areas[list(true)].sum())
        right = sum(is_right(parts[i], moved[i], true[i]) for i in common) / len(true)
        away = float(np.mean([position_error(parts[i], moved[i], true[i]) for i in common]))
        turn = float(np.mean([angle_between(moved[i].angle, true[i].angle) for i in common]))
    foreign = _foreign(fragments, assembly)
    joined_foreign = any(
        i in c for c in assembly.components if len(c) > 1 for i in fragments.foreign
    )
    found = answered_neighbours(fragments, assembly)
    known = fragments.true_neighbours
    hits = found & known
    posed = hits & _pairs_right(fragments, assembly)
    return AssemblyScores(
        q_pos,
        right,
        float(right == 1.0 and not joined_foreign),
        away,
        turn,
        *_precision_recall(hits.sum(), found.sum(), known.sum()),
        *_precision_recall(posed.sum(), found.sum(), known.sum()),
        overlap_share(parts, assembly),
        *foreign,
    )


def rightly_placed(fragments: FragmentSet, assembly: Assembly) -> dict[int, bool]:
    """Fragment → whether it lies right, of all judged ones in the largest component."""
    true = {i: pose for i, pose in enumerate(fragments.poses) if pose is not None}
    largest = assembly.largest(fragments.areas)
    common = [i for i in largest if i in true]
    if not common:
        return {}
    parts, motion = fragments.fragments, align(fragments.fragments, largest, true)
    return {i: is_right(parts[i], motion @ largest[i], true[i]) for i in common}


def summary(scores: Sequence[AssemblyScores], *, seed: int = 0) -> dict[str, Estimate]:
    """Means over sets with bootstrap intervals; a set without a score is left out of its mean."""
    rows = [each.as_dict() for each in scores]
    means = {}
    for name in AssemblyScores.__dataclass_fields__:
        values = np.array([row[name] for row in rows], dtype=np.float64)
        values = values[np.isfinite(values)]
        if len(values):
            means[name] = bootstrap_mean(values, seed=seed)
    return means


def answered_neighbours(fragments: FragmentSet, assembly: Assembly) -> BoolArray:
    """(N, N) fragments that touch within a component of the answer."""
    found = np.zeros((len(fragments),) * 2, dtype=np.bool_)
    for component in assembly.components:
        found |= neighbours(fragments.fragments, assembly.poses(component))
    return found


def pair_is_right(
    first: Fragment, second: Fragment, found: Pose, true: Pose, *, factor: float = PAIR_FACTOR
) -> bool:
    """Whether a pose of ``second`` seen from ``first`` is right, by the smaller's √area.

    Measured where the larger fragment is held fast.
    """
    if first.area_px < second.area_px:
        first, second, found, true = second, first, found.inverse(), true.inverse()
    return (
        position_error(second, found, true) <= factor * POSITION_TOLERANCE
        and angle_between(found.angle, true.angle) <= factor * ANGLE_TOLERANCE
    )


def _pairs_right(fragments: FragmentSet, assembly: Assembly) -> BoolArray:
    """(N, N) pairs of one component whose relative pose is right."""
    right = np.zeros((len(fragments),) * 2, dtype=np.bool_)
    for component in assembly.components:
        for i in component:
            for j in component:
                if i < j:
                    right[i, j] = right[j, i] = _relative_right(fragments, component, i, j)
    return right


def _relative_right(fragments: FragmentSet, found: Mapping[int, Pose], i: int, j: int) -> bool:
    first, second = fragments.poses[i], fragments.poses[j]
    if first is None or second is None:
        return False
    return pair_is_right(
        fragments.fragments[i],
        fragments.fragments[j],
        found[j].relative_to(found[i]),
        second.relative_to(first),
    )


def candidate_is_right(fragments: FragmentSet, candidate: Candidate) -> bool:
    """Whether a candidate joins two true neighbours in their true relative pose."""
    i, j = candidate.first, candidate.second
    if not fragments.true_neighbours[i, j]:
        return False
    return _relative_right(fragments, {i: Pose(0, 0), j: candidate.pose}, i, j)


def pair_recall(fragments: FragmentSet, candidates: Sequence[Candidate], k: int) -> float:
    """Share of true neighbours with a right candidate among the k best of their pair."""
    pairs = {(int(i), int(j)) for i, j in np.argwhere(np.triu(fragments.true_neighbours, 1))}
    ranked = sorted(candidates, key=lambda each: -each.score)
    seen: dict[tuple[int, int], int] = {}
    found: set[tuple[int, int]] = set()
    for each in ranked:
        pair = min(each.first, each.second), max(each.first, each.second)
        seen[pair] = seen.get(pair, 0) + 1
        if pair in pairs - found and seen[pair] <= k and candidate_is_right(fragments, each):
            found.add(pair)
    return len(found) / len(pairs) if pairs else math.nan


def fragment_recall(fragments: FragmentSet, candidates: Sequence[Candidate], k: int) -> float:
    """Share of fragments with true neighbours that have a right candidate among their k best."""
    wanted = set(np.flatnonzero(fragments.true_neighbours.any(axis=1)).tolist())
    ranked = sorted(candidates, key=lambda each: -each.score)
    seen = dict.fromkeys(range(len(fragments)), 0)
    found: set[int] = set()
    for each in ranked:
        ends = [i for i in (each.first, each.second) if seen[i] < k]
        for i in ends:
            seen[i] += 1
        if not found.issuperset(ends) and candidate_is_right(fragments, each):
            found.update(ends)
    return len(found & wanted) / len(wanted) if wanted else math.nan


def overlap_share(fragments: Sequence[Fragment], assembly: Assembly) -> float:
    """Share of placed material that lies over other material of its component; 0 if none is.

    Measured on a raster on which the median fragment has √area = 48 pixels.
    """
    root = float(np.median([fragment.root_area for fragment in fragments]))
    placed = over = 0.0
    for component in assembly.components:
        members = [fragments[i] for i in component]
        poses = list(component.values())
        scale = min(1.0, RASTER_PX / root)
        window = window_around(members, poses, scale=scale, max_side_px=MAX_SIDE_PX)
        cover = np.zeros((window.height, window.width), dtype=np.int32)
        for fragment, pose in zip(members, poses, strict=True):
            patch = place(fragment, pose, window)
            cover[patch.box] += patch.alpha > 0.5
        placed += float(cover.sum())
        over += float((cover - 1)[cover > 1].sum())
    return over / placed if placed else 0.0


def _foreign(fragments: FragmentSet, assembly: Assembly) -> tuple[float, float, float]:
    if not fragments.foreign:
        return (math.nan,) * 3
    kept = {i for component in assembly.components if len(component) > 1 for i in component}
    left_out = set(range(len(fragments))) - kept
    return _precision_recall(
        len(left_out & fragments.foreign), len(left_out), len(fragments.foreign)
    )


def _precision_recall(hits: int, found: int, known: int) -> tuple[float, float, float]:
    """Precision, recall and F1; what was not found or is not known gives NaN, F1 0 if one is."""
    if not found and not known:
        return (math.nan,) * 3
    precision = float(hits / found) if found else math.nan
    recall = float(hits / known) if known else math.nan
    return precision, recall, float(2 * hits / (found + known))
