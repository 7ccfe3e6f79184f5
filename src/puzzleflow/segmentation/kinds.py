"""What lies beside fragments in a museum's photograph: a ruler, a colour card, a label.

Cautious guesses from shape and colours; a person is asked about each of them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull, QhullError

from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.pictures import reduced
from puzzleflow.segmentation.foreground import gradient, shrink

Kind = Literal["ruler", "colour card", "label"]

LOOK_PX = 240
RECTANGLE = 0.9  # of its smallest rectangle that a thing made by machine fills
LONG = 4.5  # times as long as wide: a ruler
BODY = 0.45  # of a ruler that has one colour
PAPER = 0.6  # of a label that has one colour
PAPER_LEVELS = 140  # and is at least as bright as this
INK = (0.01, 0.35)  # of a label that is much darker than its paper
FLAT = 0.7  # of a colour card that lies within even patches
FLAT_LEVELS = 5.0  # a pixel
PATCH = 0.02  # of the area, at least, for each of
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
    main, share = _main_colour(colours)
    if longish >= LONG:
        return "ruler" if share >= BODY else None
    if share >= PAPER and main.mean() >= PAPER_LEVELS and np.ptp(main) < 60:
        ink = float(np.mean(main.mean() - colours.mean(axis=1) > 60))
        if INK[0] <= ink <= INK[1]:
            return "label"
    return "colour card" if _num_patches(small, inner) >= PATCHES else None


def _rectangle(mask: BoolArray) -> tuple[float, float]:
    """The part of its smallest rectangle that a mask fills, and how long that is for its width."""
    points = np.argwhere(mask ^ ndimage.binary_erosion(mask)).astype(np.float64)
    try:
        points = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return 0.0, 1.0
    best = (np.inf, 1.0)
    for angle in np.radians(np.arange(0, 90, 1.5)):
        axes = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        sides = np.ptp(points @ axes.T, axis=0) + 1
        best = min(best, (float(sides.prod()), float(sides.max() / sides.min())))
    return float(np.count_nonzero(mask)) / best[0], best[1]


def _main_colour(colours: FloatArray) -> tuple[FloatArray, float]:
    """(3,) the commonest colour, and the share of pixels that are near it."""
    bins = (colours // 32).astype(np.int64) @ np.array([64, 8, 1])
    common = colours[bins == np.bincount(bins).argmax()].mean(axis=0)
    near = np.linalg.norm(colours - common, axis=1) < 40
    return common, float(near.mean())


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
