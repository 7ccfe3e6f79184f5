"""How well two fragments fit at one relative pose, exactly and quickly.

The points of one fragment that lie near its edge are looked up in the map of the
other, and the other way round. A point that falls within the other's reach, outside
its material, is in contact: it gains (1 + GAIN) · likeness − 1, where likeness compares
its colour with that of the other's nearest material. Contact counts less the farther
that material is, and where the point's own edge is straight. A point that falls on
material is overlap and loses OVERLAP_LOSS.

Edges are worn: fragments that touch lie too near. A point nearer than the gap that is
expected loses CROWD_LOSS, so that the best pose leaves about that gap. Scores are
areas over √area · reach of the median fragment of the set, so a long contact is worth
more than a short one, whoever has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree

from puzzleflow.core.contact import outline_points
from puzzleflow.core.pose import Pose
from puzzleflow.core.types import FloatArray
from puzzleflow.search.compiling import compiled
from puzzleflow.solvers.free_form.extended import extended
from puzzleflow.solvers.free_form.scaled import ScaledSet

GAIN = 5.0
OVERLAP_LOSS = 15.0
MAX_POINTS = 900
CROWD_LOSS = 0.2 * GAIN
STRAIGHT_OVER = 0.3  # of √area: radius within which an edge is looked at
ROUGH = 0.03  # of √area: deviation from a line that makes an edge rough
STRAIGHT_TRUST = 0.2
Floats = NDArray[np.float32]
Sums = tuple[float, float, float, float, float, float, float]
Arrays = tuple[Floats, Floats, Floats, Floats, Floats, float, float, float]


@dataclass(frozen=True, eq=False)
class Rim:
    """What one fragment offers to the comparison, in pixels of its scale.

    distance  (H, W) to the nearest material; 0 on material
    colours   (H, W, 3) normalised; beyond the edge those of the nearest material
    points    (M, 2) x, y of material near the edge, from the centre
    tints     (M, 3) their colours
    weight    pixels for which a point stands
    trust     (M,) how much contact of a point counts: little where the edge is straight
    reach     how far the fragment is extended
    gap       that is expected between it and its neighbours
    root      √area
    unit      √area · reach of the median fragment of the set: of what areas are counted in
    """

    distance: Floats
    colours: Floats
    points: Floats
    tints: Floats
    trust: Floats
    weight: float
    reach: float
    gap: float
    root: float
    unit: float


def rims(scaled: ScaledSet) -> tuple[Rim, ...]:
    """One for each fragment of a set."""
    count = len(scaled.pictures)
    unit = float(np.median([scaled.root_px(i) * scaled.reach_px(i) for i in range(count)]))
    return tuple(_rim(scaled, index, unit) for index in range(count))


def _rim(scaled: ScaledSet, index: int, unit: float) -> Rim:
    reach = scaled.reach_px(index)
    shown = extended(scaled.pictures[index], 0.0, reach, scaled.palette)
    distance = ndimage.distance_transform_edt(~shown.material)
    depth = ndimage.distance_transform_edt(shown.material)
    rows, cols = np.nonzero(shown.material & (depth <= 1.6 * reach))
    step = max(1, math.ceil(len(rows) / MAX_POINTS))
    order = np.random.default_rng(0).permutation(len(rows))[: math.ceil(len(rows) / step)]
    order.sort()
    kept_rows, kept_cols = rows[order], cols[order]
    height, width = shown.shape
    points = np.stack([kept_cols + 0.5 - width / 2, kept_rows + 0.5 - height / 2], axis=1)
    return Rim(
        np.asarray(distance, np.float32),
        shown.colours,
        np.asarray(points, np.float32),
        shown.colours[kept_rows, kept_cols],
        _trust(points, outline_points(shown.material), scaled.root_px(index)),
        len(rows) / len(order),
        reach,
        scaled.gap_px(index),
        scaled.root_px(index),
        unit,
    )


def _trust(points: FloatArray, outline: FloatArray, root: float) -> Floats:
    """(M,) in [STRAIGHT_TRUST, 1]: how rough the edge is near each point.

    Straight edges are mostly those of the picture or the sheet: they fit each other
    everywhere and say nothing. Roughness is the deviation of the outline from a line.
    """
    around = cKDTree(outline)
    rough = _roughness(np.ascontiguousarray(outline, np.float64), STRAIGHT_OVER * root)
    nearest = around.query(points)[1]
    return np.asarray(np.clip(rough[nearest] / (ROUGH * root), STRAIGHT_TRUST, 1), np.float32)


@compiled
def _roughness(outline: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """(M,) deviation of the outline from a line, within ``radius`` of each of its points."""
    count = outline.shape[0]
    rough = np.ones(count)
    for k in range(count):
        n = 0
        sx = sy = sxx = sxy = syy = 0.0
        for m in range(count):
            dx = outline[m, 0] - outline[k, 0]
            dy = outline[m, 1] - outline[k, 1]
            if dx * dx + dy * dy <= radius * radius:
                n += 1
                sx += dx
                sy += dy
                sxx += dx * dx
                sxy += dx * dy
                syy += dy * dy
        if n > 2:
            xx = (sxx - sx * sx / n) / (n - 1)
            xy = (sxy - sx * sy / n) / (n - 1)
            yy = (syy - sy * sy / n) / (n - 1)
            least = (xx + yy) / 2 - math.sqrt((xx - yy) ** 2 / 4 + xy * xy)
            rough[k] = math.sqrt(max(0.0, least))
    return rough


@dataclass(frozen=True)
class Fit:
    """Two fragments at one pose.

    score     the sum that the module describes
    contact   area in contact, in units
    likeness  mean of the likeness over the contact
    overlap   area of overlap, in units
    gap       mean distance of points in contact over the reach
    overlap_share  overlap over the smaller area
    """

    score: float
    contact: float
    likeness: float
    overlap: float
    gap: float
    overlap_share: float


def fit(first: Rim, second: Rim, pose: Pose, scale: float) -> Fit:
    """At a pose of ``second`` seen from ``first``, in pixels of the fragments."""
    x, y, angle = pose.x * scale, pose.y * scale, math.radians(pose.angle)
    sums = _sums(*arrays(first), *arrays(second), x, y, angle)
    contact, like, overlap, gap, _, _, _ = sums
    unit = first.unit
    return Fit(
        _value(sums) / unit,
        contact / unit,
        like / contact if contact else 0.0,
        overlap / unit,
        gap / contact if contact else 1.0,
        overlap / min(first.root, second.root) ** 2,
    )


def refined(
    first: Rim,
    second: Rim,
    pose: Pose,
    scale: float,
    *,
    turn: float,
    shift_px: float,
    levels: int = 4,
) -> tuple[Pose, float]:
    """The nearest best pose by steps that halve, beginning with ``turn`` and ``shift_px``.

    Turns are about the middle of the contact, not about the centre of the fragment.
    """
    start = np.array([pose.x * scale, pose.y * scale, math.radians(pose.angle)])
    end, score = _climb(
        *arrays(first), *arrays(second), start, math.radians(turn), shift_px, levels
    )
    moved = Pose(end[0] / scale, end[1] / scale, math.degrees(end[2]))
    return moved, float(score / first.unit)


def arrays(rim: Rim) -> Arrays:
    """What compiled functions are told of a rim."""
    return (
        rim.distance,
        rim.colours,
        rim.points,
        rim.tints,
        rim.trust,
        rim.weight,
        rim.reach,
        rim.gap,
    )


@compiled
def _one_side(
    distance: Floats, colours: Floats, reach: float, gap: float, points: Floats, tints: Floats,
    trust: Floats, weight: float,
    a: float, b: float, c: float, d: float, x: float, y: float, limit: float,
) -> Sums:  # fmt: skip
    """Sums over points mapped by (a, b; c, d) + (x, y) into the map of the other."""
    height, width = distance.shape
    contact = 0.0
    like = 0.0
    overlap = 0.0
    crowd = 0.0
    apart = 0.0
    mid_x = 0.0
    mid_y = 0.0
    off_x = x + width / 2.0
    off_y = y + height / 2.0
    for k in range(points.shape[0]):
        px = points[k, 0]
        py = points[k, 1]
        at_x = a * px + b * py + off_x
        at_y = c * px + d * py + off_y
        if at_x < 0 or at_y < 0 or at_x >= width or at_y >= height:
            continue
        col = int(at_x)
        row = int(at_y)
        away = distance[row, col]
        if away > reach:
            continue
        if away <= 0.0:
            overlap += weight
            continue
        if away < gap:
            crowd += weight
            continue
        total = 0.0
        for channel in range(3):
            difference = colours[row, col, channel] - tints[k, channel]
            total += difference * difference
        # the nearer, the better its colour is known
        sure = trust[k] * weight * 2.0 * (1.0 - away / (reach + 1.0))
        contact += sure
        if total < limit:
            like += sure * math.exp(-total)
        apart += sure * away / reach
        mid_x += sure * px
        mid_y += sure * py
    return contact, like, overlap, apart, mid_x, mid_y, crowd


@compiled
def _sums(
    distance_1: Floats, colours_1: Floats, points_1: Floats, tints_1: Floats,
    trust_1: Floats, weight_1: float, reach_1: float, gap_1: float,
    distance_2: Floats, colours_2: Floats, points_2: Floats, tints_2: Floats,
    trust_2: Floats, weight_2: float, reach_2: float, gap_2: float,
    x: float, y: float, angle: float,
) -> Sums:  # fmt: skip
    """Contact, likeness, overlap, gap and middle of the contact in the second's frame."""
    cos = math.cos(angle)
    sin = math.sin(angle)
    one = _one_side(
        distance_1, colours_1, reach_1, gap_1, points_2, tints_2, trust_2, weight_2,
        cos, sin, -sin, cos, x, y, 12.0,
    )  # fmt: skip
    two = _one_side(
        distance_2, colours_2, reach_2, gap_2, points_1, tints_1, trust_1, weight_1,
        cos, -sin, sin, cos, -(cos * x - sin * y), -(sin * x + cos * y), 12.0,
    )  # fmt: skip
    return (
        one[0] + two[0],
        one[1] + two[1],
        (one[2] + two[2]) / 2.0,
        one[3] + two[3],
        one[4] / one[0] if one[0] > 0 else 0.0,
        one[5] / one[0] if one[0] > 0 else 0.0,
        one[6] + two[6],
    )


