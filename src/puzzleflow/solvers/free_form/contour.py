"""The outline of a fragment as a ring of points, with the colours that lie behind each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree

from puzzleflow.core.fragments import MATERIAL, Fragment
from puzzleflow.core.types import FloatArray
from puzzleflow.solvers.free_form.palette import Palette
from puzzleflow.solvers.free_form.scaled import ScaledSet

SPACING = 0.033  # of the median √area: between two points
DEPTHS = (0.015, 0.035, 0.06, 0.09, 0.13)  # of the median √area, inward
SIGHT = 0.26  # of the median √area: how far beyond its edge a fragment is mapped
SMOOTH_PX = 1.0  # of the mask before its outline is drawn
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Contour:
    """One fragment; lengths in pixels of its scale, points from the centre of its picture.

    points    (M, 2) x, y along the outer edge, material to one side, evenly spaced
    normals   (M, 2) outward, of length 1
    profile   (M, K · 3) normalised colours behind a point, K depths inward
    nearest   (H, W) int32 point that is nearest; the map is centred and reaches ``SIGHT`` out
    distance  (H, W) to the edge, negative on material
    root      √area of the fragment
    unit      median √area of the set
    """

    points: Floats
    normals: Floats
    profile: Floats
    nearest: NDArray[np.int32]
    distance: Floats
    root: float
    unit: float

    def __len__(self) -> int:
        return len(self.points)


def contours(scaled: ScaledSet) -> tuple[Contour, ...]:
    """One for each fragment of a set."""
    unit = float(np.median(scaled.roots)) * scaled.scale
    return tuple(
        _contour(picture, scaled.palette, scaled.root_px(index), unit)
        for index, picture in enumerate(scaled.pictures)
    )


def _contour(picture: Fragment, palette: Palette, root: float, unit: float) -> Contour:
    margin = math.ceil(SIGHT * unit) + 2
    pixels = np.pad(picture.pixels, ((margin, margin), (margin, margin), (0, 0)))
    material = pixels[..., 3] >= MATERIAL
    away, (row, col) = ndimage.distance_transform_edt(~material, return_indices=True)
    depth = ndimage.distance_transform_edt(material)
    colours = palette.normalised(pixels[row, col, :3].astype(np.float32) / 255)  # (H, W, 3)
    ring = _ring(material, SPACING * unit)  # (M, 2) x, y from the corner
    ahead = np.roll(ring, -2, axis=0) - np.roll(ring, 2, axis=0)
    ahead /= np.maximum(np.hypot(*ahead.T), 1e-6)[:, None]
    normals = np.stack([ahead[:, 1], -ahead[:, 0]], axis=1)
    behind = ring[:, None] - normals[:, None] * (np.array(DEPTHS)[:, None] * unit)  # (M, K, 2)
    at = [behind[..., 1] - 0.5, behind[..., 0] - 0.5]
    profile = np.stack(
        [ndimage.map_coordinates(colours[..., c], at, order=1, mode="nearest") for c in range(3)],
        axis=2,
    )  # (M, K, 3)
    height, width = material.shape
    distance = np.where(material, 0.5 - depth, away - 0.5)
    nearest = np.zeros((height, width), dtype=np.int32)
    rows, cols = np.nonzero(np.abs(distance) <= SIGHT * unit)
    nearest[rows, cols] = cKDTree(ring).query(np.stack([cols + 0.5, rows + 0.5], axis=1))[1]
    return Contour(
        np.asarray(ring - (width / 2, height / 2), np.float32),
        np.asarray(normals, np.float32),
        np.asarray(profile.reshape(len(ring), -1), np.float32),
        nearest,
        np.asarray(distance, np.float32),
        root,
        unit,
    )


def _ring(material: NDArray[np.bool_], spacing: float) -> FloatArray:
    """(M, 2) x, y of the longest outline, clockwise as one sees it."""
    from skimage.measure import find_contours

    for smooth in (SMOOTH_PX, 0.0):
        soft = ndimage.gaussian_filter(material.astype(np.float32), smooth) if smooth else material
        found = find_contours(np.asarray(soft, np.float32), 0.5)  # type: ignore[no-untyped-call]
        if found:
            break
    longest = max(found, key=len)[:, ::-1] + 0.5  # x, y
    (x, y), (x_2, y_2) = longest[:-1].T, longest[1:].T
    if (x * y_2 - y * x_2).sum() < 0:  # y runs down: positive is clockwise
        longest = longest[::-1]
    steps = np.hypot(*np.diff(longest, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    count = max(8, round(along[-1] / spacing))
    at = np.linspace(0, along[-1], count, endpoint=False)
    return np.stack([np.interp(at, along, longest[:, axis]) for axis in (0, 1)], axis=1)
