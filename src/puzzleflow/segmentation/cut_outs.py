"""Cut-outs of single fragments: out of pictures of one each, or sharply out of the photograph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from puzzleflow.core.canvas import crop_to_material
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.segmentation.find import REFINE_PIXELS, check_photo, refine_mask, segment
from puzzleflow.segmentation.foreground import grow
from puzzleflow.segmentation.fragments import Fragment, Segmentation, cut_mask

PLAIN_SPREAD = 12.0  # levels; the margins of a picture of something else spread further
CELL_SPAN = 0.5  # of the sides; pieces of puzzles span more of their cell, usually nearly all
Window = Callable[[slice, slice], ByteArray]


def cut_outs(pictures: Sequence[ByteArray], names: Sequence[str]) -> list[ByteArray]:
    """The fragment of every (H, W, 4) picture: its alpha, what lies on a plain ground, or all.

    Pictures of one size that are mostly filled are the cells of a puzzle and stay as they
    are, for the place of a fragment in its cell counts. All others lose their empty margins.
    """
    for pixels, name in zip(pictures, names, strict=True):
        if pixels[..., 3].max() <= 127:
            raise FormatError(f"{name}: the picture is transparent all over")
    found = list(pictures)
    opaque = [index for index, pixels in enumerate(found) if pixels[..., 3].min() == 255]
    lifted = _off_plain_ground([found[index] for index in opaque])
    for index, fragment in zip(opaque, lifted, strict=True):
        found[index] = fragment
    cropped = [crop_to_material(pixels) for pixels in found]
    if len({pixels.shape for pixels in found}) == 1:
        spans = np.divide([c.shape[:2] for c in cropped], found[0].shape[:2])  # (N, 2)
        if np.median(spans.min(axis=1)) >= CELL_SPAN:
            return found
    return cropped


def _off_plain_ground(pictures: Sequence[ByteArray]) -> list[ByteArray]:
    """The fragment of every opaque picture, if all of them show one on a plain ground.

    Otherwise the pictures as they are: square pieces of a painting have
    margins that are anything but plain, at least some of them.
    """
    found = []
    for pixels in pictures:
        check_photo(*pixels.shape[:2])
        try:
            segmentation = segment(np.ascontiguousarray(pixels[..., :3]))
        except InputError:
            return list(pictures)
        largest = max(segmentation.fragments, key=lambda fragment: fragment.area_px)
        ground = segmentation.background
        if largest.cut_off or ground is None or ground.spread > PLAIN_SPREAD:
            return list(pictures)
        found.append(largest.pixels)
    return found


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
