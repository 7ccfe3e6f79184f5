"""Thinning: keep drawn masks with a chance that brings their features to the real ones'.

A classifier of real against drawn masks gives the ratio of their densities at
a mask's features; keeping a mask with a chance proportional to that ratio
makes the kept ones follow the real density, as far as drawn ones reach.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.types import BoolArray, IntArray
from puzzleflow.generation.quick_geometry import edge_features, size_features

Floats = NDArray[np.float64]
Further = Callable[[BoolArray, Floats], Floats]  # mask, area and perimeter → all features

_ARRAYS = ("shift", "scale", "weights", "level")


@dataclass(frozen=True)
class Ratio:
    """Quadratic log density ratio of F features."""

    shift: Floats  # (F,)
    scale: Floats  # (F,)
    weights: Floats  # (1 + F + F (F + 1) / 2,) constant, linear and quadratic terms
    level: float  # the log ratio from which on every mask is kept
    reach: float = np.inf  # a mask with a feature farther than so many scales is never kept

    def log_ratio(self, features: Floats) -> Floats:
        """(..., F) features to (...) log of real over drawn density."""
        return terms((features - self.shift) / self.scale) @ self.weights

    def chance(self, features: Floats) -> float:
        """The probability with which a mask of these (F,) features is kept."""
        if np.abs((features - self.shift) / self.scale).max() > self.reach:
            return 0.0
        return float(np.exp(min(0.0, float(self.log_ratio(features)) - self.level)))


@dataclass(frozen=True)
class Thinning:
    """Two steps: area and perimeter, then, for what is left, the costlier features too."""

    size: Ratio
    edge: Ratio
    further: Further = edge_features

    def arrays(self) -> dict[str, Floats]:
        """Both ratios under the names that ``of_arrays`` reads."""
        steps = (("size", self.size), ("edge", self.edge))
        return {
            f"{step}_{name}": np.atleast_1d(vars(ratio)[name])
            for step, ratio in steps
            for name in _ARRAYS
        }

    @classmethod
    def of_arrays(
        cls, arrays: Mapping[str, Any], further: Further = edge_features, reach: float = np.inf
    ) -> Thinning:
        """What ``arrays`` gave; ``KeyError`` if one is missing, ``ValueError`` if misshapen."""
        ratios = []
        for step in ("size", "edge"):
            shift, scale, weights, level = (arrays[f"{step}_{name}"] for name in _ARRAYS)
            (num_features,) = shift.shape
            num_terms = 1 + num_features + num_features * (num_features + 1) // 2
            shapes = [array.shape for array in (scale, weights, level)]
            if shapes != [(num_features,), (num_terms,), (1,)] or not scale.all():
                raise ValueError(f"{step}: shapes {shapes}")
            ratios.append(Ratio(shift, scale, weights, float(level[0]), reach))
        return cls(ratios[0], ratios[1], further)

    def keeps(self, mask: BoolArray, rng: np.random.Generator) -> bool:
        """Whether this mask stays; two numbers are drawn whatever the answer."""
        first, second = rng.random(2)
        size = size_features(mask)
        if first >= self.size.chance(size):
            return False
        return bool(second < self.edge.chance(self.further(mask, size)))


def terms(scaled: Floats) -> Floats:
    """(..., F) to (..., 1 + F + F (F + 1) / 2): constant, linear, quadratic; far values cut."""
    cut = np.clip(scaled, -4.0, 4.0)
    first, second = _pairs(cut.shape[-1])
    constant = np.ones((*cut.shape[:-1], 1))
    return np.concatenate([constant, cut, cut[..., first] * cut[..., second]], axis=-1)


@cache
def _pairs(num_features: int) -> tuple[IntArray, IntArray]:
    first, second = np.triu_indices(num_features)
    return first, second
