"""Relative poses in steps too small to matter: joins are judged there, once.

A key (i, j, x, y, angle), i < j, says in whole steps how fragment j lies as i sees it. An
answer that is asked for by keys does not depend on what was asked before.
"""

from __future__ import annotations

import math

from puzzleflow.core.pose import Pose

STEP_SHARE, STEP_ANGLE = 0.005, 0.5  # of the median √area, degrees
Key = tuple[int, int, int, int, int]


def key_of(i: int, first: Pose, j: int, second: Pose, step: float) -> Key:
    """Of two placed fragments; ``step`` in pixels of the fragments."""
    if i > j:
        i, first, j, second = j, second, i, first
    angle = math.radians(first.angle)
    cos, sin = math.cos(angle), math.sin(angle)
    dx, dy = second.x - first.x, second.y - first.y
    turn = (second.angle - first.angle + 180.0) % 360.0 - 180.0
    return (
        i,
        j,
        round((cos * dx - sin * dy) / step),
        round((sin * dx + cos * dy) / step),
        round(turn / STEP_ANGLE),
    )


def pose_of(key: Key, step: float) -> Pose:
    """Of the second fragment of a key, seen from the first."""
    return Pose(key[2] * step, key[3] * step, key[4] * STEP_ANGLE)
