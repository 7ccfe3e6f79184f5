"""Components grown best first from units: single fragments, or groups that hold together.

At every step the placement with the largest gain is taken. A gain counts all
fragments that are placed already, so a pose that agrees with several of them
(a loop that closes) wins over one that agrees with a single one, and one that
lies over others is out. Growth ends when no placement gains enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from puzzleflow.core.pose import IDENTITY, Pose, angle_between
from puzzleflow.core.types import FloatArray
from puzzleflow.solvers.free_form.base import Snap
from puzzleflow.solvers.free_form.board import Board

Group = Mapping[int, Pose]

SAME_SHARE, SAME_ANGLE = 0.08, 4.0  # of √area, degrees: nearer placements are one
STEPS = 3  # of one size, when a placement settles
ELSEWHERE, OTHERWISE = 0.25, 15.0  # of √area, degrees: farther placements contradict each other


@dataclass(frozen=True)
class Placement:
    """A unit at a motion, and what that gains."""

    unit: int
    motion: Pose
    gain: float


@dataclass(frozen=True, eq=False)
class Grown:
    """A component: fragment → pose, which units it holds, and the sum of its gains."""

    poses: dict[int, Pose]
    units: tuple[int, ...]
    total: float


def moved(group: Group, motion: Pose) -> dict[int, Pose]:
    """The group after a common motion."""
    return {index: motion @ pose for index, pose in group.items()}


def placements(
    board: Board, units: Sequence[Group], wanted: Iterable[int], anchors: Group, placed: Group
) -> list[Placement]:
    """Where ``wanted`` units may lie, seen from candidates of the ``anchors``; best first.

    anchors  members of ``placed`` whose candidates are asked
    """
    home = {index: unit for unit in wanted for index in units[unit]}
    found: dict[int, list[Placement]] = {}
    for anchor, pose in anchors.items():
        for each in board.around[anchor]:
            unit = home.get(each.second)
            if unit is None:
                continue
            motion = pose @ each.pose @ units[unit][each.second].inverse()
            others = found.setdefault(unit, [])
            if not any(_same(board, units, unit, motion, other) for other in others):
                others.append(Placement(unit, motion, 0.0))
    every = [each for others in found.values() for each in others]
    return sorted(_gained(board, units, every, placed), key=lambda each: -each.gain)


def _gained(
    board: Board, units: Sequence[Group], found: Sequence[Placement], placed: Group
) -> list[Placement]:
    """Placements with what the placed ones add to their gains; without those that cannot be."""
    gains = board.gains([moved(units[each.unit], each.motion) for each in found], placed)
    return [
        replace(each, gain=each.gain + gain)
        for each, gain in zip(found, gains, strict=True)
        if gain > -math.inf
    ]


def _same(
    board: Board,
    units: Sequence[Group],
    unit: int,
    motion: Pose,
    other: Placement,
    share: float = SAME_SHARE,
    angle: float = SAME_ANGLE,
) -> bool:
    if other.unit != unit or angle_between(other.motion.angle, motion.angle) > angle:
        return False
    index, pose = next(iter(units[unit].items()))
    one, two = motion @ pose, other.motion @ pose
    return math.hypot(one.x - two.x, one.y - two.y) < share * board.roots[index]


def grow(
    board: Board,
    units: Sequence[Group],
    start: int,
    free: Iterable[int],
    *,
    min_gain: float,
    noise: FloatArray | None = None,
) -> Grown:
    """The component that begins with unit ``start`` and takes from the ``free`` ones.

    noise  (U,) added to the margins of units, so that another one may come first
    """
    left = {unit for unit in free if unit != start}
    poses = dict(units[start])
    used, total = [start], 0.0
    pending = placements(board, units, left, poses, poses)
    while best := surest(board, units, pending, min_gain, noise):
        best = settled(board, units, best, poses)
        added = moved(units[best.unit], best.motion)
        poses |= added
        used.append(best.unit)
        total += best.gain
        left.discard(best.unit)
        others = [each for each in pending if each.unit != best.unit]
        pending = _gained(board, units, others, added)
        pending += placements(board, units, left, added, poses)
    return Grown(poses, tuple(used), total)


def surest(
    board: Board,
    units: Sequence[Group],
    options: Sequence[Placement],
    min_gain: float,
    noise: FloatArray | None = None,
) -> Placement | None:
    """The placement with the largest margin over all others of its unit, if it gains enough."""
    of_unit: dict[int, list[Placement]] = {}
    for each in options:
        of_unit.setdefault(each.unit, []).append(each)
    best = [max(each, key=lambda option: option.gain) for each in of_unit.values()]
    return max(
        (each for each in best if each.gain >= min_gain),
        key=lambda each: (
            margin(board, units, each, of_unit[each.unit])
            + (0.0 if noise is None else float(noise[each.unit]))
        ),
        default=None,
    )


def margin(
    board: Board, units: Sequence[Group], best: Placement, options: Iterable[Placement]
) -> float:
    """What a placement gains beyond all other placements of its unit, and beyond none."""
    rivals = [
        each.gain
        for each in options
        if not _same(board, units, best.unit, best.motion, each, ELSEWHERE, OTHERWISE)
    ]
    return best.gain - float(np.logaddexp.reduce([0.0, *rivals]))


def settled(
    board: Board, units: Sequence[Group], start: Placement, placed: Group, levels: int = 5
) -> Placement:
    """The placement moved a little, so that it fits all its neighbours best; its gain is kept."""
    group = units[start.unit]
    here = moved(group, start.motion)
    beside = {
        i: pose
        for i, pose in placed.items()
        if any(board.near(i, pose, j, other) for j, other in here.items())
    }
    best, best_gain = start, board.gain(here, beside)
    root = min(board.roots[index] for index in group)
    shift, turn = 0.05 * root, 4.0
    for _ in range(levels):
        for _ in range(STEPS):
            here = moved(group, best.motion)
            x = sum(pose.x for pose in here.values()) / len(here)
            y = sum(pose.y for pose in here.values()) / len(here)
            tries = [Pose(dx, dy) for dx, dy in ((shift, 0), (-shift, 0), (0, shift), (0, -shift))]
            if board.turning:
                tries += [Pose(0, 0).about(x, y, sign * turn) for sign in (1, -1)]
            motions = [step @ best.motion for step in tries]
            gains = board.gains([moved(group, motion) for motion in motions], beside)
            at = max(range(len(gains)), key=gains.__getitem__)
            if gains[at] <= best_gain:
                break
            best, best_gain = replace(best, motion=motions[at]), gains[at]
        shift, turn = shift / 2, turn / 2
    return best


def snaps(board: Board, fragment: int, near: Pose, placed: Group, within: float) -> list[Snap]:
    """Places of a fragment at most ``within`` √area from ``near``, best first; none without gain.

    Tried are the candidates of the placed fragments, and ``near`` itself moved a little.
    """
    units = [{fragment: IDENTITY}]
    limit = within * board.roots[fragment]

    def is_near(motion: Pose) -> bool:
        return math.hypot(motion.x - near.x, motion.y - near.y) <= limit

    options = [p for p in placements(board, units, [0], placed, placed) if is_near(p.motion)]
    options.append(Placement(0, near, 0.0))
    tried = [settled(board, units, each, placed, levels=6) for each in options]
    tried = _gained(board, units, [replace(each, gain=0.0) for each in tried], placed)
    found: list[Placement] = []
    for each in sorted(tried, key=lambda option: -option.gain):
        same = any(_same(board, units, 0, each.motion, other) for other in found)
        if each.gain > 0 and not same and is_near(each.motion):
            found.append(each)
    return [
        Snap(
            each.motion,
            each.gain,
            tuple(i for i in placed if board.touch(i, placed[i], fragment, each.motion)),
        )
        for each in found
    ]
