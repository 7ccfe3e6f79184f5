"""Erosion along straight lines: none, fixed gaps, gaps of random width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray
from puzzleflow.options import Within

# Deepzzle lays 96 px squares at a pitch of 144 px and moves each by up to 7 px.
LINEAR_MARGIN = (17 / 144, 31 / 144)


class NoErosion:
    """Whole square pieces."""

    name = "none"

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        return np.ones((len(seeds), height, width), bool)


class FixedErosion:
    """A gap of ``px`` between neighbouring pieces; the seed changes nothing."""

    def __init__(self, px: Annotated[int, Within(0)]) -> None:
        self.gap_px = px
        self.name = f"fixed:{self.gap_px}"

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        if self.gap_px >= min(height, width):
            raise InputError(f"erosion {self.name} leaves nothing of {height}x{width} px pieces")
        before, after = self.gap_px // 2, self.gap_px - self.gap_px // 2
        masks = np.zeros((len(seeds), height, width), bool)
        masks[:, before : height - after, before : width - after] = True
        return masks


class LinearErosion:
    """Straight gaps whose width is drawn for each of the four sides."""

    name = "linear"

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        masks = np.zeros((len(seeds), height, width), bool)
        for mask, seed in zip(masks, seeds, strict=True):
            top, bottom, left, right = child_rng(seed, "linear").uniform(*LINEAR_MARGIN, size=4)
            mask[
                round(top * height) : height - round(bottom * height),
                round(left * width) : width - round(right * width),
            ] = True
        return masks
