"""Fragments: what a photograph is cut into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.segmentation import watershed

from puzzleflow.core.errors import InputError
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.segmentation.background import Ground, even_light

Box = tuple[int, int, int, int]
ROW_PART = 0.6  # of the usual height: fragments nearer than this lie in one row
Labels = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Fragment:
    """One fragment of a photograph.

    pixels   (h, w, 4) uint8, cropped; RGB is zero where alpha is zero
    bbox     (top, left, height, width) in the photograph
    area_px  pixels of material in the photograph
    cut_off  True if the fragment runs out of the photograph
    """

    pixels: ByteArray
    bbox: Box
    area_px: int
    cut_off: bool = False


@dataclass(frozen=True, eq=False)
class Segmentation:
    """A photograph in fragments; fragment i has the number i + 1 in ``labels``.

    fragments   left to right, rows from top to bottom
    labels      (H, W) int32, 0 on the ground
    background  the ground's colour as a smooth model; None where alpha said what is ground
    threshold   distance from the ground, in levels, from which a pixel counted as material
    photo       (H, W, 3 or 4) uint8, what was cut
    warnings    sentences for the person who took the photograph
    """

    fragments: tuple[Fragment, ...]
    labels: Labels
    background: Ground | None
    threshold: float
    photo: ByteArray
    warnings: tuple[str, ...] = ()


def cut_fragment(
    photo: ByteArray,
    labels: Labels,
    number: int,
    ground: Ground | None = None,
    box: tuple[slice, slice] | None = None,
) -> Fragment:
    """The fragment ``number``, with a smooth outline and no ground in its rim.

    Alpha falls off over about one pixel and exceeds one half where ``labels``
    has the number; the outermost pixels, where ground and material mix, take
    the colour of the nearest material. Uneven light is evened where ``ground``
    tells it. ``box`` is where it lies, looked for unless it is known.
    """
    if box is None:
        boxes = ndimage.find_objects(labels, max_label=number)
        if not 0 < number <= len(boxes) or boxes[number - 1] is None:
            raise InputError(f"no fragment {number}: there are {len(boxes)}")
        box = boxes[number - 1]
    rows, cols = box
    corner = rows.start, cols.start
    mask = labels[rows, cols] == number  # (h, w)
    return cut_mask(photo[rows, cols], mask, corner, labels.shape, ground)


def cut_mask(
    window: ByteArray,
    mask: BoolArray,
    corner: tuple[int, int],
    shape: tuple[int, ...],
    ground: Ground | None,
) -> Fragment:
    """The fragment that ``mask`` (h, w) marks in a window of a photograph.

    window  (h, w, 3 or 4) that fits it closely
    corner  (top, left) of the window in the photograph
    shape   (H, W) of the photograph
    """
    height, width = shape[:2]
    pixels = np.zeros((*mask.shape, 4), np.uint8)
    pixels[..., :3] = window[..., :3]
    if ground is not None:
        even_light(pixels[..., :3], ground, (height, width), corner)
    if window.shape[2] == 4:
        pixels[..., 3] = np.where(mask, window[..., 3], 0)
    else:
        pixels[..., 3] = soft_alpha(mask)
        _clean_rim(pixels, mask)
    pixels[pixels[..., 3] == 0] = 0
    top, left = corner
    tall, wide = mask.shape
    return Fragment(
        pixels=pixels,
        bbox=(top, left, tall, wide),
        area_px=int(np.count_nonzero(mask)),
        cut_off=bool(top == 0 or left == 0 or top + tall == height or left + wide == width),
    )


def soft_alpha(mask: BoolArray) -> ByteArray:
    """(H, W) alpha that is above one half on the mask and below it elsewhere."""
    blurred = ndimage.gaussian_filter(mask.astype(np.float32), 0.6, mode="nearest")
    alpha = np.clip(255 * (2 * blurred - 0.5), 0, 255)
    bounded = np.where(mask, np.maximum(alpha, 128), np.minimum(alpha, 127))
    return np.asarray(bounded, np.uint8)


def _clean_rim(pixels: ByteArray, mask: BoolArray) -> None:
    """Give the outermost pixels the colour of the nearest one inside, in place."""
    inside = ndimage.binary_erosion(mask)
    if not inside.any():
        return
    nearest = ndimage.distance_transform_edt(
        ~inside, return_distances=False, return_indices=True
    )  # (2, h, w)
    rim = ~inside & (pixels[..., 3] > 0)
    pixels[rim, :3] = pixels[nearest[0][rim], nearest[1][rim], :3]


def reading_order(boxes: Sequence[Box]) -> list[int]:
    """Indices of boxes left to right, rows top to bottom; rows may be a little crooked."""
    if not boxes:
        return []
    reach = ROW_PART * float(np.median([height for _, _, height, _ in boxes]))
    middle = [top + height / 2 for top, _, height, _ in boxes]
    order: list[int] = []
    row: list[int] = []
    for index in sorted(range(len(boxes)), key=middle.__getitem__):
        if row and middle[index] - middle[row[0]] > reach:
            order += sorted(row, key=lambda each: boxes[each][1])
            row = []
        row.append(index)
    return order + sorted(row, key=lambda each: boxes[each][1])


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
