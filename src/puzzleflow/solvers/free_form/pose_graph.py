"""All poses of a component moved a little, so that its joins agree: a robust pose graph."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.pose import Pose
from puzzleflow.core.types import FloatArray

SOFT = 0.02  # of √area: residuals beyond it count less and less


@dataclass(frozen=True)
class Join:
    """A relative pose that was measured: of ``second`` seen from ``first``."""

    first: int
    second: int
    pose: Pose
    weight: float
    root: float


def adjusted(
    poses: Mapping[int, Pose], joins: Collection[Join], fixed: Collection[int]
) -> dict[int, Pose]:
    """Poses that minimise Σ weight · ρ(residual of a join); the fixed ones stay.

    A residual is a distance over √area and the angle in radians, both of ``second`` as
    ``first`` sees it; ρ is the soft-l1 loss, so that a false join pulls little.
    """
    from scipy.optimize import least_squares

    free = [index for index in poses if index not in fixed]
    known = [join for join in joins if join.first in poses and join.second in poses]
    if not free or not known:
        return dict(poses)
    place = {index: number for number, index in enumerate(free)}
    # lengths over the median √area, so that all unknowns are of one size
    unit = float(np.median([join.root for join in known]))

    def table(values: FloatArray) -> FloatArray:
        rows = values.reshape(-1, 3)
        all_poses = {i: (p.x / unit, p.y / unit, math.radians(p.angle)) for i, p in poses.items()}
        return np.array(
            [[(rows[place[i]] if i in place else all_poses[i]) for i in ends] for ends in pairs]
        )  # (J, 2, 3)

    pairs = [(join.first, join.second) for join in known]
    told = np.array([[j.pose.x / unit, j.pose.y / unit, math.radians(j.pose.angle)] for j in known])
    weights = np.sqrt([join.weight for join in known])

    def residuals(values: FloatArray) -> FloatArray:
        ends = table(values)
        first, second = ends[:, 0], ends[:, 1]  # (J, 3)
        cos, sin = np.cos(first[:, 2]), np.sin(first[:, 2])
        dx, dy = (second - first)[:, 0], (second - first)[:, 1]
        x, y = cos * dx - sin * dy, sin * dx + cos * dy  # as the first sees it
        turn = second[:, 2] - first[:, 2] - told[:, 2]
        turn = np.arctan2(np.sin(turn), np.cos(turn))
        both = np.stack([x - told[:, 0], y - told[:, 1], turn], axis=1)  # (J, 3)
        return np.asarray((both * weights[:, None]).ravel())

    start = np.array(
        [[poses[i].x / unit, poses[i].y / unit, math.radians(poses[i].angle)] for i in free]
    ).ravel()
    end = least_squares(residuals, start, loss="soft_l1", f_scale=SOFT, max_nfev=50).x
    rows = end.reshape(-1, 3)
    return dict(poses) | {
        index: Pose(
            float(rows[k, 0] * unit), float(rows[k, 1] * unit), math.degrees(float(rows[k, 2]))
        )
        for index, k in place.items()
    }
