"""How sure each fragment of an assembly is: from what it gains and what else it might do."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from puzzleflow.core.pose import Pose
from puzzleflow.core.types import FloatArray
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.growth import placements

# logistic of (1, gain, margin to the next best placement, fragments in the component)
WEIGHTS = (-2.0, 0.5, 0.5, 0.05)


def evidence(board: Board, poses: Mapping[int, Pose], index: int) -> tuple[float, float, float]:
    """Gain of a placed fragment, its margin to the next best placement, size of the component."""
    rest = {i: pose for i, pose in poses.items() if i != index}
    gain = board.gain({index: poses[index]}, rest)
    if not math.isfinite(gain):
        return 0.0, 0.0, float(len(poses))
    units = [{index: Pose(0, 0)}]
    own = poses[index]
    others = [
        each.gain
        for each in placements(board, units, [0], rest, rest)
        if math.hypot(each.motion.x - own.x, each.motion.y - own.y) > 0.25 * board.roots[index]
        or abs(math.remainder(each.motion.angle - own.angle, 360)) > 15
    ]
    return gain, gain - max([0.0, *others]), float(len(poses))


def confidences(
    board: Board, components: Sequence[Mapping[int, Pose]], pinned: Collection[int]
) -> FloatArray:
    """(N,) probability of lying right in its component; 1 where pinned, NaN where unplaced."""
    sure = np.full(len(board), np.nan)
    for poses in components:
        for index in poses:
            if index in pinned:
                sure[index] = 1.0
                continue
            gain, margin, size = evidence(board, poses, index)
            features = 1.0, min(gain, 12.0), max(min(margin, 12.0), -4.0), min(size, 12.0)
            value = sum(w * f for w, f in zip(WEIGHTS, features, strict=True))
            sure[index] = 1 / (1 + math.exp(-value))
    return sure
