"""What assembling needs to know of a set: rims, candidates of pairs, and how poses fit."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from puzzleflow.core.assembly import Candidate
from puzzleflow.core.pose import Pose
from puzzleflow.solvers.free_form.contact import Fit, Rim, fit

MAX_OVERLAP = 0.06  # of the smaller area: two fragments that share more cannot both lie so
PER_FRAGMENT = 40  # candidates of a fragment that assembling looks at
MIN_CONTACT = 0.15  # of two fragments that hold each other
PER_PAIR = 6  # candidates of a pair that assembling looks at


@dataclass(frozen=True, eq=False)
class Board:
    """Fragments of a set with all that is known of pairs, in pixels of the fragments.

    rims        N of them
    scale       of the rims
    candidates  of pairs, any order
    never       pairs (i, j), i < j, that must not touch
    turning     whether fragments may be turned at all
    """

    rims: tuple[Rim, ...]
    scale: float
    candidates: tuple[Candidate, ...]
    never: frozenset[tuple[int, int]] = frozenset()
    turning: bool = True

    def __len__(self) -> int:
        return len(self.rims)

    @cached_property
    def radii(self) -> tuple[float, ...]:
        """(N) farthest point of each fragment from its centre, with its reach."""
        return tuple(
            float(np.hypot(*rim.points.T).max() + rim.reach) / self.scale for rim in self.rims
        )

    @cached_property
    def roots(self) -> tuple[float, ...]:
        """(N) √area."""
        return tuple(rim.root / self.scale for rim in self.rims)

    @cached_property
    def around(self) -> Mapping[int, Sequence[Candidate]]:
        """Fragment → its best candidates, seen from it, best first."""
        pairs: dict[tuple[int, int], int] = defaultdict(int)
        found: dict[int, list[Candidate]] = {index: [] for index in range(len(self))}
        for each in sorted(self.candidates, key=lambda c: -c.score):
            pair = min(each.first, each.second), max(each.first, each.second)
            if pair in self.never or pairs[pair] >= PER_PAIR:
                continue
            pairs[pair] += 1
            for seen in (each, each.swapped()):
                if len(found[seen.first]) < PER_FRAGMENT:
                    found[seen.first].append(seen)
        return found

    def near(self, i: int, first: Pose, j: int, second: Pose) -> bool:
        """Whether two placed fragments may touch at all."""
        away = math.hypot(first.x - second.x, first.y - second.y)
        return away < self.radii[i] + self.radii[j]

    def fit(self, i: int, first: Pose, j: int, second: Pose) -> Fit:
        """How two placed fragments fit."""
        return fit(self.rims[i], self.rims[j], second.relative_to(first), self.scale)

    def touch(self, i: int, first: Pose, j: int, second: Pose) -> bool:
        """Whether two placed fragments hold each other."""
        if not self.near(i, first, j, second):
            return False
        return self.fit(i, first, j, second).contact >= MIN_CONTACT

    def value(self, i: int, first: Pose, j: int, second: Pose) -> float:
        """Score of two placed fragments; −∞ where they must not lie so."""
        if not self.near(i, first, j, second):
            return 0.0
        found = self.fit(i, first, j, second)
        if found.overlap_share > MAX_OVERLAP:
            return -math.inf
        if found.contact > 0.1 and (min(i, j), max(i, j)) in self.never:
            return -math.inf
        return found.score

    def gain(self, group: Mapping[int, Pose], placed: Mapping[int, Pose]) -> float:
        """What a group of fragments gains beside others that are placed already."""
        total = 0.0
        for j, second in group.items():
            for i, first in placed.items():
                total += self.value(i, first, j, second)
                if total == -math.inf:
                    return total
        return total
