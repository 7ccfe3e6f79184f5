"""Moving the outline of a mask: narrower or wider gaps between the same fragments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from puzzleflow.core.errors import InputError
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.erosion import SHRINK, ErosionModel
from puzzleflow.generation.masks import fill_holes, largest_component

MOST_SHRINK = 50.0  # percent of the side: an outline has met itself by then


class ShrunkErosion:
    """Masks of another model with their outlines moved, so that gaps grow by twice as much."""

    def __init__(self, base: ErosionModel, percent: float) -> None:
        self.name = f"{base.name}{SHRINK}{percent:g}"
        if not -MOST_SHRINK <= percent <= MOST_SHRINK:
            raise InputError(
                f"erosion {self.name}: expected -{MOST_SHRINK:g} to "
                f"{MOST_SHRINK:g} percent of the side"
            )
        self.base, self.percent = base, percent

    @property
    def checksum(self) -> int | None:
        """That of the base, where it has one: outlines may have moved, their name tells how."""
        checksum: int | None = getattr(self.base, "checksum", None)
        return checksum

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        masks = self.base.masks(seeds, height, width).copy()
        inward_px = self.percent / 100 * min(height, width)
        for index, mask in enumerate(masks):
            masks[index] = move_outline(mask, inward_px)
        return masks


def move_outline(mask: BoolArray, inward_px: float) -> BoolArray:
    """(H, W) ``mask`` with its outline moved inward, or outward where negative.

    Outside the cell there is no material, so a side that lies on the frame moves
    as well. What remains is one fragment: of several parts the largest, without
    holes, and never less than the pixels that lie deepest inside.
    """
    if inward_px > 0:
        depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]  # 1 at the border
        level = min(inward_px, np.nextafter(depth.max(), 0))
        return largest_component(depth > level)
    if inward_px < 0:
        return fill_holes(ndimage.distance_transform_edt(~mask) <= -inward_px)
    return mask
