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
from puzzleflow.generation.fragments import fill_holes, largest_component
from puzzleflow.generation.geometry import outline, resample
from puzzleflow.generation.quick_geometry import is_whole
from puzzleflow.masks import MASK_PX, bounding_box
from puzzleflow.search.compiling import compiled

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
    return fill_frame(framed_mask(curve, MASK_PX, MASK_PX))


def filled_share(curve: Curve) -> float:
    """The area that a curve encloses, of its bounding box."""
    points = _points(curve)
    enclosed = abs(float(np.sum((points.conj() * np.roll(points, -1)).imag))) / 2
    return enclosed / float(np.ptp(points.real) * np.ptp(points.imag))


def framed_mask(curve: Curve, height_px: float, width_px: float) -> BoolArray:
    """(128, 128) bool: the curve filled, its box stretched to this size about the middle."""
    points = _points(curve)
    rows, cols = _stretch(points.imag, height_px), _stretch(points.real, width_px)
    mask = fill_polygon(rows, cols, MASK_PX)
    return mask if is_whole(mask) else largest_component(fill_holes(mask))


def _points(curve: Curve) -> NDArray[np.complex128]:
    """(POINTS,) column + i · row about the centroid."""
    points: NDArray[np.complex128] = np.exp(curve[0] + 1j * (curve[1] + CIRCLE))
    return points


def _stretch(values: NDArray[np.float64], side_px: float) -> NDArray[np.float64]:
    """Onto ``side_px`` about the middle, whole: from the first pixel's outer border."""
    low, high = values.min(), values.max()
    if high - low < 1e-9:
        return np.zeros_like(values)
    margin = (MASK_PX - side_px) / 2
    stretched: NDArray[np.float64] = (values - low) / (high - low) * side_px + margin - 0.5
    return stretched


@compiled
def fill_polygon(rows: NDArray[np.float64], cols: NDArray[np.float64], side_px: int) -> BoolArray:
    """(side_px, side_px) bool: pixels whose centre an even-odd polygon holds.

    Each edge marks, in every pixel row it crosses, the column where it does;
    counting the marks from the left says what lies inside.
    """
    marks = np.zeros((side_px, side_px + 1), np.uint8)
    for index in range(len(rows)):
        top, start, bottom, end = rows[index - 1], cols[index - 1], rows[index], cols[index]
        if bottom < top:
            top, start, bottom, end = bottom, end, top, start
        first = int(min(max(np.ceil(top), 0), side_px))
        for row in range(first, int(min(max(np.ceil(bottom), 0), side_px))):
            share = (row - top) / (bottom - top)
            col = np.ceil(start + share * (end - start))
            marks[row, int(min(max(col, 0), side_px))] ^= 1
    inside = np.empty((side_px, side_px), np.bool_)
    for row in range(side_px):
        odd = 0
        for col in range(side_px):
            odd ^= marks[row, col]
            inside[row, col] = odd
    return inside


def fill_frame(mask: BoolArray) -> BoolArray:
    """Stretch a mask that misses its frame (a tip thinner than a pixel) to fill it."""
    height, width = mask.shape
    top, bottom, left, right = bounding_box(mask)
    if (bottom - top, right - left) == (height, width) or bottom == 0:
        return mask
    rows = top + ((np.arange(height) + 0.5) * (bottom - top) / height).astype(np.int64)
    cols = left + ((np.arange(width) + 0.5) * (right - left) / width).astype(np.int64)
    return mask[np.ix_(rows, cols)]