@compiled
def _value(sums: Sums) -> float:
    return (1.0 + GAIN) * sums[1] - sums[0] - OVERLAP_LOSS * sums[2] - CROWD_LOSS * sums[6]


@compiled
def score_at(first: Arrays, second: Arrays, x: float, y: float, angle: float) -> float:
    """The score of two rims at a pose in pixels of their scale, not yet over the unit."""
    return _value(_sums(*first, *second, x, y, angle))


@compiled
def _climb(
    distance_1: Floats, colours_1: Floats, points_1: Floats, tints_1: Floats,
    trust_1: Floats, weight_1: float, reach_1: float, gap_1: float,
    distance_2: Floats, colours_2: Floats, points_2: Floats, tints_2: Floats,
    trust_2: Floats, weight_2: float, reach_2: float, gap_2: float,
    start: NDArray[np.float64], turn: float, shift: float, levels: int,
) -> tuple[NDArray[np.float64], float]:  # fmt: skip
    """Compass search: each step is tried both ways, and halved when none helps."""
    best = start.copy()
    sums = _sums(
        distance_1, colours_1, points_1, tints_1, trust_1, weight_1, reach_1, gap_1,
        distance_2, colours_2, points_2, tints_2, trust_2, weight_2, reach_2, gap_2,
        best[0], best[1], best[2],
    )  # fmt: skip
    value = _value(sums)
    trial = np.empty(3)
    for _ in range(levels):
        for _ in range(4):
            improved = False
            for axis in range(3):
                for sign in (-1.0, 1.0):
                    trial[:] = best
                    if axis < 2:
                        trial[axis] += sign * shift
                    else:
                        trial[2] += sign * turn
                        # keep the middle of the contact where it is
                        mx = sums[4]
                        my = sums[5]
                        c0 = math.cos(best[2])
                        s0 = math.sin(best[2])
                        c1 = math.cos(trial[2])
                        s1 = math.sin(trial[2])
                        trial[0] += c0 * mx + s0 * my - c1 * mx - s1 * my
                        trial[1] += -s0 * mx + c0 * my + s1 * mx - c1 * my
                    found = _sums(
                        distance_1, colours_1, points_1, tints_1, trust_1, weight_1, reach_1, gap_1,
                        distance_2, colours_2, points_2, tints_2, trust_2, weight_2, reach_2, gap_2,
                        trial[0], trial[1], trial[2],
                    )  # fmt: skip
                    if _value(found) > value:
                        best[:] = trial
                        sums = found
                        value = _value(found)
                        improved = True
            if not improved:
                break
        turn /= 2.0
        shift /= 2.0
    return best, value
