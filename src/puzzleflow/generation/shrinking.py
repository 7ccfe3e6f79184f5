"""Moving the outline of a mask: narrower or wider gaps between the same fragments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from scipy import ndimage

from puzzleflow.core.ceiling import check_time
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.erosion import SHRINK, ErosionModel
from puzzleflow.generation.masks import fill_holes, largest_component
from puzzleflow.options import Within

# percent of the side: an outline has met itself by the half
Shrink = Annotated[float, Within(-50, 50)]


class ShrunkErosion:
    """Masks of another model with their outlines moved, so that gaps grow by twice as much."""

    def __init__(self, base: ErosionModel, shrink: Shrink) -> None:
        self.name = f"{base.name}{SHRINK}{shrink:g}"
        self.base, self.percent = base, shrink

    @property
    def checksum(self) -> int | None:
        """That of the base, where it has one: outlines may have moved, their name tells how."""
        checksum: int | None = getattr(self.base, "checksum", None)
        return checksum

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        masks = self.base.masks(seeds, height, width).copy()
        inward_px = self.percent / 100 * min(height, width)
        for index, mask in enumerate(masks):
            check_time()
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
