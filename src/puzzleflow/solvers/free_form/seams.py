"""How much the seam of two placed fragments speaks for them, by the learned scorer.

A join is (first, second, pose of the second seen from the first), in pixels of the
fragments. The answer is a logarithm of likelihoods: 0 says nothing, 3 is twenty to one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from puzzleflow.core.pose import Pose
from puzzleflow.models.checkpoint import load_network
from puzzleflow.models.seam_scorer import SeamConfig, SeamScorer, inputs_of
from puzzleflow.solvers.free_form.candidates import Prepared
from puzzleflow.solvers.free_form.contact import fit
from puzzleflow.solvers.free_form.strips import strips

KIND = "seams"
FACTS = 8
GAP_UNIT = 0.1  # the scorer tells gaps in these, over the median √area
AT_ONCE = 256
STEP_SHARE, STEP_ANGLE = 0.01, 1.0  # of √area, degrees: joins are scored at such steps, once
Floats = NDArray[np.float32]
JoinPose = tuple[int, int, Pose]
Key = tuple[int, int, int, int, int]


def facts(prepared: Prepared, joins: Sequence[JoinPose]) -> Floats:
    """(S, 8) of every join as a whole.

    Score, contact, likeness, overlap and gap of the unlearned fit; sizes of the smaller
    fragment against the larger and against the median; the gap that the fit expects.
    """
    told = np.empty((len(joins), FACTS), dtype=np.float32)
    unit = float(np.median([rim.root for rim in prepared.rims]))
    for number, (i, j, pose) in enumerate(joins):
        first, second = prepared.rims[i], prepared.rims[j]
        found = fit(first, second, pose, prepared.scale)
        small, large = sorted((first.root, second.root))
        told[number] = (
            found.score,
            found.contact,
            found.likeness,
            10 * found.overlap_share,
            found.gap,
            math.log(small / large),
            math.log(small / unit),
            10 * prepared.search.gap,
        )
    return np.clip(told, -10, 10)


@dataclass(frozen=True, eq=False)
class Seams:
    """The scorer, and the set that it looks at; what it said is remembered.

    Poses are rounded first, so that an answer does not depend on what was asked before.
    """

    prepared: Prepared
    network: SeamScorer
    said: dict[Key, tuple[float, float]] = field(default_factory=dict)

    def scores(self, joins: Sequence[JoinPose]) -> NDArray[np.float64]:
        """(S, 2) of each join: log of likelihoods, and the gap that it should have."""
        keys = [self._key(join) for join in joins]
        new = list(dict.fromkeys(key for key in keys if key not in self.said))
        for first in range(0, len(new), AT_ONCE):
            part = new[first : first + AT_ONCE]
            told = self._told([self._join(key) for key in part])
            for key, row in zip(part, told.tolist(), strict=True):
                self.said[key] = row[0], row[1] * GAP_UNIT
        return np.array([self.said[key] for key in keys]).reshape(-1, 2)

    @torch.inference_mode()
    def _told(self, joins: Sequence[JoinPose]) -> NDArray[np.float32]:
        seen = strips(self.prepared.contours, joins, self.prepared.scale)
        ends = np.array([[i, j] for i, j, _ in joins])
        own, other = (
            self._table[np.where(rows >= 0, rows + self._starts[of][:, :, None], -1)]
            for rows, of in ((seen.own, ends), (seen.other, ends[:, ::-1]))
        )  # (S, 2, L, C)
        inputs = inputs_of(
            *map(torch.from_numpy, (own, other, seen.geometry, facts(self.prepared, joins)))
        )
        return np.asarray(self.network(inputs).numpy())

    @cached_property
    def _table(self) -> Floats:
        """(P + 1, C) colours behind all points of all outlines; the last row is empty."""
        return np.pad(
            np.concatenate([ring.profile for ring in self.prepared.contours]), ((0, 1), (0, 0))
        )

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        return np.cumsum([0, *map(len, self.prepared.contours)])

    @property
    def _step(self) -> float:
        return STEP_SHARE * self.prepared.contours[0].unit / self.prepared.scale

    def _key(self, join: JoinPose) -> Key:
        i, j, pose = join
        if i > j:
            i, j, pose = j, i, pose.inverse()
        x, y = round(pose.x / self._step), round(pose.y / self._step)
        return i, j, x, y, round(pose.angle / STEP_ANGLE)

    def _join(self, key: Key) -> JoinPose:
        i, j, x, y, angle = key
        return i, j, Pose(x * self._step, y * self._step, angle * STEP_ANGLE)


def load_scorer(path: Path) -> SeamScorer:
    """The scorer of a weights file."""
    return load_network(path, lambda sizes: SeamScorer(SeamConfig(**sizes)), KIND)[0]
