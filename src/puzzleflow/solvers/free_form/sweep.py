"""The coarse search: two outlines laid against each other, point by point.

Two points and their normals fix a relative pose: the points lie a gap apart, the edges
face each other. All pairs of points are tried, and each pose is scored by few points of
the rims; that costs a fifth of correlating pictures at all angles, and finds as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.pose import Pose
from puzzleflow.search.compiling import compiled
from puzzleflow.solvers.free_form.contact import Arrays, Rim, arrays, score_at
from puzzleflow.solvers.free_form.contour import Contour

STRIDE = 3  # every third point of an outline is tried
AHEAD = 4  # points to either side that tell where an edge runs
POINTS = 250  # of a rim that score a pose
GAP = 0.05  # of √area between the two points
BEYOND = 40.0  # degrees by which normals may miss the turns that are allowed
NEAR_SHARE, NEAR_ANGLE = 0.12, 12.0  # of the smaller √area, degrees: nearer peaks are one
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Peak:
    """A relative pose that the coarse search found, in pixels of the fragments."""

    pose: Pose
    score: float


def thinned(rim: Rim) -> Rim:
    """The rim with few points, each of which stands for more."""
    step = max(1, len(rim.points) // POINTS)
    points, tints, trust = (
        np.ascontiguousarray(each[::step]) for each in (rim.points, rim.tints, rim.trust)
    )
    weight = rim.weight * len(rim.points) / len(points)
    return replace(rim, points=points, tints=tints, trust=trust, weight=weight)


def peaks(
    first: tuple[Contour, Rim],
    second: tuple[Contour, Rim],
    scale: float,
    count: int,
    limit: float,
) -> list[Peak]:
    """The best ``count`` poses of the second beside the first, turned by at most ``limit``.

    The rims are thinned ones.
    """
    (one, rim), (two, other) = first, second
    tried = _tried(
        arrays(rim), arrays(other), *_edges(one), *_edges(two), GAP * one.unit,
        math.radians(limit), math.radians(BEYOND),
    )  # fmt: skip
    near = NEAR_SHARE * min(rim.root, other.root)
    chosen = np.empty((0, 3))
    answer: list[Peak] = []
    for x, y, angle, score in tried[np.argsort(-tried[:, 3], kind="stable")][: 40 * count]:
        if score <= 0 or len(answer) >= count:
            break
        turn = np.abs((chosen[:, 2] - angle + math.pi) % (2 * math.pi) - math.pi)
        same = np.hypot(chosen[:, 0] - x, chosen[:, 1] - y) < near
        if (same & (turn < math.radians(NEAR_ANGLE))).any():
            continue
        chosen = np.concatenate([chosen, [[x, y, angle]]])
        answer.append(Peak(Pose(x / scale, y / scale, math.degrees(angle)), score / rim.unit))
    return answer


def _edges(ring: Contour) -> tuple[Doubles, Doubles]:
    """(M, 2) points that are tried, and where their edges face."""
    points = ring.points.astype(np.float64)
    ahead = np.roll(points, -AHEAD, axis=0) - np.roll(points, AHEAD, axis=0)
    ahead /= np.maximum(np.hypot(*ahead.T), 1e-6)[:, None]
    normals = np.stack([ahead[:, 1], -ahead[:, 0]], axis=1)
    return np.ascontiguousarray(points[::STRIDE]), np.ascontiguousarray(normals[::STRIDE])


@compiled
def _tried(
    first: Arrays, second: Arrays,
    points: Doubles, normals: Doubles, points_2: Doubles, normals_2: Doubles,
    gap: float, limit: float, beyond: float,
) -> Doubles:  # fmt: skip
    """(T, 4) x, y, angle in radians and score of all poses that are allowed."""
    found = np.empty((len(points) * len(points_2), 4))
    count = 0
    for i in range(len(points)):
        facing = math.atan2(normals[i, 1], -normals[i, 0])  # against the first's normal
        for j in range(len(points_2)):
            angle = facing - math.atan2(-normals_2[j, 1], normals_2[j, 0])
            angle -= 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)
            if abs(angle) > limit + beyond:
                continue
            angle = min(max(angle, -limit), limit)
            cos = math.cos(angle)
            sin = math.sin(angle)
            x = points[i, 0] + gap * normals[i, 0] - cos * points_2[j, 0] - sin * points_2[j, 1]
            y = points[i, 1] + gap * normals[i, 1] + sin * points_2[j, 0] - cos * points_2[j, 1]
            found[count, 0] = x
            found[count, 1] = y
            found[count, 2] = angle
            found[count, 3] = score_at(first, second, x, y, angle)
            count += 1
    return found[:count]
