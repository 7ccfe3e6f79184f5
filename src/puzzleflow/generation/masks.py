"""From a decoder's output to a clean outline: the published steps, one function each.

This lives above the core because labelling components needs SciPy.
Connectivity follows the paper's hole filling: background spreads over edges
(4 neighbours), so material hangs together over corners too (8 neighbours).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from puzzleflow.core.types import BoolArray, FloatArray

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
    padded = np.pad(~mask, 1, constant_values=True)  # one connected outside
    labels, count = ndimage.label(padded)
    if count == 1:
        return mask.copy()
    return np.asarray(labels[1:-1, 1:-1] != labels[0, 0])


def largest_component(mask: BoolArray) -> BoolArray:
    """The largest piece of material; of equals, the first in reading order."""
    labels, count = ndimage.label(mask, structure=_EIGHT_NEIGHBOURS)
    if count <= 1:
        return mask.copy()
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    return np.asarray(labels == sizes.argmax())


def disk(radius_px: int) -> NDArray[np.int64]:
    """(K, 2) row and column steps that stay within ``radius_px``."""
    steps = np.arange(-radius_px, radius_px + 1)
    rows, cols = np.meshgrid(steps, steps, indexing="ij")
    inside = rows**2 + cols**2 <= radius_px**2
    return np.stack([rows[inside], cols[inside]], axis=1)


def close_disk(mask: BoolArray, radius_px: int = CLOSING_RADIUS_PX) -> BoolArray:
    """Closing (dilation, then erosion) with a disk, as on an endless plane.

    Nothing is lost where the mask touches the border of its frame.
    """
    height, width = mask.shape
    steps = disk(radius_px)
    padded = np.pad(mask, 2 * radius_px)
    grown = np.zeros((height + 2 * radius_px, width + 2 * radius_px), dtype=bool)
    for row, col in steps + radius_px:
        grown |= padded[row : row + grown.shape[0], col : col + grown.shape[1]]
    closed = np.ones_like(mask)
    for row, col in steps + radius_px:
        closed &= grown[row : row + height, col : col + width]
    return closed


def finish(probabilities: FloatArray) -> BoolArray:
    """The published post-processing of one (H, W) output, in the published order."""
    binary = threshold(probabilities)
    whole = fill_holes(binary)
    single = largest_component(whole)
    return close_disk(single)


def bounding_box(mask: BoolArray) -> tuple[int, int, int, int]:
    """First row, last row + 1, first column, last column + 1 (all 0 when empty)."""
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return 0, 0, 0, 0
    return int(rows[0]), int(rows[-1]) + 1, int(cols[0]), int(cols[-1]) + 1


def is_degenerate(mask: BoolArray) -> bool:
    """Too little material, or too thin, to stand for a fragment."""
    height, width = mask.shape
    top, bottom, left, right = bounding_box(mask)
    return bool(
        mask.sum() < LEAST_AREA_PART * mask.size
        or bottom - top < LEAST_SIDE_PART * height
        or right - left < LEAST_SIDE_PART * width
    )
