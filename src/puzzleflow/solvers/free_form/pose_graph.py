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
    poses: Mapping[int, Pose],
    joins: Collection[Join],
    fixed: Collection[int],
    *,
    turning: bool = True,
) -> dict[int, Pose]:
    """Poses that minimise Σ weight · ρ(residual of a join); the fixed ones stay.

    Without ``turning`` all angles stay as they are.

    A residual is a distance over √area and the angle in radians, both of ``second`` as
    ``first`` sees it; ρ is the soft-l1 loss, so that a false join pulls little.
    """
    from scipy.optimize import least_squares

    free = [index for index in poses if index not in fixed]
    known = [join for join in joins if join.first in poses and join.second in poses]
    if not free or not known:
        return dict(poses)
    # lengths over the median √area, so that all unknowns are of one size
    unit = float(np.median([join.root for join in known]))

    numbers = {i: number for number, i in enumerate(poses)}
    start = np.array([[p.x / unit, p.y / unit, math.radians(p.angle)] for p in poses.values()])
    rows = np.array([numbers[index] for index in free])  # of the table that may change
    columns = 3 if turning else 2
    ends = np.array([[numbers[join.first], numbers[join.second]] for join in known])  # (J, 2)
    told = np.array([[j.pose.x / unit, j.pose.y / unit, math.radians(j.pose.angle)] for j in known])
    weights = np.sqrt([join.weight for join in known])

    def table(values: FloatArray) -> FloatArray:
        changed = start.copy()
        changed[rows, :columns] = values.reshape(-1, columns)
        return changed  # (N, 3)

    def residuals(values: FloatArray) -> FloatArray:
        first, second = table(values)[ends.T]  # (J, 3)
        cos, sin = np.cos(first[:, 2]), np.sin(first[:, 2])
        dx, dy = (second - first)[:, 0], (second - first)[:, 1]
        x, y = cos * dx - sin * dy, sin * dx + cos * dy  # as the first sees it
        turn = second[:, 2] - first[:, 2] - told[:, 2]
        turn = np.arctan2(np.sin(turn), np.cos(turn))
        both = np.stack([x - told[:, 0], y - told[:, 1], turn], axis=1)  # (J, 3)
        return np.asarray((both * weights[:, None]).ravel())

    begin = start[rows, :columns].ravel()
    end = table(least_squares(residuals, begin, loss="soft_l1", f_scale=SOFT, max_nfev=50).x)
    return dict(poses) | {
        index: Pose(
            float(end[row, 0] * unit),
            float(end[row, 1] * unit),
            math.degrees(float(end[row, 2])) if turning else poses[index].angle,
        )
        for index, row in zip(free, rows.tolist(), strict=True)
    }
