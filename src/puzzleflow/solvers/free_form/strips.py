"""The seam of two placed fragments as a strip: point by point along an edge, what faces it.

A strip runs along the outline of one fragment, L points with the middle of the contact
in its middle. Every point tells the colours behind it, those behind the point of the
other fragment that is nearest, and how the two edges lie to each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.pose import Pose
from puzzleflow.search.compiling import compiled
from puzzleflow.solvers.free_form.contour import DEPTHS, SIGHT, Contour

LENGTH = 56  # L, points of a strip
GEOMETRY = 6  # numbers that a point tells beside colours
COLOURS = 3 * len(DEPTHS)
FACING = -0.2  # cosine of normals from which two edges face each other
Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Strips:
    """S seams, each seen along the edge of the first fragment and of the second.

    own       (S, 2, L) row of the point in the table of its fragment; -1 beyond a short outline
    other     (S, 2, L) row of the point of the other fragment; -1 where nothing faces it
    geometry  (S, 2, L, 6) distance over SIGHT, whether the edges face each other, cosine and
              sine between the normals, offset along the edge over SIGHT, advance of the other
    """

    own: Ints
    other: Ints
    geometry: Floats

    def __len__(self) -> int:
        return len(self.own)


def strips(
    rings: Sequence[Contour], joins: Sequence[tuple[int, int, Pose]], scale: float
) -> Strips:
    """Of joins (first, second, pose of the second seen from the first in fragments' pixels).

    Rows count points within one fragment.
    """
    count = len(joins)
    own = np.full((count, 2, LENGTH), -1, dtype=np.int32)
    other = np.full((count, 2, LENGTH), -1, dtype=np.int32)
    geometry = np.zeros((count, 2, LENGTH, GEOMETRY), dtype=np.float32)
    for number, (i, j, pose) in enumerate(joins):
        for side, (first, second, seen) in enumerate(((i, j, pose), (j, i, pose.inverse()))):
            along, facing = rings[first], rings[second]
            _strip(
                along.points, along.normals, facing.points, facing.normals,
                facing.nearest, facing.distance, SIGHT * along.unit,
                seen.x * scale, seen.y * scale, math.radians(seen.angle),
                own[number, side], other[number, side], geometry[number, side],
            )  # fmt: skip
    return Strips(own, other, geometry)


@compiled
def _strip(
    points: Floats, normals: Floats, points_2: Floats, normals_2: Floats,
    nearest: Ints, distance: Floats, sight: float,
    x: float, y: float, angle: float,
    own: Ints, other: Ints, geometry: Floats,
) -> None:  # fmt: skip
    """Fill one strip; the second fragment lies at (x, y, angle) as the first sees it."""
    cos = math.cos(angle)
    sin = math.sin(angle)
    height, width = distance.shape
    count = points.shape[0]
    rows = np.full(count, -1, np.int32)
    told = np.zeros((count, 6), np.float32)
    mid_x = 0.0
    mid_y = 0.0
    turn = 2.0 * math.pi / count
    for i in range(count):
        dx = points[i, 0] - x
        dy = points[i, 1] - y
        at_x = cos * dx - sin * dy + width / 2.0  # as the second sees it
        at_y = sin * dx + cos * dy + height / 2.0
        told[i, 0] = 1.0
        if at_x < 0 or at_y < 0 or at_x >= width or at_y >= height:
            continue
        away = distance[int(at_y), int(at_x)]
        if away > sight or away < -sight:
            continue
        j = nearest[int(at_y), int(at_x)]
        nx = cos * normals[i, 0] - sin * normals[i, 1]
        ny = sin * normals[i, 0] + cos * normals[i, 1]
        cosine = nx * normals_2[j, 0] + ny * normals_2[j, 1]
        sine = nx * normals_2[j, 1] - ny * normals_2[j, 0]
        off_x = at_x - width / 2.0 - points_2[j, 0]
        off_y = at_y - height / 2.0 - points_2[j, 1]
        slide = -off_x * normals_2[j, 1] + off_y * normals_2[j, 0]
        rows[i] = j
        told[i, 0] = max(away / sight, -1.0)
        told[i, 2] = cosine
        told[i, 3] = sine
        told[i, 4] = min(max(slide / sight, -2.0), 2.0)
        if cosine < FACING:
            told[i, 1] = 1.0
            weight = 1.0 - told[i, 0]
            mid_x += weight * math.cos(i * turn)
            mid_y += weight * math.sin(i * turn)
    for i in range(count):
        ahead = rows[(i + 1) % count]
        if rows[i] >= 0 and ahead >= 0:
            step = rows[i] - ahead  # outlines run against each other
            size = points_2.shape[0]
            step = (step + size // 2) % size - size // 2
            told[i, 5] = min(max(step / 4.0, -1.0), 1.0)
    middle = round(math.atan2(mid_y, mid_x) / turn)
    length = own.shape[0]
    used = min(length, count)
    first = (length - used) // 2
    for k in range(used):
        i = (middle - used // 2 + k) % count
        own[first + k] = i
        other[first + k] = rows[i]
        geometry[first + k] = told[i]
