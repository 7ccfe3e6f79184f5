"""Fragments of the fitted outline model: rougher than the VAE's, as real ones are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.fragments import draw_masks
from puzzleflow.generation.outline_model import load_outline_model
from puzzleflow.generation.outlines import mask_of
from puzzleflow.models.checkpoint import bundled_weights

WEIGHTS = "fragment_outline.safetensors"


class OutlineFragments:
    """Curves drawn one by one with NumPy, filled and stretched to the square."""

    name = "outline"

    def __init__(self, weights: str | Path | None = None) -> None:
        self.model = load_outline_model(weights or bundled_weights(WEIGHTS))
        self.rejected = 0

    def masks(self, seeds: Sequence[int]) -> BoolArray:
        """(len(seeds), 128, 128) bool."""
        masks, rejected = draw_masks(seeds, self._draw)
        self.rejected += rejected
        return masks

    def _draw(self, seeds: list[int], attempt: int) -> BoolArray:
        curves = (self.model.draw(child_rng(seed, "outline", attempt)) for seed in seeds)
        return np.stack([mask_of(curve) for curve in curves])
