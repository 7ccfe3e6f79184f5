"""How sure each fragment of an assembly is: from what it gains and what else it might do."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.pose import IDENTITY, Pose
from puzzleflow.core.types import FloatArray
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.growth import Placement, margin, placements


@dataclass(frozen=True)
class Limits:
    """What is asked of placements, in units of their gains.

    min_gain      less is as likely chance as truth
    min_margin    a fragment with less might as well lie elsewhere
    at_no_margin, per_margin  log of odds of being right = at_no_margin + per_margin · margin
    """

    min_gain: float
    min_margin: float
    at_no_margin: float
    per_margin: float


UNLEARNED = Limits(1.5, 1.0, -2.85, 0.534)  # fitted on 63 placements
LEARNED = Limits(1.5, 2.0, -1.64, 0.499)  # min_margin: LOG.md; odds of 803 validation placements


def margin_of(board: Board, poses: Mapping[int, Pose], index: int) -> float:
    """What a placed fragment gains beyond its other placements; see :func:`margin`."""
    rest = {i: pose for i, pose in poses.items() if i != index}
    here = Placement(0, poses[index], board.gain({index: poses[index]}, rest))
    if not math.isfinite(here.gain):
        return 0.0
    units = [{index: IDENTITY}]
    return margin(board, units, here, placements(board, units, [0], rest, rest))


def confidences(
    board: Board,
    components: Sequence[Mapping[int, Pose]],
    pinned: Collection[int],
    limits: Limits,
) -> FloatArray:
    """(N,) probability of lying right in its component; 1 where pinned, NaN where unplaced."""
    sure = np.full(len(board), np.nan)
    for poses in components:
        for index in poses:
            if index in pinned:
                sure[index] = 1.0
                continue
            beyond = min(margin_of(board, poses, index), 12.0)
            value = limits.at_no_margin + limits.per_margin * beyond
            sure[index] = 1 / (1 + math.exp(-value))
    return sure


def pruned(
    board: Board,
    components: Sequence[Mapping[int, Pose]],
    held: Collection[int],
    limits: Limits,
) -> list[dict[int, Pose]]:
    """Components without fragments that might as well lie elsewhere; what falls apart is parted.

    The weakest goes first, so that it no longer speaks against what lies beside it; what it said
    for that stays, or whole chains would fall.

    held  fragments that stay in any case
    """
    kept: list[dict[int, Pose]] = []
    for poses in components:
        left = dict(poses)
        margins = {index: margin_of(board, left, index) for index in left if index not in held}
        while margins and min(margins.values()) < limits.min_margin:
            weakest = min(margins, key=lambda index: (margins[index], index))
            away = left.pop(weakest)
            del margins[weakest]
            for index in margins:
                if board.touch(index, left[index], weakest, away):
                    margins[index] = max(margins[index], margin_of(board, left, index))
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
