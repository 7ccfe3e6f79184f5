"""Fragments of the fitted outline model: as rough as real ones, or as the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.fragments import draw_masks
from puzzleflow.generation.gap_model import load_gap_model
from puzzleflow.generation.masks import is_degenerate
from puzzleflow.generation.outline_model import load_outline_model
from puzzleflow.generation.outlines import mask_of
from puzzleflow.models.checkpoint import bundled_weights

WEIGHTS = "fragment_outline.safetensors"
MAX_DRAWS = 50
GAP_WEIGHTS = "fragment_gap.safetensors"


class OutlineFragments:
    """Curves drawn one by one with NumPy, filled, stretched to the square and thinned."""

    name = "outline"

    def __init__(self, weights: str | Path | None = None) -> None:
        self.model, self.thinning = load_outline_model(weights or bundled_weights(WEIGHTS))
        self.rejected = 0
        self.thinned = 0  # whole fragments that the thinning passed over so far

    def masks(self, seeds: Sequence[int]) -> BoolArray:
        """(len(seeds), 128, 128) bool."""
        masks, rejected = draw_masks(seeds, self._draw)
        self.rejected += rejected
        return masks

    def _draw(self, seeds: list[int], attempt: int) -> BoolArray:
        return np.stack([self._one(child_rng(seed, self.name, attempt)) for seed in seeds])

    def _mask(self, rng: np.random.Generator) -> BoolArray:
        return mask_of(self.model.draw(rng))

    def _one(self, rng: np.random.Generator) -> BoolArray:
        for _ in range(MAX_DRAWS):
            mask = self._mask(rng)
            if is_degenerate(mask) or self.thinning.keeps(mask, rng):
                return mask  # a degenerate one is rejected and counted by the caller
            self.thinned += 1
        return mask


class GapFragments(OutlineFragments):
    """Features follow the paper's generated ones: settings and thinning of ``gap_model``."""

    name = "gap"

    def __init__(self, weights: str | Path | None = None) -> None:
        super().__init__()
        found = load_gap_model(weights or bundled_weights(GAP_WEIGHTS), self.model)
        self.gap, self.thinning = found

    def _mask(self, rng: np.random.Generator) -> BoolArray:
        return self.gap.draw(rng)
