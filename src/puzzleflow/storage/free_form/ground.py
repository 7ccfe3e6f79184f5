"""Cut-outs of scans on a plain ground of one known colour."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.errors import FormatError
from puzzleflow.core.types import ByteArray

TOLERANCE = 24  # levels by which a pixel may differ from the ground and still belong to it
SPECK = 0.02  # of the largest part: smaller parts are dust


def cut_out(rgb: ByteArray, ground: tuple[int, int, int] | None = None) -> ByteArray:
    """(H, W, 4) with alpha 0 on the ground and 255 on material.

    ground  its colour; the top left pixel's unless told

    Ground is what has its colour and reaches the border of the picture, so
    that a white robe on white ground keeps its inside. Where edges blend into
    the ground (smoothed, or JPEG), the outermost pixels take the colour of the
    nearest inner one.
    """
    from scipy import ndimage  # not while formats are told apart: it takes half a second

    colour = np.array(rgb[0, 0] if ground is None else ground, dtype=np.int16)
    away = np.abs(rgb.astype(np.int16) - colour).max(axis=2)  # (H, W)
    material = ndimage.binary_fill_holes(away > TOLERANCE)
    parts, count = ndimage.label(material)
    if count == 0:
        raise FormatError("a fragment without material: all of it has the colour of the ground")
    sizes = np.bincount(parts.ravel())[1:]
    material = np.isin(parts, 1 + np.flatnonzero(sizes >= SPECK * sizes.max()))
    pixels = np.zeros((*material.shape, 4), dtype=np.uint8)
    pixels[material, :3] = rgb[material]
    pixels[material, 3] = 255
    if ((away > 0) & (away <= TOLERANCE) & ~material).any():
        _unblend(pixels)
    return pixels


def _unblend(pixels: ByteArray) -> None:
    """Give the outermost pixels the colour of the nearest one inside, in place."""
    from scipy import ndimage  # not while formats are told apart: it takes half a second

    material = pixels[..., 3] > 0
    inside = ndimage.binary_erosion(material)
    if not inside.any():
        return
    nearest = ndimage.distance_transform_edt(~inside, return_distances=False, return_indices=True)
    rim = material & ~inside
    pixels[rim, :3] = pixels[nearest[0][rim], nearest[1][rim], :3]
