"""Fragments that wear the outline of a real one: the silhouette laid over the broken part."""

from __future__ import annotations

import math

import numpy as np
from scipy import ndimage

from puzzleflow.core.types import BoolArray, FloatArray
from puzzleflow.generation.fracture import largest_part

TURNS = 12  # angles that are tried, so that the silhouette lies well on the part
STEPS = 12  # of the search for its size


def outlined(
    rng: np.random.Generator, mask: BoolArray, silhouette: BoolArray, gap: float
) -> BoolArray:
    """(H, W) what is left of a part, in one piece: where a real silhouette covers it.

    silhouette  (h, w) of any size; it is turned to where it covers most, from a random angle
                on, and made as large as leaves about the ``gap`` (over √area) to neighbours

    Of the edge, 4 √area long, gap / 2 · √area goes: 1 − 2 gap of the area is left.
    """
    share = max(0.3, 1 - 2 * gap)
    rows, cols = np.nonzero(mask)
    own = np.stack([cols - cols.mean(), rows - rows.mean()], axis=1)  # (M, 2)
    y, x = np.nonzero(silhouette)
    middle = np.array([x.mean(), y.mean()])
    alike = math.sqrt(len(x) / len(own))  # pixels of the silhouette for one of the part

    def covered(angle: float, size: float) -> BoolArray:
        cos, sin = math.cos(angle), math.sin(angle)
        at = own @ np.array([[cos, sin], [-sin, cos]]) * (alike / size) + middle  # (M, 2)
        return _looked_up(silhouette, at)

    start = float(rng.uniform(0, 2 * math.pi))
    angles = start + 2 * math.pi * np.arange(TURNS) / TURNS
    angle = float(max(angles, key=lambda each: covered(each, 1.0).sum()))
    low, high = 0.5, 4.0
    for _ in range(STEPS):
        size = (low + high) / 2
        low, high = (size, high) if covered(angle, size).mean() < share else (low, size)
    kept = np.zeros_like(mask)
    kept[rows, cols] = covered(angle, high)
    return largest_part(kept) if kept.any() else kept


def _looked_up(silhouette: BoolArray, at: FloatArray) -> BoolArray:
    """(M,) whether points x, y fall on the silhouette."""
    found = ndimage.map_coordinates(silhouette.astype(np.float32), at.T[::-1], order=1)
    return np.asarray(found >= 0.5)
