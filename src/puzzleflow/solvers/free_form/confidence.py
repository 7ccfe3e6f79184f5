"""How sure each fragment of an assembly is: from what it gains and what else it might do."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from puzzleflow.core.pose import Pose
from puzzleflow.core.types import FloatArray
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.growth import placements

# logistic of the margin; fitted on 63 placements in synthetic sets, see docs/free-form.md
AT_NO_MARGIN, PER_MARGIN = -2.85, 0.534
MIN_MARGIN = 1.0  # of these 63, none of the 15 with less lay right


def margin_of(board: Board, poses: Mapping[int, Pose], index: int) -> float:
    """What a placed fragment gains beyond its next best placement."""
    rest = {i: pose for i, pose in poses.items() if i != index}
    gain = board.gain({index: poses[index]}, rest)
    if not math.isfinite(gain):
        return 0.0
    units = [{index: Pose(0, 0)}]
    own = poses[index]
    others = [
        each.gain
        for each in placements(board, units, [0], rest, rest)
        if math.hypot(each.motion.x - own.x, each.motion.y - own.y) > 0.25 * board.roots[index]
        or abs(math.remainder(each.motion.angle - own.angle, 360)) > 15
    ]
    return gain - max([0.0, *others])


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
            value = AT_NO_MARGIN + PER_MARGIN * min(margin_of(board, poses, index), 12.0)
            sure[index] = 1 / (1 + math.exp(-value))
    return sure


def pruned(
    board: Board, components: Sequence[Mapping[int, Pose]], held: Collection[int]
) -> list[dict[int, Pose]]:
    """Components without fragments that might as well lie elsewhere; what falls apart is parted.

    held  fragments that stay in any case
    """
    kept: list[dict[int, Pose]] = []
    for poses in components:
        left = {
            index: pose
            for index, pose in poses.items()
            if index in held or margin_of(board, poses, index) >= MIN_MARGIN
        }
        kept += _parts(board, left, held)
    return sorted(kept, key=len, reverse=True)


def _parts(board: Board, poses: Mapping[int, Pose], held: Collection[int]) -> list[dict[int, Pose]]:
    """Connected parts of at least two fragments; all held ones are one part."""
    left, parts = set(poses), []
    while left:
        start = min(left, key=lambda index: (index not in held, index))
        part, edge = set(), {index for index in left if index in held} or {start}
        while edge:
            part |= edge
            left -= edge
            edge = {j for j in left if any(board.touch(i, poses[i], j, poses[j]) for i in edge)}
        if len(part) > 1 or part & set(held):
            parts.append({index: poses[index] for index in sorted(part)})
    return parts
