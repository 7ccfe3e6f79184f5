"""Poses: where a free-form fragment lies in the plane, and how it is turned.

The plane is measured in pixels of the fragments, x to the right, y downward.
A pose (x, y, angle) says that the *centre of the fragment's picture* (half its
width, half its height, whatever the material in it) lies at (x, y), and that
the fragment is turned about it by ``angle`` degrees, counter-clockwise as one
sees it, like ``PIL.Image.rotate``. With offsets (dx, dy) from that centre,

    x + cos(angle) dx + sin(angle) dy
    y - sin(angle) dx + cos(angle) dy

is where a point of the fragment goes. Pixel (row, col) of a picture covers the
square from (col, row) to (col + 1, row + 1): its middle is half a pixel in.
Angles are wrapped to (-180, 180].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.errors import InputError
from puzzleflow.core.types import FloatArray


@dataclass(frozen=True)
class Pose:
    """A rigid motion of the plane; see the module for the directions.

    As a motion it takes points of a fragment, counted from the centre of its
    picture, into the plane. ``a @ b`` first does b, then a.
    """

    x: float
    y: float
    angle: float = 0.0

    def __post_init__(self) -> None:
        x, y, angle = float(self.x), float(self.y), wrapped(self.angle)
        if not math.isfinite(x + y + angle):
            raise InputError(f"a pose needs finite numbers, not {self.x}, {self.y}, {self.angle}")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "angle", angle)

    def apply(self, points: ArrayLike) -> FloatArray:
        """(…, 2) points of the fragment (x, y) as they lie in the plane."""
        return np.asarray(np.asarray(points, dtype=np.float64) @ rotation(self.angle).T + self.xy)

    def __matmul__(self, first: Pose) -> Pose:
        cos, sin = _turn(self.angle)
        return Pose(
            self.x + cos * first.x + sin * first.y,
            self.y - sin * first.x + cos * first.y,
            self.angle + first.angle,
        )

    def inverse(self) -> Pose:
        """The motion that takes this one back."""
        cos, sin = _turn(self.angle)
        return Pose(sin * self.y - cos * self.x, -sin * self.x - cos * self.y, -self.angle)

    def relative_to(self, other: Pose) -> Pose:
        """This pose as seen from a fragment that lies at ``other``; no common motion changes it."""
        cos, sin = _turn(other.angle)
        dx, dy = self.x - other.x, self.y - other.y
        return Pose(cos * dx - sin * dy, sin * dx + cos * dy, self.angle - other.angle)

    def about(self, x: float, y: float, angle: float) -> Pose:
        """This pose after a turn of the whole plane by ``angle`` about (x, y)."""
        return Pose(x, y, angle) @ Pose(-x, -y) @ self

    @property
    def xy(self) -> FloatArray:
        """(2,) x and y."""
        return np.array([self.x, self.y])

    @classmethod
    def of_matrix(cls, matrix: ArrayLike) -> Self:
        """The rigid motion nearest to a (2 or 3, 3) matrix of homogeneous coordinates."""
        table = np.asarray(matrix, dtype=np.float64)
        sine, cosine = table[0, 1] - table[1, 0], table[0, 0] + table[1, 1]
        return cls(float(table[0, 2]), float(table[1, 2]), math.degrees(math.atan2(sine, cosine)))


def rotation(angle: float) -> FloatArray:
    """(2, 2) matrix that turns offsets (dx, dy) counter-clockwise as one sees it."""
    cos, sin = _turn(angle)
    return np.array([[cos, sin], [-sin, cos]])


def _turn(angle: float) -> tuple[float, float]:
    """Cosine and sine."""
    radians = math.radians(angle)
    return math.cos(radians), math.sin(radians)


def wrapped(angle: float) -> float:
    """The angle in (-180, 180] that turns as far."""
    if not math.isfinite(angle):
        return math.nan
    turned = math.fmod(float(angle), 360.0)
    if turned > 180:
        return turned - 360
    return turned + 360 if turned <= -180 else turned


def angle_between(first: float, second: float) -> float:
    """How far two angles differ, in [0, 180] degrees."""
    return abs(wrapped(first - second))


def as_table(poses: Iterable[Pose | None]) -> FloatArray:
    """(N, 3) x, y, angle; NaN where there is no pose."""
    rows = [(np.nan,) * 3 if pose is None else (pose.x, pose.y, pose.angle) for pose in poses]
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def of_table(table: ArrayLike) -> tuple[Pose | None, ...]:
    """Poses of (N, 3) numbers; None where one of them is NaN."""
    rows = np.asarray(table, dtype=np.float64).reshape(-1, 3)
    return tuple(None if np.isnan(row).any() else Pose(*map(float, row)) for row in rows)


def best_motion(moved: Sequence[Pose], target: Sequence[Pose], weights: ArrayLike) -> Pose:
    """The motion m that minimises Σ w (‖m p − q‖² + s² · turn²) over pairs of poses, nearly.

    s is the weighted spread of the target positions, so that angles decide
    where there is one fragment and positions where there are many. Directions
    enter as unit vectors: the sum of squares of 2 s sin(turn / 2), whose
    minimum is exact.
    """
    if not moved or len(moved) != len(target):
        raise InputError("a motion needs as many poses as targets, and at least one")
    share = np.asarray(weights, dtype=np.float64)
    share = share / share.sum()  # (N,)
    p, q = as_table(moved), as_table(target)  # (N, 3)
    from_middle, to_middle = share @ p[:, :2], share @ q[:, :2]  # (2,)
    a, b = p[:, :2] - from_middle, q[:, :2] - to_middle
    spread = float(share @ (b**2).sum(axis=1)) or 1.0
    turns = np.radians(q[:, 2] - p[:, 2])
    cosine = share @ (a * b).sum(axis=1) + spread * (share @ np.cos(turns))
    sine = share @ (a[:, 1] * b[:, 0] - a[:, 0] * b[:, 1]) + spread * (share @ np.sin(turns))
    angle = math.degrees(math.atan2(sine, cosine))
    x, y = to_middle - rotation(angle) @ from_middle
    return Pose(float(x), float(y), angle)


IDENTITY = Pose(0.0, 0.0, 0.0)
