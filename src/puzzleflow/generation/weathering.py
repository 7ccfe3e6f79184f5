"""What time does to fragments: edges crumble, corners round off, chips break away.

The gap between two neighbours, over √area, is what the literature measures;
:data:`GAPS` names medians: of RePAIR's objects they are .03 to .09.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from puzzleflow.core.errors import InputError
from puzzleflow.core.types import BoolArray, FloatArray
from puzzleflow.generation.fracture import Labels, largest_part, smooth_noise

GAPS = {"none": 0.0, "mild": 0.03, "repair": 0.07, "heavy": 0.14}
EDGES = 0.86  # of a gap comes from the edges; rounding, chips and corners add the rest


@dataclass(frozen=True)
class Weathering:
    """How much is lost.

    gap       median gap between neighbours over √area
    uneven    deviation of the logarithm of the loss along an edge
    rounding  of corners: width of a smoothing over √area
    chips     mean number of chips that broke off a fragment
    """

    gap: float = GAPS["repair"]
    uneven: float = 0.45
    rounding: float = 0.02
    chips: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.gap <= 0.4 or not 0 <= self.rounding <= 0.2:
            raise InputError("gap lies between 0 and 0.4, rounding between 0 and 0.2")
        if not 0 <= self.uneven <= 2 or not 0 <= self.chips <= 20:
            raise InputError("uneven lies between 0 and 2, chips between 0 and 20")


def weathered(
    rng: np.random.Generator, mask: BoolArray, depth: FloatArray, how: Weathering
) -> BoolArray:
    """(H, W) what is left of a fragment, in one piece; may be nothing.

    mask   (H, W) the fragment as it broke
    depth  (H, W) distance of every pixel to the nearest edge

    Every point of the edge moves inward by gap / 2 · √area · exp(uneven · noise), with
    the area that is left: two neighbours then lie a gap apart.
    """
    size = math.sqrt(np.count_nonzero(mask))
    loss = np.exp(how.uneven * smooth_noise(rng, mask.shape, max(4.0, 0.25 * size)))
    kept = mask
    for _ in range(4):  # the loss depends on what is left
        left = math.sqrt(np.count_nonzero(kept))
        kept = mask & (depth > 0.5 * EDGES * how.gap * left * loss)
    if how.rounding and kept.any():
        sigma = how.rounding * math.sqrt(np.count_nonzero(kept))
        soft = ndimage.gaussian_filter(kept.astype(np.float32), sigma, mode="constant")
        kept = mask & (soft > 0.5)
    for _ in range(int(rng.poisson(how.chips))):
        kept = _chipped(rng, kept)
    return largest_part(kept)


def _chipped(rng: np.random.Generator, mask: BoolArray) -> BoolArray:
    """The mask without a small lump at a random point of its edge."""
    rim = np.argwhere(mask & ~ndimage.binary_erosion(mask))
    if not len(rim):
        return mask
    top, left = rim[int(rng.integers(len(rim)))]
    radius = math.sqrt(np.count_nonzero(mask)) * float(rng.uniform(0.04, 0.1))
    rows, cols = np.ogrid[: mask.shape[0], : mask.shape[1]]
    away = np.sqrt((rows - top) ** 2 + (cols - left) ** 2)
    lump = away < radius * (1 + 0.25 * smooth_noise(rng, mask.shape, max(3.0, radius)))
    return np.asarray(mask & ~lump)


def inner_distance(labels: Labels) -> FloatArray:
    """(H, W) distance of every pixel to the nearest edge between parts or of the picture."""
    edge = np.zeros(labels.shape, dtype=np.bool_)
    across, down = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    edge[:, 1:] |= across
    edge[:, :-1] |= across
    edge[1:] |= down
    edge[:-1] |= down
    edge[[0, -1]] = edge[:, [0, -1]] = True
    return np.asarray(ndimage.distance_transform_edt(~edge) + 0.5, np.float32)
