"""From a decoder's output to a clean outline: the published steps, one function each.

This lives above the core because labelling components needs SciPy.
Connectivity follows the paper's hole filling: background spreads over edges
(4 neighbours), so material hangs together over corners too (8 neighbours).
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from skimage import morphology

from puzzleflow.core.types import BoolArray, FloatArray
from puzzleflow.masks import bounding_box

THRESHOLD = 0.5
CLOSING_RADIUS_PX = 2
LEAST_AREA_PART = 0.2  # a mask with less material is degenerate
LEAST_SIDE_PART = 0.6  # and so is one whose bounding box is shorter than this

_EIGHT_NEIGHBOURS = np.ones((3, 3), dtype=bool)


def threshold(probabilities: FloatArray, level: float = THRESHOLD) -> BoolArray:
    """Material where the probability exceeds ``level``; any shape."""
    return np.asarray(probabilities > level)


def fill_holes(mask: BoolArray) -> BoolArray:
    """Background that cannot be reached from the border becomes material."""
    return np.asarray(ndimage.binary_fill_holes(mask))


def largest_component(mask: BoolArray) -> BoolArray:
    """The largest piece of material; of equals, the first in reading order."""
    labels, count = ndimage.label(mask, structure=_EIGHT_NEIGHBOURS)
    if count <= 1:
        return mask.copy()
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    return np.asarray(labels == sizes.argmax())


def close_disk(mask: BoolArray, radius_px: int = CLOSING_RADIUS_PX) -> BoolArray:
    """Closing (dilation, then erosion) with a disk, as on an endless plane.

    Nothing is lost where the mask touches the border of its frame.
    """
    margin = 2 * radius_px
    disk = morphology.disk(radius_px)  # type: ignore[no-untyped-call]
    closed = ndimage.binary_closing(np.pad(mask, margin), disk)
    return np.asarray(closed[margin:-margin, margin:-margin])


def finish(probabilities: FloatArray) -> BoolArray:
    """The published post-processing of one (H, W) output, in the published order."""
    binary = threshold(probabilities)
    whole = fill_holes(binary)
    single = largest_component(whole)
    return close_disk(single)


def is_degenerate(mask: BoolArray) -> bool:
    """Too little material, or too thin, to stand for a fragment."""
    height, width = mask.shape
    top, bottom, left, right = bounding_box(mask)
    return bool(
        mask.sum() < LEAST_AREA_PART * mask.size
        or bottom - top < LEAST_SIDE_PART * height
        or right - left < LEAST_SIDE_PART * width
    )
