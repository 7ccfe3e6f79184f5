"""How much the seam of two placed fragments speaks for them, by the learned scorer.

A join is (first, second, pose of the second seen from the first), in pixels of the
fragments. The answer is a logarithm of likelihoods: 0 says nothing, 3 is twenty to one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from puzzleflow.core.pose import IDENTITY, Pose
from puzzleflow.models.checkpoint import load_network
from puzzleflow.models.seam_scorer import SeamConfig, SeamScorer
from puzzleflow.solvers.free_form.candidates import Prepared
from puzzleflow.solvers.free_form.measures import (
    GAP_UNIT,
    Doubles,
    Floats,
    JoinPose,
    expecting,
    measured,
    placed,
)
from puzzleflow.solvers.free_form.rounded import STEP_SHARE, Key, key_of, pose_of

KIND = "seams"
WORTH = 1e-3  # a step that gains less is not taken
TOGETHER = (
    128  # joins that are looked at at once: what is computed of their strips stays in the cache
)
Ends = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Told:
    """Of S joins: logs of likelihoods, gaps that they should have, lengths of contact, frames.

    All but the frames (see :class:`~puzzleflow.solvers.free_form.measures.Measured`) are (S,),
    lengths over √area. Scores and gaps of joins that nobody asked the network about are NaN.
    """

    scores: Floats
    gaps: Floats
    contacts: Floats
    frames: Floats


@dataclass(frozen=True, eq=False)
class Seams:
    """The scorer, and the set that it looks at; what it said is remembered.

    gap  that the set is known to have, over √area; None: it is not known yet

    Poses are rounded first, so that an answer does not depend on what was asked before.
    """

    prepared: Prepared
    network: SeamScorer
    gap: float | None = None
    said: dict[Key, tuple[float, float, float]] = field(default_factory=dict)

    def knowing(self, gap: float) -> Self:
        """The same set, whose gap is known."""
        return replace(self, gap=gap, said={})

    def scores(self, joins: Sequence[JoinPose], *, beyond: float = -1.0) -> Doubles:
        """(S, 3) of each join: log of likelihoods, the gap it should have, length of contact.

        beyond  the network is asked about joins with more contact; of others it says NaN
        """
        step = STEP_SHARE * self._unit / self.prepared.scale
        keys = [key_of(i, IDENTITY, j, pose, step) for i, j, pose in joins]
        new = [key for key in dict.fromkeys(keys) if not self._is_said(key, beyond)]
        if new:
            rounded = [(key[0], key[1], pose_of(key, step)) for key in new]
            told = self.told(*placed(rounded, self.prepared.scale), beyond=beyond)
            columns = told.scores.tolist(), told.gaps.tolist(), told.contacts.tolist()
            self.said.update(zip(new, zip(*columns, strict=True), strict=True))
        return np.array([self.said[key] for key in keys], dtype=np.float64).reshape(-1, 3)

    def _is_said(self, key: Key, beyond: float) -> bool:
        """Whether all that is asked of a join is known."""
        if key not in self.said:
            return False
        score, _, contact = self.said[key]
        return contact <= beyond or not math.isnan(score)

    def told(self, ends: Ends, at: Doubles, *, beyond: float = -1.0) -> Told:
        """Of joins as :func:`~puzzleflow.solvers.free_form.measures.placed` gives them."""
        some = [
            self._told(ends[first : first + TOGETHER], at[first : first + TOGETHER], beyond)
            for first in range(0, max(1, len(ends)), TOGETHER)
        ]
        return Told(
            *(np.concatenate([vars(each)[name] for each in some]) for name in vars(some[0]))
        )

    @torch.inference_mode()
    def _told(self, ends: Ends, at: Doubles, beyond: float) -> Told:
        seen = measured(self.prepared.contours, ends, at)
        inputs = seen.inputs if self.gap is None else expecting(seen.inputs, self.gap)
        asked = seen.contacts > beyond
        answer = np.full((len(ends), 2), np.nan, np.float32)
        if asked.any():
            shown = map(torch.from_numpy, (seen.strips[asked], inputs[asked]))
            answer[asked] = self.network(*shown).numpy()
        return Told(answer[:, 0], answer[:, 1] * GAP_UNIT, seen.contacts, seen.frames)

    @torch.inference_mode()
    def gaps_of_set(self, joins: Sequence[JoinPose]) -> Floats:
        """(S, G) log of how much likelier than usual each join makes each gap of the set."""
        ends, at = placed(joins, self.prepared.scale)
        seen = measured(self.prepared.contours, ends, at)
        shown = map(torch.from_numpy, (seen.strips, seen.inputs))
        beyond = self.network.judged(*shown)[1] - self.network.usual.log()
        return np.asarray(beyond.numpy(), np.float32)

    def opened(self, joins: Sequence[JoinPose], widths: Sequence[float]) -> list[JoinPose]:
        """Each join with the fragments drawn apart as far as speaks most for it.

        widths  of the median √area, that are tried beside none
        """
        ends, start = placed(joins, self.prepared.scale)
        told = self.told(ends, start)
        best, at = told.scores.copy(), start.copy()
        for width in widths:
            trial = _moved(start, told.frames, 0, width * self._unit)
            found = self.told(ends, trial).scores
            better = found > best + WORTH
            best[better], at[better] = found[better], trial[better]
        return self._joins(ends, at)

    def polished(
        self, joins: Sequence[JoinPose], *, shift: float, turn: float, levels: int
    ) -> list[JoinPose]:
        """Each join moved to where most speaks for it, by steps that halve.

        shift  of the median √area: the first step, across the gap and along it
        turn   in degrees, about the middle of the contact
        """
        ends, at = placed(joins, self.prepared.scale)
        if not len(ends):
            return []
        told = self.told(ends, at)
        best, frames = told.scores.copy(), told.frames.copy()
        sizes = [shift * self._unit, shift * self._unit, math.radians(turn)]
        for _ in range(levels):
            for axis, size in enumerate(sizes):
                left = np.arange(len(ends) if size else 0)
                for sign in (1.0, -1.0):
                    trial = _moved(at[left], frames[left], axis, sign * size)
                    found = self.told(ends[left], trial)
                    better = found.scores > best[left] + WORTH
                    rows = left[better]
                    at[rows], best[rows] = trial[better], found.scores[better]
                    frames[rows] = found.frames[better]
                    left = left[~better]
            sizes = [size / 2 for size in sizes]
        return self._joins(ends, at)

    @property
    def _unit(self) -> float:
        return self.prepared.contours[0].unit

    def _joins(self, ends: Ends, at: Doubles) -> list[JoinPose]:
        scale = self.prepared.scale
        return [
            (i, j, Pose(x / scale, y / scale, math.degrees(angle)))
            for (i, j), (x, y, angle) in zip(ends.tolist(), at.tolist(), strict=True)
        ]


def _moved(at: Doubles, frames: Floats, axis: int, size: float) -> Doubles:
    """(S, 3) poses moved across the gap (axis 0), along it (1) or turned about its middle (2)."""
    x, y, normal_x, normal_y = frames.astype(np.float64).T
    new = at.copy()
    if axis == 0:
        new[:, 0] += size * normal_x
        new[:, 1] += size * normal_y
    elif axis == 1:
        new[:, 0] -= size * normal_y
        new[:, 1] += size * normal_x
    else:
        cos, sin = math.cos(size), math.sin(size)
        dx, dy = at[:, 0] - x, at[:, 1] - y
        new[:, 0] = x + cos * dx + sin * dy
        new[:, 1] = y - sin * dx + cos * dy
        new[:, 2] += size
    return new


def load_scorer(path: Path) -> SeamScorer:
    """The scorer of a weights file."""
    return load_network(path, lambda sizes: SeamScorer(SeamConfig(**sizes)), KIND)[0]
