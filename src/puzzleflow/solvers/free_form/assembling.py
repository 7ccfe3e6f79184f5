"""From candidates to components: growth from several starts, repair, merging, adjustment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from puzzleflow.core.pose import Pose
from puzzleflow.core.rng import child_rng
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.growth import (
    Group,
    Grown,
    Placement,
    grow,
    moved,
    placements,
    settled,
)
from puzzleflow.solvers.free_form.pose_graph import Join, adjusted
from puzzleflow.solvers.free_form.regrowth import regrown, total

STARTS = 8  # units from which growth is tried
SWEEPS = 3  # of repair, at most
RELAXING = 2  # sweeps
RIGID = 1e4  # weight of a join within a unit

Component = dict[int, Pose]


def assemble(
    board: Board,
    units: Sequence[Group],
    *,
    seed: int = 0,
    pinned: Collection[int] = (),
    min_gain: float,
    searches: int,
) -> list[Component]:
    """Components of at least two fragments, the best first; others stay unplaced.

    units   groups of fragments that hold together: mostly of one fragment each
    pinned  units that stay where they are: at most one, and growth begins with it
    searches  see :func:`~puzzleflow.solvers.free_form.regrowth.regrown`
    """
    left = set(range(len(units)))
    components: list[Component] = []
    held: list[bool] = []
    while len(left) > 1 or left & set(pinned):
        starts = [unit for unit in pinned if unit in left] or _starts(board, units, left, seed)
        best = max(
            (grow(board, units, start, left, min_gain=min_gain) for start in starts),
            key=lambda grown: grown.total,
        )
        kept = bool(set(best.units) & set(pinned))
        if len(best.units) < 2 and not kept:
            break
        best = replace(best, poses=_relaxed(board, units, best.poses, pinned))
        best = _repaired(board, units, best, left, fixed=set(pinned), min_gain=min_gain)
        left -= set(best.units)
        components.append(best.poses)
        held.append(kept)
    components += [dict(units[unit]) for unit in sorted(left) if len(units[unit]) > 1]
    held += [False] * (len(components) - len(held))
    merged = _merged(board, components, held, min_gain)
    merged = regrown(
        board, units, merged, seed=seed, pinned=pinned, min_gain=min_gain, searches=searches
    )
    frozen = {index for unit in pinned for index in units[unit]}
    joined = [
        adjusted_component(board, _relaxed(board, units, each, pinned), frozen, units)
        for each in merged
    ]
    return [each for each in joined if len(each) > 1 or frozen & set(each)]


def _starts(board: Board, units: Sequence[Group], left: Collection[int], seed: int) -> list[int]:
    """Units with the best candidates, and some at random."""
    free = {index for unit in left for index in units[unit]}

    def best(unit: int) -> float:
        scores = [
            each.score
            for index in units[unit]
            for each in board.around[index]
            if each.second in free and each.second not in units[unit]
        ]
        return sum(sorted(scores)[-3:])

    ranked = sorted(left, key=lambda unit: (-best(unit), unit))
    first, rest = ranked[: STARTS // 2], ranked[STARTS // 2 :]
    order = child_rng(seed, "starts").permutation(len(rest))[: STARTS - len(first)]
    return first + [rest[index] for index in order.tolist()]


def _repaired(
    board: Board,
    units: Sequence[Group],
    grown: Grown,
    free: Collection[int],
    *,
    fixed: Collection[int],
    min_gain: float,
) -> Grown:
    """Units that find a better place, or none, are moved or left out; new ones are tried."""
    poses, used = dict(grown.poses), set(grown.units)
    for _ in range(SWEEPS):
        changed = False
        for unit in sorted(used - set(fixed), key=lambda u: _own_gain(board, units, u, poses)):
            if len(used) <= 2:
                break
            rest = {i: pose for i, pose in poses.items() if i not in units[unit]}
            now = _own_gain(board, units, unit, poses)
            options = placements(board, units, [unit], rest, rest)
            if options and options[0].gain > max(now, min_gain) + 0.1:
                best = settled(board, units, options[0], rest)
                poses = rest | moved(units[unit], best.motion)
                changed = True
            elif now < min_gain:
                poses = rest
                used.discard(unit)
                changed = True
        outside = set(free) - used
        options = placements(board, units, outside, poses, poses)
        for option in options:
            if option.unit not in used and option.gain >= min_gain:
                best = settled(board, units, option, poses)
                group = moved(units[best.unit], best.motion)
                if board.gain(group, poses) >= min_gain:
                    poses |= group
                    used.add(best.unit)
                    changed = True
        if not changed:
            break
    total = sum(_own_gain(board, units, unit, poses) for unit in used) / 2
    return Grown(poses, tuple(sorted(used)), total)


def _relaxed(
    board: Board, units: Sequence[Group], poses: Component, fixed: Collection[int]
) -> Component:
    """Every unit moved a little against all the others, in turns."""
    home = {index: number for number, unit in enumerate(units) for index in unit}
    poses = dict(poses)
    for _ in range(RELAXING):
        for unit in dict.fromkeys(home[index] for index in poses):
            if unit in fixed:
                continue
            member, own = next(iter(units[unit].items()))
            rest = {i: pose for i, pose in poses.items() if i not in units[unit]}
            here = Placement(unit, poses[member] @ own.inverse(), 0.0)
            poses = rest | moved(units[unit], settled(board, units, here, rest, levels=4).motion)
    return poses


def _own_gain(board: Board, units: Sequence[Group], unit: int, poses: Group) -> float:
    """What a unit gains where it lies now."""
    own = {index: poses[index] for index in units[unit]}
    rest = {index: pose for index, pose in poses.items() if index not in own}
    return board.gain(own, rest)


def _merged(
    board: Board, components: list[Component], held: list[bool], min_gain: float
) -> list[Component]:
    """Components that fit together as wholes become one, the best first; a held one stays."""
    components, held = list(components), list(held)
    while len(components) > 1:
        best = None
        for number, base in enumerate(components):
            others = [n for n in range(len(components)) if n != number and not held[n]]
            options = placements(board, components, others, base, base)
            if options and (best is None or options[0].gain > best[1].gain):
                best = number, options[0]
        if best is None or best[1].gain < 1.5 * min_gain:
            break
        number, option = best
        option = settled(board, components, option, components[number])
        components[number] = components[number] | moved(components[option.unit], option.motion)
        del components[option.unit], held[option.unit]
    return components


def adjusted_component(
    board: Board, poses: Component, frozen: Collection[int], units: Sequence[Group]
) -> Component:
    """The component with all joins measured anew and brought into agreement.

    Fragments of one unit keep their relative poses. The result is kept only if the sum
    of scores does not fall.
    """
    if len(poses) < 3:
        return poses
    home = {index: number for number, unit in enumerate(units) for index in unit}
    joins = []
    members = sorted(poses)
    for number, i in enumerate(members):
        for j in members[number + 1 :]:
            if home[i] == home[j]:
                held = poses[j].relative_to(poses[i])
                joins.append(Join(i, j, held, RIGID, float(board.roots[i])))
                continue
            if not board.touch(i, poses[i], j, poses[j]):
                continue
            relative, score = board.measured(i, j, poses[j].relative_to(poses[i]))
            if score <= 0:
                continue
            root = float(np.sqrt(board.roots[i] * board.roots[j]))
            joins.append(Join(i, j, relative, max(score, 0.05), root))
    still = set(frozen) & set(poses) or {members[0]}
    better = adjusted(poses, joins, still, turning=board.turning)
    return better if total(board, better) >= total(board, poses) else poses
