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

from puzzleflow.core.pose import IDENTITY, Pose, angle_between
from puzzleflow.solvers.free_form.base import Snap
from puzzleflow.solvers.free_form.board import Board

Group = Mapping[int, Pose]

MIN_GAIN = 1.5  # less is as likely chance as truth
SAME_SHARE, SAME_ANGLE = 0.08, 4.0  # of √area, degrees: nearer placements are one


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
    found: list[Placement] = []
    for anchor, pose in anchors.items():
        for each in board.around[anchor]:
            unit = home.get(each.second)
            if unit is None:
                continue
            motion = pose @ each.pose @ units[unit][each.second].inverse()
            if any(_same(board, units, unit, motion, other) for other in found):
                continue
            gain = board.gain(moved(units[unit], motion), placed)
            if gain > -math.inf:
                found.append(Placement(unit, motion, gain))
    return sorted(found, key=lambda each: -each.gain)


def _same(board: Board, units: Sequence[Group], unit: int, motion: Pose, other: Placement) -> bool:
    if other.unit != unit or angle_between(other.motion.angle, motion.angle) > SAME_ANGLE:
        return False
    index, pose = next(iter(units[unit].items()))
    one, two = motion @ pose, other.motion @ pose
    return math.hypot(one.x - two.x, one.y - two.y) < SAME_SHARE * board.roots[index]


def grow(
    board: Board,
    units: Sequence[Group],
    start: int,
    free: Iterable[int],
    *,
    min_gain: float = MIN_GAIN,
) -> Grown:
    """The component that begins with unit ``start`` and takes from the ``free`` ones."""
    left = {unit for unit in free if unit != start}
    poses = dict(units[start])
    used, total = [start], 0.0
    pending = placements(board, units, left, poses, poses)
    while pending:
        best = max(pending, key=lambda each: each.gain)
        if best.gain < min_gain:
            break
        best = settled(board, units, best, poses)
        added = moved(units[best.unit], best.motion)
        poses |= added
        used.append(best.unit)
        total += best.gain
        left.discard(best.unit)
        pending = _updated(board, units, pending, best.unit, added)
        pending += placements(board, units, left, added, poses)
    return Grown(poses, tuple(used), total)


def _updated(
    board: Board, units: Sequence[Group], pending: Sequence[Placement], taken: int, added: Group
) -> list[Placement]:
    """Placements of the other units, their gains with the fragments that were added."""
    kept = []
    for each in pending:
        if each.unit == taken:
            continue
        gain = each.gain + board.gain(moved(units[each.unit], each.motion), added)
        if gain > -math.inf:
            kept.append(replace(each, gain=gain))
    return kept


def settled(
    board: Board, units: Sequence[Group], start: Placement, placed: Group, levels: int = 5
) -> Placement:
    """The placement moved a little, so that it fits all its neighbours best."""
    group = units[start.unit]
    here = moved(group, start.motion)
    beside = {
        i: pose
        for i, pose in placed.items()
        if any(board.near(i, pose, j, other) for j, other in here.items())
    }
    best = replace(start, gain=board.gain(here, beside))
    root = min(board.roots[index] for index in group)
    shift, turn = 0.05 * root, 4.0
    for _ in range(levels):
        x = sum(pose.x for pose in here.values()) / len(here)
        y = sum(pose.y for pose in here.values()) / len(here)
        tries = [Pose(dx, dy) for dx, dy in ((shift, 0), (-shift, 0), (0, shift), (0, -shift))]
        if board.turning:
            tries += [Pose(0, 0).about(x, y, sign * turn) for sign in (1, -1)]
        for step in tries:
            motion = step @ best.motion
            gain = board.gain(moved(group, motion), beside)
            if gain > best.gain:
                best = Placement(start.unit, motion, gain)
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
