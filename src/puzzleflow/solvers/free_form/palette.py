"""Colours of a set made comparable.

Normalised colours are (Lab − mean) / (σ √2), so that exp(−‖a − b‖²), the likeness of two,
is a Gaussian of width σ. It forgives outliers as a squared difference does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.fragments import Fragment
from puzzleflow.core.types import FloatArray

SIGMA_SHARE = 0.6  # σ over the spread of colours in the whole set
MIN_SIGMA = 3.0  # in Lab: what scanners and light differ by anyway


@dataclass(frozen=True, eq=False)
class Palette:
    """The colours of one set.

    mean   (3,) of Lab
    sigma  width of the likeness, in Lab
    """

    mean: FloatArray
    sigma: float

    @classmethod
    def of(cls, fragments: Sequence[Fragment]) -> Palette:
        """From a sample of the material of all fragments."""
        samples = []
        for fragment in fragments:
            seen = fragment.pixels[fragment.mask][:, :3]  # (M, 3)
            samples.append(seen[:: max(1, len(seen) // 1000)])
        lab = _lab(np.concatenate(samples)[None].astype(np.float32) / 255)[0]  # (M, 3)
        spread = math.sqrt(float(lab.var(axis=0).sum()))
        return cls(lab.mean(axis=0), max(MIN_SIGMA, SIGMA_SHARE * spread))

    def normalised(self, rgb: FloatArray) -> FloatArray:
        """(…, 3) of float RGB in [0, 1]."""
        return np.asarray((_lab(rgb) - self.mean) / (self.sigma * math.sqrt(2)), np.float32)


def _lab(rgb: FloatArray) -> FloatArray:
    from skimage.color import rgb2lab

    return np.asarray(rgb2lab(rgb), np.float32)
