"""Fragments as the search sees them: reduced, and extended beyond their edge.

A fragment is *extended* by giving every pixel outside its material, up to a
reach, the colour of the nearest material. Where the extension of one fragment
meets the material of another, their colours can be compared although the edge
itself is lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from puzzleflow.core.fragments import MATERIAL, Fragment
from puzzleflow.core.plane import Window, place
from puzzleflow.core.pose import Pose
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.solvers.free_form.palette import Palette

REACH = 0.14  # of √area: how far a fragment is extended


@dataclass(frozen=True, eq=False)
class Extended:
    """One fragment at one angle and scale.

    material   (H, W) bool
    extension  (H, W) bool, disjoint from the material
    colours    (H, W, 3) float32, normalised; zero outside both

    The centre of the fragment's picture is the centre of these arrays.
    """

    material: BoolArray
    extension: BoolArray
    colours: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        height, width = self.material.shape
        return height, width


def reduced(fragment: Fragment, scale: float) -> Fragment:
    """The fragment drawn at ``scale``, the centre of its picture in the centre again."""
    if scale >= 1:
        return fragment
    height, width = fragment.pixels.shape[:2]
    rows, cols = max(1, math.ceil(height * scale)), max(1, math.ceil(width * scale))
    patch = place(
        fragment,
        Pose(0, 0),
        Window(-cols / 2 / scale, -rows / 2 / scale, rows, cols, scale),
    )
    pixels = np.zeros((rows, cols, 4), dtype=np.uint8)
    pixels[patch.box] = _straight(patch.colours, patch.alpha)
    if not (pixels[..., 3] >= MATERIAL).any():  # a speck: keep its heaviest pixel
        pixels[np.unravel_index(pixels[..., 3].argmax(), (rows, cols))][3] = 255
    return Fragment(pixels, fragment.name)


def extended(fragment: Fragment, angle: float, reach_px: float, palette: Palette) -> Extended:
    """The fragment turned by ``angle`` and extended by ``reach_px``."""
    height, width = fragment.pixels.shape[:2]
    radians = math.radians(angle)
    cos, sin = abs(math.cos(radians)), abs(math.sin(radians))
    margin = 2 * (math.ceil(reach_px) + 1)
    rows = math.ceil(height * cos + width * sin - 1e-9) + margin
    cols = math.ceil(width * cos + height * sin - 1e-9) + margin
    patch = place(fragment, Pose(cols / 2, rows / 2, angle), Window(0, 0, rows, cols))
    alpha = np.zeros((rows, cols), dtype=np.float32)
    rgb = np.zeros((rows, cols, 3), dtype=np.float32)
    alpha[patch.box] = patch.alpha
    rgb[patch.box] = patch.colours / np.maximum(patch.alpha, 1e-6)[..., None]
    material = alpha >= MATERIAL / 255
    if not material.any():
        material[np.unravel_index(alpha.argmax(), alpha.shape)] = True
    distance, (row, col) = ndimage.distance_transform_edt(~material, return_indices=True)
    extension = (distance > 0) & (distance <= reach_px)
    shown = material | extension
    values = np.zeros((rows, cols, 3), dtype=np.float32)
    values[shown] = palette.normalised(rgb[row[shown], col[shown]][None])[0]
    return Extended(material, extension, values)


def _straight(colours: FloatArray, alpha: FloatArray) -> ByteArray:
    """(h, w, 4) uint8 with straight alpha."""
    plain = np.where(alpha[..., None] > 0, colours / np.maximum(alpha, 1e-6)[..., None], 0)
    both = np.concatenate([plain, alpha[..., None]], axis=2)
    return np.asarray(np.clip(np.rint(255 * both), 0, 255), np.uint8)
