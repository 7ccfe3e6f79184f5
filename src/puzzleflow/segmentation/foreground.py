"""Which pixels of a photograph are material: different from the ground, and no shadow.

A shadow is the ground's colour, darker, and ends softly; a fragment ends
sharply. Pixels that could be either go to the side from which they can be
reached without crossing a sharp edge: a watershed on the gradient, which also
puts the outline where the edge is steepest. What was found can be drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import ImageDraw, ImageFont
from scipy import ndimage

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.canvas import RIGHT, WRONG
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.pictures import resize, to_image
from puzzleflow.segmentation.fragments import Segmentation, flood

LEAST_THRESHOLD = 7.0
NOISE_FACTOR = 4.0
DARKEST_SHADOW = 0.35  # of the ground's brightness; nothing soft is darker
HUE_TOLERANCE = (3.0, 0.022)  # levels, and a part of the brightness: colours that JPEG bleeds
SPECK_PX = 24  # fewer connected pixels of the ground's colour are no ground
LEAST_SHARP_PX = 100
SHARP = 0.7
_GROUND, _MATERIAL = 1, 2
PREVIEW_PX = 1600


@dataclass(frozen=True, eq=False)
class Foreground:
    """(H, W) material, and how far every pixel is from the ground (levels)."""

    mask: BoolArray
    distance: FloatArray
    threshold: float


def find_foreground(
    photo: FloatArray, ground: FloatArray, threshold: float | None = None
) -> Foreground:
    """Material of a (H, W, 3) float32 photograph on a (H, W, 3) ground, both in levels."""
    smooth = ndimage.gaussian_filter(photo, (1.0, 1.0, 0))  # (H, W, 3)
    distance = np.linalg.norm(smooth - ground, axis=-1)  # (H, W)
    if threshold is None:
        threshold = automatic_threshold(distance)
    different = without_specks(distance > threshold)
    part, hue = as_shadow(smooth, ground)
    shadow = different & like_shadow(part, hue, ground)
    edge = gradient(photo)
    check_cancelled()
    highest = ndimage.maximum_filter(distance, 7)
    certain = different & ~grow(shadow, 2) & inside_edge(distance, different, highest)
    certain |= textured(photo, shadow, different)
    certain &= distance > 0.5 * highest  # else perhaps a narrow gap
    certain |= sharp_regions(distance, different, certain, highest)
    markers = np.zeros(distance.shape, np.int32)
    markers[~different] = _GROUND
    markers[certain] = _MATERIAL
    check_cancelled()
    flooded = flood(edge, markers)
    check_cancelled()
    mask = fill_unlike_ground(
        flooded == _MATERIAL, np.where(part < 1, hue, distance), edge, different, threshold
    )
    return Foreground(mask, distance, threshold)


def automatic_threshold(distance: FloatArray) -> float:
    """Well above the noise: most pixels, or at least the closest quarter, are ground."""
    return max(LEAST_THRESHOLD, NOISE_FACTOR * float(np.quantile(distance, 0.25)))


def without_specks(different: BoolArray) -> BoolArray:
    """The mask with its tiny holes filled: paint that happens to have the ground's colour."""
    labels, _ = ndimage.label(~different)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0  # what is different already
    return np.asarray(different | ((sizes < SPECK_PX)[labels]))


