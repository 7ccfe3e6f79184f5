"""What assembling needs to know of a set: rims, candidates of pairs, and how poses fit."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from puzzleflow.core.assembly import Candidate
from puzzleflow.core.pose import Pose
from puzzleflow.solvers.free_form.contact import Fit, Rim, fit, refined
from puzzleflow.solvers.free_form.rounded import STEP_SHARE, Key, key_of, pose_of
from puzzleflow.solvers.free_form.seams import Seams

MAX_OVERLAP = 0.06  # of the smaller area: two fragments that share more cannot both lie so
PER_FRAGMENT = 60  # candidates of a fragment that assembling looks at
NO_CONTACT, FULL_CONTACT = 0.1, 0.35  # of √area: between them a seam counts in part
MOST, LEAST = 8.0, -3.0  # what one seam can say: a true one that lies a little off may look bad
MIN_CONTACT = 0.15  # of two fragments that hold each other: area of contact over the unit
MIN_SEAM = 0.2  # … or length of their seam over √area
TOUCHING = 0.1  # area of contact over the unit that a wish may forbid
PER_PAIR = 10  # candidates of a pair that assembling looks at

Placed = tuple[int, Pose, int, Pose]  # two fragments and their poses


@dataclass(frozen=True, eq=False)
class Board:
    """Fragments of a set with all that is known of pairs, in pixels of the fragments.

    rims        N of them
    scale       of the rims
    candidates  of pairs, any order
    never       pairs (i, j), i < j, that must not touch
    turning     whether fragments may be turned at all
    seams       the learned scorer; None: fits alone decide
    fits        join → whether one lies over the other, whether they touch, and their fit
    known       join → what speaks for it
    """

    rims: tuple[Rim, ...]
    scale: float
    candidates: tuple[Candidate, ...]
    never: frozenset[tuple[int, int]] = frozenset()
    turning: bool = True
    seams: Seams | None = None
    fits: dict[Key, tuple[bool, bool, float]] = field(default_factory=dict)
    known: dict[Key, float] = field(default_factory=dict)

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

    @cached_property
    def step(self) -> float:
        """Pixels: nearer poses of a pair are one."""
        return STEP_SHARE * float(np.median(self.roots))

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
        if self.seams is not None:
            join = i, j, second.relative_to(first)
            return bool(self.seams.scores([join], beyond=math.inf)[0, 2] >= MIN_SEAM)
        return self.fit(i, first, j, second).contact >= MIN_CONTACT

    def value(self, i: int, first: Pose, j: int, second: Pose) -> float:
        """What speaks for two placed fragments; −∞ where they must not lie so."""
        return self.gain({j: second}, {i: first})

    def gain(self, group: Mapping[int, Pose], placed: Mapping[int, Pose]) -> float:
        """What speaks for a group of fragments beside others that are placed already."""
        return self.gains([group], placed)[0]

    def gains(
        self, groups: Sequence[Mapping[int, Pose]], placed: Mapping[int, Pose]
    ) -> list[float]:
        """The same for many groups, each on its own; −∞ for one that must not lie so."""
        return self.sums(
            [
                [
                    (i, first, j, second)
                    for j, second in group.items()
                    for i, first in placed.items()
                ]
                for group in groups
            ]
        )

    def sums(self, lists: Sequence[Sequence[Placed]]) -> list[float]:
        """What speaks for all pairs of each list together; −∞ where one of them must not lie so."""
        asked = [
            [
                key_of(i, first, j, second, self.step)
                for i, first, j, second in pairs
                if self.near(i, first, j, second)
            ]
            for pairs in lists
        ]
        self._fit(list(dict.fromkeys(key for keys in asked for key in keys)))
        able = [all(map(self._is_allowed, keys)) for keys in asked]
        wanted = (key for keys, is_able in zip(asked, able, strict=True) if is_able for key in keys)
        self._judge([key for key in dict.fromkeys(wanted) if key not in self.known])
        return [
            sum(self.known[key] for key in keys) if is_able else -math.inf
            for keys, is_able in zip(asked, able, strict=True)
        ]

    def _is_allowed(self, key: Key) -> bool:
        """Whether two fragments may lie so: not over each other, and not against a wish."""
        lies_over, touches, _ = self.fits[key]
        return not lies_over and not (touches and key[:2] in self.never)

    def _fit(self, keys: Sequence[Key]) -> None:
        """See how the fragments of joins lie to each other."""
        for key in keys:
            if key not in self.fits:
                i, j = key[:2]
                pose = pose_of(key, self.step)
                found = fit(self.rims[i], self.rims[j], pose, self.scale)
                lies_over = found.overlap_share > MAX_OVERLAP
                self.fits[key] = lies_over, found.contact > TOUCHING, found.score

    def _judge(self, keys: Sequence[Key]) -> None:
        """Put what speaks for joins among what is known."""
        if self.seams is None:
            self.known.update((key, self.fits[key][2]) for key in keys)
            return
        joins = [(key[0], key[1], pose_of(key, self.step)) for key in keys]
        scores, _, contacts = self.seams.scores(joins, beyond=NO_CONTACT).T
        share = np.clip((contacts - NO_CONTACT) / (FULL_CONTACT - NO_CONTACT), 0, 1)
        values = np.where(share > 0, share * np.clip(scores, LEAST, MOST), 0.0)
        self.known.update(zip(keys, values.tolist(), strict=True))

    def measured(self, i: int, j: int, pose: Pose) -> tuple[Pose, float]:
        """The best pose of two fragments near one, by their seam alone, and what speaks for it."""
        if self.seams is not None:
            turn = 2.0 if self.turning else 0.0
            join = self.seams.polished([(i, j, pose)], shift=0.02, turn=turn, levels=2)
            return join[0][2], float(self.seams.scores(join)[0, 0])
        turn = 1.0 if self.turning else 0.0
        return refined(
            self.rims[i], self.rims[j], pose, self.scale, turn=turn, shift_px=1.0, levels=3
        )
