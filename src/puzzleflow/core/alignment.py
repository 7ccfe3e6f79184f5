"""The best rigid motion of an answer onto the truth, and the area it then shares with it.

An answer's frame is arbitrary, so it is moved before it is judged. A least-squares
motion would let one wrong fragment drag all the others off; the *best* motion is
that which shares most area, among

- the motions that lay one fragment exactly on its true place, and
- the least-squares motion of all fragments that the best of those lays within
  tolerance, and of all fragments.

The shared area of a fragment is the part of its material that lies, after the
motion, on the true place of its own material: 1 at home, 0 far away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose, angle_between, best_motion
from puzzleflow.core.types import FloatArray

COARSE_POINTS, FINE_POINTS = 400, 10_000
MAX_TRIED = 12  # motions whose shared area is measured
POSITION_TOLERANCE = 0.1  # of √area
ANGLE_TOLERANCE = 5.0  # degrees


def shared_share(
    fragment: Fragment, found: Pose, true: Pose, *, points: int = FINE_POINTS
) -> float:
    """Share of the material at ``found`` that lies on the material at ``true``.

    Counted over pixels of material, every k-th row and column of large fragments.
    """
    motion = found.relative_to(true)  # of the fragment in its own true frame
    step = max(1, math.isqrt(fragment.area_px // points))
    rows, cols = np.nonzero(fragment.mask[step // 2 :: step, step // 2 :: step])
    if not len(rows):  # thinner than the step
        step, (rows, cols) = 1, np.nonzero(fragment.mask)
    own = np.stack([cols, rows], axis=1) * step + (step // 2 if step > 1 else 0) + 0.5  # (M, 2)
    moved = motion.apply(own - fragment.centre) + fragment.centre  # (M, 2)
    height, width = fragment.mask.shape
    col, row = np.floor(moved + 1e-9).astype(np.intp).T
    inside = (col >= 0) & (col < width) & (row >= 0) & (row < height)
    return float(np.count_nonzero(fragment.mask[row[inside], col[inside]]) / len(own))


def position_error(fragment: Fragment, found: Pose, true: Pose) -> float:
    """Distance of the centroids of the material over √area."""
    return math.dist(found.apply(fragment.centroid), true.apply(fragment.centroid)) / (
        fragment.root_area
    )


def is_right(fragment: Fragment, found: Pose, true: Pose) -> bool:
    """Whether a fragment lies within both tolerances."""
    return (
        position_error(fragment, found, true) <= POSITION_TOLERANCE
        and angle_between(found.angle, true.angle) <= ANGLE_TOLERANCE
    )


def align(
    fragments: Sequence[Fragment], found: Mapping[int, Pose], true: Mapping[int, Pose]
) -> Pose:
    """The best motion of ``found`` onto ``true``, which must share a fragment."""
    common = [index for index in found if index in true]
    anchored = [true[index] @ found[index].inverse() for index in common]
    rough = [_nearness(fragments, found, true, common, motion) for motion in anchored]
    order = sorted(range(len(common)), key=lambda i: -rough[i])[:MAX_TRIED]
    tried = [anchored[i] for i in order]
    weights = np.array([fragments[index].area_px for index in common], dtype=np.float64)

    def least_squares(members: list[int]) -> Pose:
        chosen = [common.index(index) for index in members]
        return best_motion([found[i] for i in members], [true[i] for i in members], weights[chosen])

    best = max(tried, key=lambda motion: _area(fragments, found, true, common, motion))
    right = [i for i in common if is_right(fragments[i], best @ found[i], true[i])]
    tried = [best, least_squares(common), *([least_squares(right)] if right else [])]
    areas = [_area(fragments, found, true, common, motion, FINE_POINTS) for motion in tried]
    return tried[int(np.argmax(areas))]


def _area(
    fragments: Sequence[Fragment],
    found: Mapping[int, Pose],
    true: Mapping[int, Pose],
    common: list[int],
    motion: Pose,
    points: int = COARSE_POINTS,
) -> float:
    """Shared area in pixels after a motion."""
    return sum(
        fragments[i].area_px * shared_share(fragments[i], motion @ found[i], true[i], points=points)
        for i in common
    )


def _nearness(
    fragments: Sequence[Fragment],
    found: Mapping[int, Pose],
    true: Mapping[int, Pose],
    common: list[int],
    motion: Pose,
) -> float:
    """About the shared area, from distances alone: quick."""
    total = 0.0
    for i in common:
        placed = motion @ found[i]
        away = position_error(fragments[i], placed, true[i])
        turn = angle_between(placed.angle, true[i].angle) / 180
        total += fragments[i].area_px * max(0.0, 1 - away) * (1 - turn)
    return total


def shared_area(
    fragments: Sequence[Fragment], found: Mapping[int, Pose], true: Mapping[int, Pose], motion: Pose
) -> FloatArray:
    """(N,) shared share of every fragment after a motion; 0 where it is in one only."""
    return np.array(
        [
            shared_share(fragment, motion @ found[i], true[i]) if i in found and i in true else 0.0
            for i, fragment in enumerate(fragments)
        ]
    )
