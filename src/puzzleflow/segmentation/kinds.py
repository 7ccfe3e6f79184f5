"""What lies beside fragments in a museum's photograph: a ruler, a colour card, a label.

Cautious guesses from shape and colours; a person is asked about each of them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull, QhullError

from puzzleflow.core.types import BoolArray, ByteArray, FloatArray, IntArray
from puzzleflow.pictures import reduced
from puzzleflow.segmentation.foreground import gradient, shrink

Kind = Literal["ruler", "colour card", "label"]

LOOK_PX = 240
RECTANGLE = 0.9  # of its smallest rectangle that a thing made by machine fills
LONG = 4.5  # times as long as wide: perhaps a ruler
BODY = 0.75  # of a ruler or a label that has one colour, to within
BODY_LEVELS = 15.0
BODY_SPREAD = 6.5  # the median distance from it; paint varies more
MARKS = (0.012, 0.35)  # of it that is quite another colour: marks, ink
REGULAR = 0.35  # correlation of a ruler's marks with themselves, one mark further
PAPER_LEVELS = 170  # a label is at least as bright as this
FLAT = 0.45  # of a colour card that lies within even patches
FLAT_LEVELS = 5.0  # a pixel
PATCH = 0.01  # of the area, at least, for each of
PATCHES = 6  # patches or more
APART = 45.0  # levels between the colours of two patches


def kind_of(pixels: ByteArray) -> Kind | None:
    """What a cut-out (h, w, 4) probably is if it is no fragment; None if it may well be one."""
    small = reduced(pixels, LOOK_PX)
    mask = small[..., 3] > 127
    inner = shrink(np.pad(mask, 1), 2)[1:-1, 1:-1] & mask
    if np.count_nonzero(inner) < 200:
        return None
    filled, longish = _rectangle(mask)
    if filled < RECTANGLE:
        return None
    colours = small[..., :3][inner].astype(np.float64)  # (P, 3)
    body, distance = _body(colours)
    marks = distance > 60
    marked = MARKS[0] <= float(marks.mean()) <= MARKS[1]
    if body is not None and marked:
        if longish >= LONG:
            return "ruler" if _regular(np.argwhere(inner), marks) else None
        if body.mean() >= PAPER_LEVELS and np.ptp(body) < 60:
            return "label"
    return "colour card" if longish < LONG and _num_patches(small, inner) >= PATCHES else None


def _rectangle(mask: BoolArray) -> tuple[float, float]:
    """The part of its smallest rectangle that a mask fills, and how long that is for its width."""
    points = np.argwhere(mask ^ ndimage.binary_erosion(mask)).astype(np.float64)
    try:
        points = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return 0.0, 1.0
    best = (np.inf, 1.0)
    along = np.diff(points, axis=0, append=points[:1])  # the best one lies along an edge
    for angle in np.arctan2(along[:, 0], along[:, 1]) % (np.pi / 2):
        axes = np.array([[np.sin(angle), np.cos(angle)], [np.cos(angle), -np.sin(angle)]])
        sides = np.ptp(points @ axes.T, axis=0) + 1
        best = min(best, (float(sides.prod()), float(sides.max() / sides.min())))
    return float(np.count_nonzero(mask)) / best[0], best[1]


def _body(colours: FloatArray) -> tuple[FloatArray | None, FloatArray]:
    """(3,) the one colour that nearly all pixels have, if there is one; (P,) distance from it."""
    bins = (colours // 32).astype(np.int64) @ np.array([64, 8, 1])
    common = np.median(colours[bins == np.bincount(bins).argmax()], axis=0)
    distance = np.linalg.norm(colours - common, axis=1)
    near = distance < 2 * BODY_LEVELS
    spread = float(np.median(distance[near])) if near.any() else np.inf
    even = float((distance < BODY_LEVELS).mean()) >= BODY and spread <= BODY_SPREAD
    return common if even else None, distance


def _regular(places: IntArray, marks: BoolArray) -> bool:
    """Whether marks stand at equal distances along the long side.

    places  (P, 2) where the pixels lie
    """
    centred = places - places.mean(axis=0)
    along = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1]  # (P,)
    at = np.rint(along - along.min()).astype(np.int64)
    profile = np.bincount(at, marks) / np.maximum(np.bincount(at), 1)
    profile -= ndimage.uniform_filter1d(profile, 31)
    power = np.correlate(profile, profile, "full")[len(profile) - 1 :]
    return bool(power[0] > 0 and power[3 : len(profile) // 5].max() >= REGULAR * power[0])


def _num_patches(pixels: ByteArray, inner: BoolArray) -> int:
    """How many even patches of clearly different colours there are; 0 where little is even."""
    even = inner & (gradient(pixels[..., :3].astype(np.float32)) < FLAT_LEVELS)
    if np.count_nonzero(even) < FLAT * np.count_nonzero(inner):
        return 0
    labels, count = ndimage.label(even)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    found: list[FloatArray] = []
    for number in np.flatnonzero(sizes >= PATCH * np.count_nonzero(inner)):
        if number == 0:
            continue
        colour = np.median(pixels[..., :3][labels == number], axis=0)
        if all(np.linalg.norm(colour - other) > APART for other in found):
            found.append(colour)
    return len(found)
