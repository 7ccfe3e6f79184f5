"""Moving the outline of a mask: narrower or wider gaps between the same fragments."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from puzzleflow.core.types import BoolArray
from puzzleflow.generation.masks import fill_holes, largest_component


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
