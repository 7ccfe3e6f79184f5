"""Components made better by taking parts out of them and growing what is left anew.

What speaks for a set of components is the sum over all pairs that touch, less what every
placement must gain at least. Greedy growth ends below what the true components have: an
early mistake stays. So some units that lie beside each other are taken out, what is left
falls into parts that hold together, and all of them grow again, parts as wholes, with a
little chance in what comes first. The outcome is kept where more speaks for it. The more
fragments are in doubt, the longer this goes on; where none is, nothing is taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.pose import Pose
from puzzleflow.core.rng import child_rng
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.confidence import margin_of
from puzzleflow.solvers.free_form.growth import Group, grow

LARGEST_SHARE = 0.6  # of the units of a component: more are never taken out at once
CHANCES = (0.0, 0.7, 1.5, 3.0)  # spread of what chance adds to margins, in units of gains
AFRESH = 1.5  # the same, where a search begins
HEAT = 1.0  # how much less may speak for what a search goes on with: at first, then falling
SURE = 5.0  # margin of a fragment that will hardly find a better place
ROUNDS, MOST_ROUNDS = 80, 400  # of a search: for each unit in doubt, and at most

Component = dict[int, Pose]


def regrown(
    board: Board,
    units: Sequence[Group],
    components: Sequence[Component],
    *,
    seed: int,
    pinned: Collection[int],
    min_gain: float,
    searches: int,
) -> list[Component]:
    """Components of whole units for which at least as much speaks.

    pinned    units that stay where they are
    searches  the first goes on from ``components``, others from growth by chance
    """
    rng = child_rng(seed, "regrowth")
    held = {index for unit in pinned for index in units[unit]}
    parts = [dict(units[unit]) for unit in pinned]
    free = [unit for unit in range(len(units)) if unit not in pinned]
    best, most = list(components), worth(board, components, min_gain)
    rounds = min(ROUNDS * _num_doubtful(board, units, components, free), MOST_ROUNDS)
    for search in range(searches):
        now = components
        if search > 0:
            now = _grown(board, units, parts, free, held, min_gain, AFRESH, rng)
        here = worth(board, now, min_gain)
        for number in range(rounds):
            check_cancelled()
            left, out = _taken_apart(board, units, now, pinned, held, rng)
            chance = float(rng.choice(CHANCES))
            tried = _grown(board, units, left, out, held, min_gain, chance, rng)
            found = worth(board, tried, min_gain)
            if found > here + HEAT * (1 - number / rounds) * math.log(1 - rng.random()):
                now, here = tried, found
            if here > most:
                best, most = list(now), here
    return best


def _num_doubtful(
    board: Board, units: Sequence[Group], components: Sequence[Component], free: Sequence[int]
) -> int:
    """How many of the free units lie nowhere, or might as well lie elsewhere."""
    lies_in = {index: poses for poses in components for index in poses}

    def is_sure(index: int) -> bool:
        return index in lies_in and margin_of(board, lies_in[index], index) >= SURE

    return sum(not all(map(is_sure, units[unit])) for unit in free)


def worth(board: Board, components: Sequence[Component], min_gain: float) -> float:
    """What speaks for components: pairs that touch, less what each placement must gain."""
    return sum(
        total(board, component) - min_gain * (len(component) - 1) for component in components
    )


def total(board: Board, poses: Mapping[int, Pose]) -> float:
    """Sum of the fits of all pairs; −∞ where two lie over each other."""
    members = sorted(poses)
    pairs = [
        (i, poses[i], j, poses[j])
        for number, i in enumerate(members)
        for j in members[number + 1 :]
    ]
    return board.sums([pairs])[0]


def _taken_apart(
    board: Board,
    units: Sequence[Group],
    components: Sequence[Component],
    pinned: Collection[int],
    held: Collection[int],
    rng: np.random.Generator,
) -> tuple[list[Component], list[int]]:
    """Parts that are left, and units that are free."""
    home = {index: number for number, unit in enumerate(units) for index in unit}
    chosen = int(rng.choice(len(components), p=_shares(components))) if components else -1
    component = components[chosen] if components else {}
    inside = sorted({home[index] for index in component} - set(pinned))
    out: set[int] = set()
    if inside:
        most = max(1, round(LARGEST_SHARE * len(inside)))
        count = int(rng.integers(1, most + 1))
        centre = component[next(iter(units[inside[int(rng.integers(len(inside)))]]))]

        def away(unit: int) -> float:
            at = component[next(iter(units[unit]))]
            return math.hypot(at.x - centre.x, at.y - centre.y)

        out = set(sorted(inside, key=away)[:count])
    parts = [dict(each) for number, each in enumerate(components) if number != chosen]
    left = {index: pose for index, pose in component.items() if home[index] not in out}
    parts += _connected(board, units, left, held)
    placed = {home[index] for part in parts for index in part}
    return parts, [unit for unit in range(len(units)) if unit not in placed]


def _shares(components: Sequence[Component]) -> list[float]:
    sizes = [len(each) for each in components]
    return [size / sum(sizes) for size in sizes]


def _connected(
    board: Board, units: Sequence[Group], poses: Component, held: Collection[int]
) -> list[Component]:
    """Parts that touch each other, units whole; all that is held is one part."""
    left, parts = set(poses), []
    bound = [set(unit) for unit in units if len(unit) > 1] + [set(held)]
    while left:
        edge, part = {min(left)}, set()
        while edge:
            for group in bound:
                if group & edge:
                    edge |= group & left
            part |= edge
            left -= edge
            edge = {j for j in left if any(board.touch(i, poses[i], j, poses[j]) for i in edge)}
        parts.append({index: poses[index] for index in sorted(part)})
    return parts


def _grown(
    board: Board,
    units: Sequence[Group],
    parts: Sequence[Component],
    free: Sequence[int],
    held: Collection[int],
    min_gain: float,
    chance: float,
    rng: np.random.Generator,
) -> list[Component]:
    """Parts and free units grown together: from what is held, then from the largest part."""

    def first(part: Component) -> tuple[bool, int]:
        return not any(index in held for index in part), -len(part)

    groups: list[Group] = [*sorted(parts, key=first), *(units[unit] for unit in free)]
    left = list(range(len(groups)))
    answer = []
    while left:
        start = left[0]
        noise = rng.normal(0, chance, len(groups)) if chance else None
        found = grow(board, groups, start, left, min_gain=min_gain, noise=noise)
        left = [number for number in left if number not in found.units]
        if len(found.poses) > 1 or not first(found.poses)[0]:
            answer.append(found.poses)
    return sorted(answer, key=len, reverse=True)
