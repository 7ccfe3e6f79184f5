"""Colours of a set made comparable, and a robust likeness of two colours as a product.

Normalised colours are (Lab − mean) / (σ √2), so that exp(−‖a − b‖²) is a Gaussian
of width σ. This likeness forgives outliers as a squared difference does not. A few
landmark colours approximate it by an inner product of features (Nyström), which is
what correlations need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from puzzleflow.core.fragments import Fragment
from puzzleflow.core.types import FloatArray

SIGMA_SHARE = 0.6  # σ over the spread of colours in the whole set
MIN_SIGMA = 3.0  # in Lab: what scanners and light differ by anyway
LANDMARKS = 8


@dataclass(frozen=True, eq=False)
class Palette:
    """The colours of one set.

    mean       (3,) of Lab
    sigma      width of the likeness, in Lab
    landmarks  (K, 3) normalised colours
    """

    mean: FloatArray
    sigma: float
    landmarks: FloatArray

    @classmethod
    def of(cls, fragments: Sequence[Fragment]) -> Palette:
        """From a sample of the material of all fragments."""
        from scipy.cluster.vq import kmeans2

        samples = []
        for fragment in fragments:
            seen = fragment.pixels[fragment.mask][:, :3]  # (M, 3)
            samples.append(seen[:: max(1, len(seen) // 1000)])
        lab = _lab(np.concatenate(samples)[None].astype(np.float32) / 255)[0]  # (M, 3)
        spread = math.sqrt(float(lab.var(axis=0).sum()))
        mean, sigma = lab.mean(axis=0), max(MIN_SIGMA, SIGMA_SHARE * spread)
        colours = np.unique(np.round((lab - mean) / (sigma * math.sqrt(2)), 3), axis=0)
        count = min(LANDMARKS, len(colours))
        if count == len(colours):
            return cls(mean, sigma, colours)
        colours = colours.astype(np.float64)
        landmarks, labels = kmeans2(colours, count, minit="++", rng=0)
        return cls(mean, sigma, landmarks[np.unique(labels)])

    def normalised(self, rgb: FloatArray) -> FloatArray:
        """(…, 3) of float RGB in [0, 1]."""
        return np.asarray((_lab(rgb) - self.mean) / (self.sigma * math.sqrt(2)), np.float32)

    def features(self, colours: FloatArray) -> FloatArray:
        """(…, K) whose inner products approximate :func:`likeness` of normalised colours."""
        near = likeness(colours[..., None, :], self.landmarks)  # (…, K)
        return np.asarray(near @ self._whitening, np.float32)

    @cached_property
    def _whitening(self) -> FloatArray:
        values, vectors = np.linalg.eigh(
            likeness(self.landmarks[:, None], self.landmarks[None]).astype(np.float64)
        )
        kept = values > 1e-4 * values.max()
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]), np.float32)  # (K, ≤ K)


def likeness(first: FloatArray, second: FloatArray) -> FloatArray:
    """(…) exp(−‖a − b‖²) of normalised colours: 1 = the same, 0 = far apart."""
    return np.asarray(np.exp(-((first - second) ** 2).sum(axis=-1)))


def _lab(rgb: FloatArray) -> FloatArray:
    from skimage.color import rgb2lab

    return np.asarray(rgb2lab(rgb), np.float32)
