"""How pictures break and what time does to the parts: rough edges that crumble, round off, chip.

cuts     the area is cut in two along a rough line, then each part again: cracks
         run into older cracks, as in plaster that falls
voronoi  every pixel goes to the nearest of N seeds (with weights, and seen through
         a rough distortion): cracks meet three by three

Shares of the area are log-normal in both.

The gap between two neighbours, over √area, is what the literature measures;
:data:`GAPS` names medians: of RePAIR's objects they are .03 to .09.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.types import BoolArray, FloatArray

Labels = NDArray[np.int32]

PATTERNS = ("cuts", "voronoi")
AREA_SIGMA = 0.45  # of the logarithm of a fragment's area
COARSE_PX = 96  # longer side of the map on which weights of seeds are found
GAPS = {"none": 0.0, "mild": 0.03, "repair": 0.07, "heavy": 0.14}
EDGES = 0.86  # of a gap comes from the edges; rounding, chips and corners add the rest


def smooth_noise(rng: np.random.Generator, shape: tuple[int, int], cell_px: float) -> FloatArray:
    """(H, W) float32 of mean about 0 and deviation about 1 that varies over ``cell_px``."""
    height, width = shape
    across, down = width / cell_px, height / cell_px
    coarse = rng.standard_normal((int(down) + 4, int(across) + 4)).astype(np.float32)
    box = (1.0, 1.0, 1.0 + across, 1.0 + down)
    fine = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC, box=box)
    return np.asarray(fine) / np.float32(0.72)  # what bicubic interpolation leaves of it


def fractal_noise(
    rng: np.random.Generator,
    shape: tuple[int, int],
    cell_px: float,
    *,
    roughness: float = 0.5,
    finest_px: float = 3.0,
) -> FloatArray:
    """(H, W) float32: octaves of noise, each half as wide and ``roughness`` times as high."""
    field = np.zeros(shape, dtype=np.float32)
    height = np.float32(1.0)
    while cell_px >= finest_px:
        field += height * smooth_noise(rng, shape, cell_px)
        cell_px, height = cell_px / 2, height * np.float32(roughness)
    return field


def fracture(
    rng: np.random.Generator,
    shape: tuple[int, int],
    num_fragments: int,
    pattern: str,
    *,
    sigma: float = AREA_SIGMA,
) -> Labels:
    """(H, W) int32: number of the part of every pixel, 0 … N - 1; every part is connected."""
    shares = np.exp(sigma * rng.standard_normal(num_fragments))
    shares /= shares.sum()
    match pattern:
        case "cuts":
            return _cuts(rng, shape, shares)
        case "voronoi":
            return _voronoi(rng, shape, shares)
    raise UnknownName("fracture pattern", pattern, PATTERNS)


def _cuts(rng: np.random.Generator, shape: tuple[int, int], shares: FloatArray) -> Labels:
    labels = np.zeros(shape, dtype=np.int32)
    groups = [(0, np.arange(len(shares)))]  # parts that hold several fragments yet
    while groups:
        part, members = groups.pop()
        if len(members) == 1:
            continue
        # at most one part in four away from an even split: no slivers of one against many
        half = round(len(members) * float(rng.uniform(0.38, 0.62)))
        half = min(max(1, half), len(members) - 1)
        first, second = members[:half], members[half:]
        share = float(shares[first].sum() / shares[members].sum())
        labels[_cut(rng, labels == part, share)] = second[0]
        groups += [(int(first[0]), first), (int(second[0]), second)]
    return labels


def _cut(rng: np.random.Generator, part: BoolArray, share: float) -> BoolArray:
    """(H, W) what lies beyond a rough line that leaves ``share`` of a part; both connected."""
    rows, cols = ndimage.find_objects(part.astype(np.int8))[0]
    inside = part[rows, cols]
    y, x = np.nonzero(inside)
    size = math.sqrt(len(y))
    # across the longer direction of the part, within 35 degrees
    spread = np.linalg.eigh(np.cov(np.stack([x, y])) + 1e-6 * np.eye(2))
    main = spread[1][:, 1]
    turn = math.atan2(main[1], main[0]) + math.radians(float(rng.normal(0, 18)))
    rough = fractal_noise(rng, inside.shape, 0.5 * size, roughness=0.42)
    along = x * math.cos(turn) + y * math.sin(turn) + 0.055 * size * rough[y, x]
    beyond = np.zeros_like(inside)
    beyond[y, x] = along > np.quantile(along, share)
    beyond = largest_part(inside & ~largest_part(inside & ~beyond))  # islands go to the other side
    result = np.zeros_like(part)
    result[rows, cols] = beyond
    return result


def largest_part(mask: BoolArray) -> BoolArray:
    """The largest connected part of a mask."""
    parts, count = ndimage.label(mask)
    if count <= 1:
        return mask
    return np.asarray(parts == 1 + np.bincount(parts.ravel())[1:].argmax())


def _voronoi(rng: np.random.Generator, shape: tuple[int, int], shares: FloatArray) -> Labels:
    height, width = shape
    size = math.sqrt(height * width / len(shares))
    seeds = _scattered(rng, shape, len(shares))  # (N, 2) x, y
    step = max(1.0, max(shape) / COARSE_PX)
    y, x = np.meshgrid(np.arange(0, height, step), np.arange(0, width, step), indexing="ij")
    weights = np.zeros(len(seeds))
    for _ in range(40):  # larger shares draw more: areas approach them
        nearest = _nearest(x, y, seeds, weights)
        areas = np.bincount(nearest.ravel(), minlength=len(seeds)) / nearest.size
        weights += 0.5 * size**2 * len(seeds) * (shares - areas)
    rows, cols = np.indices(shape, dtype=np.float32)
    cols += 0.08 * size * fractal_noise(rng, shape, 0.5 * size, roughness=0.42)
    rows += 0.08 * size * fractal_noise(rng, shape, 0.5 * size, roughness=0.42)
    return _connected(_nearest(cols, rows, seeds, weights))


def _scattered(rng: np.random.Generator, shape: tuple[int, int], count: int) -> FloatArray:
    """(N, 2) x, y of seeds that keep away from each other: the best of some draws each."""
    size = np.array([shape[1], shape[0]], dtype=np.float64)
    seeds = rng.uniform(0, size, (1, 2))
    for _ in range(count - 1):
        draws = rng.uniform(0.02 * size, 0.98 * size, (6, 2))
        away = ((draws[:, None] - seeds[None]) ** 2).sum(axis=2).min(axis=1)  # (6,)
        seeds = np.concatenate([seeds, draws[[int(away.argmax())]]])
    return seeds


def _nearest(x: FloatArray, y: FloatArray, seeds: FloatArray, weights: FloatArray) -> Labels:
    """(H, W) seed with the least squared distance minus weight."""
    best = np.full(x.shape, np.inf, dtype=np.float32)
    labels = np.zeros(x.shape, dtype=np.int32)
    for index, ((sx, sy), weight) in enumerate(zip(seeds, weights, strict=True)):
        distance = np.float32(-weight) + (x - np.float32(sx)) ** 2 + (y - np.float32(sy)) ** 2
        nearer = distance < best
        best = np.where(nearer, distance, best)
        labels[nearer] = index
    return labels


def _connected(labels: Labels) -> Labels:
    """Labels 0 … of connected parts; islands go to the part that lies nearest."""
    kept = np.full(labels.shape, -1, dtype=np.int32)
    boxes = ndimage.find_objects(labels + 1)
    for index, box in enumerate(boxes):
        if box is not None:
            kept[box][largest_part(labels[box] == index)] = index
    lost = kept < 0
    if lost.any():
        near = ndimage.distance_transform_edt(lost, return_distances=False, return_indices=True)
        kept = kept[near[0], near[1]]
    present = np.unique(kept)
    return np.searchsorted(present, kept).astype(np.int32)


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