def as_shadow(smooth: FloatArray, ground: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(H, W) brightness as a part of the ground's, and (H, W) what that leaves unexplained."""
    power = np.maximum((ground**2).sum(-1), 1.0)
    part = (smooth * ground).sum(-1) / power
    return part, np.linalg.norm(smooth - part[..., None] * ground, axis=-1)


def like_shadow(part: FloatArray, hue: FloatArray, ground: FloatArray) -> BoolArray:
    """(H, W) True where a pixel is the ground's colour, only darker."""
    brightness = np.linalg.norm(ground, axis=-1)
    tolerance = HUE_TOLERANCE[0] + brightness * (HUE_TOLERANCE[1] + 0.06 * (1 - part))
    return np.asarray((part < 1) & (part > DARKEST_SHADOW) & (hue < tolerance))


def gradient(photo: FloatArray) -> FloatArray:
    """(H, W) steepest change of colour, in levels a pixel."""
    squared = np.zeros(photo.shape[:2], np.float32)
    for channel in range(photo.shape[2]):
        for order in ((1, 0), (0, 1)):
            squared += ndimage.gaussian_filter(photo[..., channel], 0.8, order=order) ** 2
    return np.sqrt(squared)


def inside_edge(distance: FloatArray, different: BoolArray, highest: FloatArray) -> BoolArray:
    """Pixels on the inner side of their edge: far from it, or nearly as different as it gets."""
    return np.asarray(shrink(different, 3) | (distance > 0.8 * highest))


def sharp_regions(
    distance: FloatArray, different: BoolArray, certain: BoolArray, highest: FloatArray
) -> BoolArray:
    """The inner part of regions that look like shadow all over, but end as no shadow does.

    Within three pixels of its outline a fragment is as different as inside; a
    shadow is still faint there.
    """
    labels, count = ndimage.label(different)
    doubtful = np.bincount(labels.ravel(), minlength=count + 1) >= LEAST_SHARP_PX
    doubtful[np.unique(labels[certain])] = False
    doubtful[0] = False
    rim = different & grow(~different, 1)
    sharp = np.zeros(count + 1, bool)
    boxes = ndimage.find_objects(labels)
    for number in np.flatnonzero(doubtful):
        box = boxes[number - 1]
        region = labels[box] == number
        usual = float(np.quantile(distance[box][region], 0.75))
        sharp[number] = float(np.median(highest[box][region & rim[box]])) > SHARP * usual
    return np.asarray(shrink(different, 3) & sharp[labels])


def textured(photo: FloatArray, shadow: BoolArray, different: BoolArray) -> BoolArray:
    """Shadow-coloured pixels in the middle of a region that is too lively for a shadow.

    In paint the gradient points everywhere, in a shadow and along an edge it
    points one way; so the mean length of the gradients is compared with the
    length of their mean.
    """
    if not shadow.any() or different.all():
        return np.zeros_like(shadow)
    grey = photo.mean(axis=-1)
    slopes = [ndimage.gaussian_filter(grey, 0.8, order=order) for order in ((1, 0), (0, 1))]
    length = np.hypot(*slopes)
    noise = float(np.median(length[~different]))
    common = np.hypot(*(ndimage.uniform_filter(slope, 9) for slope in slopes))
    mean = ndimage.uniform_filter(length, 9)
    lively = ndimage.uniform_filter((length > 2 + 2 * noise).astype(np.float32), 9) > 0.6
    return np.asarray(shadow & shrink(lively & (common < 0.4 * mean), 2))


def fill_unlike_ground(
    mask: BoolArray,
    distance: FloatArray,
    edge: FloatArray,
    different: BoolArray,
    threshold: float,
) -> BoolArray:
    """Fill the holes that are small, or livelier than the ground: those are paint."""
    holes = ndimage.binary_fill_holes(mask) & ~mask
    labels, count = ndimage.label(holes)
    if not count or different.all():
        return mask
    numbers, inside = np.arange(1, count + 1), labels[holes]
    sizes = np.bincount(inside)[1:]  # (count,)
    colour = ndimage.median(distance[holes], inside, numbers)
    lively = ndimage.median(edge[holes], inside, numbers)
    outside = ~different & ~holes
    calm = float(np.median(edge[outside])) if outside.any() else 0.0
    paint = (sizes < SPECK_PX) | (lively > 2 * calm + 4) | (colour > threshold)
    return np.asarray(mask | np.concatenate([[False], paint])[labels])


def shrink(mask: BoolArray, reach_px: int) -> BoolArray:
    """Erosion with a square; beyond the picture everything counts as material."""
    return np.asarray(ndimage.minimum_filter(mask, 2 * reach_px + 1, mode="nearest"))


def grow(mask: BoolArray, reach_px: int) -> BoolArray:
    """Dilation with a square."""
    return np.asarray(ndimage.maximum_filter(mask, 2 * reach_px + 1, mode="nearest"))


def draw_preview(segmentation: Segmentation, max_px: int = PREVIEW_PX) -> ByteArray:
    """(h, w, 3) uint8, at most ``max_px`` on the long side; what is cut off in another colour."""
    height, width = segmentation.labels.shape
    factor = min(1.0, max_px / max(height, width))
    size = max(1, round(height * factor)), max(1, round(width * factor))
    rows = np.minimum(((np.arange(size[0]) + 0.5) / factor).astype(np.intp), height - 1)
    cols = np.minimum(((np.arange(size[1]) + 0.5) / factor).astype(np.intp), width - 1)
    labels = segmentation.labels[rows][:, cols]  # (h, w)
    page = resize(segmentation.photo[..., :3], *size).copy()
    line = max(1, round(max(size) / 600))
    for number, fragment in enumerate(segmentation.fragments, start=1):
        colour = WRONG if fragment.cut_off else RIGHT
        top, left, tall, wide = (round(side * factor) for side in fragment.bbox)
        window = np.s_[
            max(0, top - line - 1) : top + tall + line + 2,
            max(0, left - line - 1) : left + wide + line + 2,
        ]
        mask = labels[window] == number
        page[window][grow(mask, line) & ~mask] = colour
    image = to_image(page)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(max(12, round(max(size) / 45)))
    for number, fragment in enumerate(segmentation.fragments, start=1):
        top, left, tall, wide = fragment.bbox
        centre = ((left + wide / 2) * factor, (top + tall / 2) * factor)
        draw.text(
            centre, str(number), "white", font, anchor="mm", stroke_width=3, stroke_fill="black"
        )
    return np.array(image)
