"""Fragments whose eight features follow the paper's generated ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from puzzleflow.core.types import BoolArray
from puzzleflow.generation.gap_model import load_gap_model
from puzzleflow.generation.outline_fragments import OutlineFragments
from puzzleflow.models.checkpoint import bundled_weights

WEIGHTS = "fragment_gap.safetensors"


class GapFragments(OutlineFragments):
    """The outline model with the settings and the thinning of ``gap_model``."""

    name = "gap"

    def __init__(self, weights: str | Path | None = None) -> None:
        super().__init__()
        found = load_gap_model(weights or bundled_weights(WEIGHTS), self.model)
        self.gap, self.thinning = found

    def _mask(self, rng: np.random.Generator) -> BoolArray:
        return self.gap.draw(rng)
