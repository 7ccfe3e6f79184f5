"""A set of fragments cut down to their material and reduced for one stage of the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.fragments import Fragment
from puzzleflow.solvers.free_form.extended import REACH, reduced
from puzzleflow.solvers.free_form.palette import Palette

MIN_REACH_PX = 2.0
GAP = 0.04  # of √area


@dataclass(frozen=True, eq=False)
class ScaledSet:
    """Reduced pictures whose centres are those of the fragments.

    pictures  N reduced fragments
    scale     pixels of a reduced picture for one of the fragment
    roots     (N,) √area of the fragments, in their own pixels
    reach     of √area: how far fragments are extended
    gap       of √area: what is expected between neighbours
    """

    pictures: tuple[Fragment, ...]
    palette: Palette
    scale: float
    roots: tuple[float, ...]
    reach: float = REACH
    gap: float = GAP

    @classmethod
    def of(
        cls,
        fragments: Sequence[Fragment],
        palette: Palette,
        median_px: float,
        *,
        reach: float = REACH,
        gap: float = GAP,
    ) -> ScaledSet:
        """Reduced so that the median √area is ``median_px``; never enlarged."""
        roots = tuple(fragment.root_area for fragment in fragments)
        scale = min(1.0, median_px / float(np.median(roots)))
        pictures = tuple(reduced(fragment, scale) for fragment in fragments)
        return cls(pictures, palette, scale, roots, reach, gap)

    def root_px(self, index: int) -> float:
        """√area of a fragment in reduced pixels."""
        return self.roots[index] * self.scale

    def reach_px(self, index: int) -> float:
        """How far a fragment is extended, in reduced pixels.

        The loss at an edge depends on the material, not on what the fragment happens
        to be: very small and very large ones reach about as far as the median.
        """
        return max(MIN_REACH_PX, self.reach * self._usual_px(index))

    def gap_px(self, index: int) -> float:
        """The gap that is expected beside a fragment, in reduced pixels."""
        return self.gap * self._usual_px(index)

    def _usual_px(self, index: int) -> float:
        typical = float(np.median(self.roots)) * self.scale
        return min(max(self.root_px(index), 0.6 * typical), 1.6 * typical)
