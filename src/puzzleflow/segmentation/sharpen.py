"""A fragment found in a reduced copy of a photograph, cut from the photograph itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.segmentation.find import REFINE_PIXELS, refine_mask
from puzzleflow.segmentation.foreground import grow
from puzzleflow.segmentation.fragments import Fragment, Segmentation, cut_mask

Window = Callable[[slice, slice], ByteArray]


def sharpened(small: Segmentation, number: int, window: Window, shape: tuple[int, int]) -> Fragment:
    """Fragment ``number`` of ``small`` at the size of the whole photograph.

    The outline moves to the steepest edge near it, but never into another fragment.

    window  gives (h, w, 3 or 4) pixels of the photograph
    shape   (H, W) of the photograph
    """
    scale = shape[0] / small.labels.shape[0], shape[1] / small.labels.shape[1]
    reach = int(np.ceil(max(scale))) + 1
    box = small.fragments[number - 1].bbox
    spans = []
    for axis in (0, 1):
        start = int(box[axis] * scale[axis]) - 3 * reach
        stop = int(np.ceil((box[axis] + box[axis + 2]) * scale[axis])) + 3 * reach
        spans.append(slice(max(0, start), min(shape[axis], stop)))
    rows, cols = (
        np.minimum(
            (np.arange(span.start, span.stop) + 0.5) / scale[axis], small.labels.shape[axis] - 1
        ).astype(np.intp)
        for axis, span in enumerate(spans)
    )
    labels = small.labels[rows][:, cols]  # (h, w)
    pixels = window(spans[0], spans[1])
    mask = _outlined(pixels, labels == number, reach)
    mask &= (labels == 0) | (labels == number)
    if not mask.any():
        mask = labels == number
    filled = [np.flatnonzero(mask.any(axis=1 - axis)) for axis in (0, 1)]
    inner = tuple(slice(int(at[0]), int(at[-1]) + 1) for at in filled)
    corner = spans[0].start + inner[0].start, spans[1].start + inner[1].start
    return cut_mask(pixels[inner], mask[inner], corner, shape, small.background)


def _outlined(pixels: ByteArray, mask: BoolArray, reach_px: int) -> BoolArray:
    if pixels.shape[2] == 4:
        return np.asarray(grow(mask, reach_px) & (pixels[..., 3] > 127))
    if mask.size > REFINE_PIXELS:
        return mask.copy()
    return refine_mask(pixels.astype(np.float32), mask, reach_px)
