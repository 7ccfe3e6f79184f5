"""Watershed with types: regions grow from markers and meet on the ridges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.segmentation import watershed

from puzzleflow.core.types import BoolArray, FloatArray

Labels = NDArray[np.int32]


def flood(heights: FloatArray, markers: Labels, mask: BoolArray | None = None) -> Labels:
    """(H, W) the marker from which every pixel is reached over the lowest pass."""
    near = ndimage.maximum_filter(markers == 0, 3)  # deep inside markers nothing happens
    if mask is not None:
        near &= mask
    starts = np.where(near, markers, 0)
    flooded = watershed(heights, starts, mask=near)  # type: ignore[no-untyped-call]
    return np.where(near, flooded, markers).astype(np.int32)


def nearest_label(labels: Labels) -> Labels:
    """(H, W) labels with every 0 replaced by the nearest other label."""
    if not labels.any():
        return labels
    rows, cols = ndimage.distance_transform_edt(
        labels == 0, return_distances=False, return_indices=True
    )
    return np.asarray(labels[rows, cols], np.int32)
