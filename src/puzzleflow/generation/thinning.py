"""Thinning: keep drawn masks with a chance that brings their features to the real ones'.

A classifier of real against drawn masks gives the ratio of their densities at
a mask's features; keeping a mask with a chance proportional to that ratio
makes the kept ones follow the real density, as far as drawn ones reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Thinning:
    """Quadratic log density ratio of the quick features (see ``geometry``)."""

    shift: Floats  # (4,)
    scale: Floats  # (4,)
    weights: Floats  # (15,) constant, linear and quadratic terms
    level: float  # the log ratio from which on every mask is kept

    def log_ratio(self, features: Floats) -> Floats:
        """(..., 4) features to (...) log of real over drawn density."""
        return terms((features - self.shift) / self.scale) @ self.weights

    def chance(self, features: Floats) -> float:
        """The probability with which a mask of these (4,) features is kept."""
        return float(np.exp(min(0.0, float(self.log_ratio(features)) - self.level)))


def terms(scaled: Floats) -> Floats:
    """(..., F) to (..., 1 + F + F (F + 1) / 2): constant, linear, quadratic; far values cut."""
    cut = np.clip(scaled, -4.0, 4.0)
    first, second = np.triu_indices(cut.shape[-1])
    constant = np.ones((*cut.shape[:-1], 1))
    return np.concatenate([constant, cut, cut[..., first] * cut[..., second]], axis=-1)
