"""Outlines as curves: a mask's border in polar form, and the way back to a mask.

A curve is (2, 512): log radius and angle about the centroid at equal steps
along the border, the angle less the steady turn of a circle. Both rows are
periodic, start where the border crosses the centroid's right, and run one way
round, so curves can be averaged, filtered and modelled; overhangs are kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from puzzleflow.core.errors import InputError
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.geometry import outline, resample
from puzzleflow.generation.masks import fill_holes, largest_component
from puzzleflow.masks import MASK_PX, bounding_box

Curve = NDArray[np.float64]  # (2, POINTS)

POINTS = 512
SMOOTHING = 1.0  # of 1024 points: about half a pixel, takes the pixel stairs away
CIRCLE: NDArray[np.float64] = 2 * np.pi * np.arange(POINTS) / POINTS


def curve_of(mask: BoolArray) -> Curve:
    """The longest border of a mask as a curve."""
    dense = resample(outline(mask), 2 * POINTS)
    smooth = ndimage.gaussian_filter1d(dense, SMOOTHING, axis=0, mode="wrap")
    centre = np.argwhere(mask).mean(axis=0)
    points = (smooth[:, 1] - centre[1]) + 1j * (smooth[:, 0] - centre[0])
    if np.sum((points.conj() * np.roll(points, -1)).imag) < 0:
        points = points[::-1]
    angle = np.angle(points)
    winding = np.sum(np.angle(np.roll(points, -1) / points)) / (2 * np.pi)
    crossings = np.flatnonzero((np.roll(angle, 1) < 0) & (angle >= 0) & (angle < 1))
    if not crossings.size or round(winding) != 1:
        raise InputError("the mask's border does not go round its centroid")
    first = crossings[np.argmax(np.abs(points[crossings]))]
    turned = np.roll(points, -first)
    even = resample(np.stack([turned.real, turned.imag], axis=1), POINTS)
    points = even[:, 0] + 1j * even[:, 1]
    angle = np.unwrap(np.angle(points)) - CIRCLE
    return np.stack([np.log(np.abs(points) / (MASK_PX / 2)), angle])


def mask_of(curve: Curve) -> BoolArray:
    """(128, 128) bool: the curve filled, its bounding box stretched to the square."""
    points = np.exp(curve[0] + 1j * (curve[1] + CIRCLE))
    rows, cols = (_stretch(axis) for axis in (points.imag, points.real))
    return fill_frame(largest_component(fill_holes(fill_polygon(rows, cols, MASK_PX))))


def _stretch(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From the first pixel's outer border to the last one's."""
    low, high = values.min(), values.max()
    if high - low < 1e-9:
        return np.zeros_like(values)
    stretched: NDArray[np.float64] = (values - low) / (high - low) * MASK_PX - 0.5
    return stretched


def fill_polygon(rows: NDArray[np.float64], cols: NDArray[np.float64], side_px: int) -> BoolArray:
    """(side_px, side_px) bool: pixels whose centre an even-odd polygon holds.

    Each edge marks, in every pixel row it crosses, the column where it does;
    counting the marks from the left says what lies inside.
    """
    next_rows, next_cols = np.roll(rows, -1), np.roll(cols, -1)
    falls = next_rows < rows
    top, bottom = np.where(falls, next_rows, rows), np.where(falls, rows, next_rows)
    start, end = np.where(falls, next_cols, cols), np.where(falls, cols, next_cols)
    first = np.clip(np.ceil(top), 0, side_px).astype(np.int64)
    count = np.clip(np.ceil(bottom), 0, side_px).astype(np.int64) - first
    edge = np.repeat(np.arange(len(rows)), count)
    row = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    share = (row - top[edge]) / (bottom[edge] - top[edge])
    col = np.ceil(start[edge] + share * (end[edge] - start[edge]))
    col = np.clip(col, 0, side_px).astype(np.int64)
    marks = np.bincount(row * (side_px + 1) + col, minlength=side_px * (side_px + 1))
    inside = np.cumsum(marks.reshape(side_px, side_px + 1), axis=1)[:, :side_px] & 1
    return inside.astype(bool)


def fill_frame(mask: BoolArray) -> BoolArray:
    """Stretch a mask that misses its frame (a tip thinner than a pixel) to fill it."""
    height, width = mask.shape
    top, bottom, left, right = bounding_box(mask)
    if (bottom - top, right - left) == (height, width) or bottom == 0:
        return mask
    rows = top + ((np.arange(height) + 0.5) * (bottom - top) / height).astype(np.int64)
    cols = left + ((np.arange(width) + 0.5) * (right - left) / width).astype(np.int64)
    return mask[np.ix_(rows, cols)]
