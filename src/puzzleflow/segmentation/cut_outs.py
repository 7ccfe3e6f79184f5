"""Pictures that people bring, one for each fragment → cut-outs: what of a picture is material."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puzzleflow.core.cells import crop_to_material
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import ByteArray
from puzzleflow.segmentation.find import segment

PLAIN_SPREAD = 12.0  # levels; the margins of a picture of something else spread further
CELL_SPAN = 0.5  # of the sides; pieces of puzzles span more of their cell, usually nearly all


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
