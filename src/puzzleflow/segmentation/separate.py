"""From one mask of material to numbered fragments: dust dropped, touching ones parted.

Fragments are irregular, so a narrow waist alone is no reason to cut. A region
is cut when it is also much longer than the other fragments: two that touch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from puzzleflow.core.types import BoolArray
from puzzleflow.segmentation.flood import Labels, flood, nearest_label

DUST_PART = 0.03  # of the largest region's area
LEAST_AREA_PX = 40
LONG = 1.45  # times the usual length: perhaps two
WAIST = 0.5  # of the smaller part's width, at most, to be cut there
SPLIT_PX = 400  # larger masks are parted at a reduced size
_LEVELS = 24
_NEIGHBOURS = np.ones((3, 3), bool)


@dataclass(frozen=True, eq=False)
class Parting:
    """A mask in two: (H, W) labels 1 and 2, and the waist as a part of the smaller width."""

    labels: Labels
    waist: float


def number_fragments(mask: BoolArray, min_area_px: float | None = None) -> Labels:
    """(H, W) int32: 0 on the ground, 1 … N on what is large enough, in no special order."""
    labels = _regions(mask, min_area_px)
    boxes = ndimage.find_objects(labels)
    sides = [max(rows.stop - rows.start, cols.stop - cols.start) for rows, cols in boxes]
    usual = float(np.median(sides)) if len(sides) > 1 else np.inf
    waiting = [number for number, side in enumerate(sides, start=1) if side > LONG * usual]
    following = len(boxes) + 1
    while waiting:
        number = waiting.pop()
        box = _box(labels == number)
        region = labels[box] == number
        parting = part(region)
        if parting is None or parting.waist > WAIST or _smallest_side(parting) < usual / 2:
            continue
        labels[box][parting.labels == 2] = following
        waiting += [each for each in (number, following) if _side(labels == each) > LONG * usual]
        following += 1
    return labels


def part(mask: BoolArray) -> Parting | None:
    """Cut one region in two at its narrowest waist, or None where it has none."""
    height, width = mask.shape
    step = max(1, -(-max(height, width) // SPLIT_PX))
    small = np.pad(mask[::step, ::step], 1)
    depth = ndimage.distance_transform_edt(small)  # (h, w)
    best: tuple[float, float, Labels] | None = None
    for level in np.linspace(0, 0.95 * depth.max(), _LEVELS, endpoint=False):
        cores, count = ndimage.label(depth > level, structure=_NEIGHBOURS)
        if count < 2:
            continue
        sizes = np.bincount(cores.ravel())[1:]
        first, second = np.argsort(sizes)[::-1][:2] + 1
        radius = min(float(depth[cores == number].max()) for number in (first, second))
        if level > 0 and radius < 1.3 * level:  # a wrinkle of the outline, not a part
            continue
        rank = float(sizes[second - 1])
        if best is None or rank > best[0]:
            markers = (cores == first) + 2 * (cores == second).astype(np.int32)
            best = (rank, float(level / radius), markers.astype(np.int32))
    if best is None:
        return None
    flooded = flood(-depth, best[2], small)[1:-1, 1:-1]
    flooded = nearest_label(flooded)  # parts that no core reaches
    grown = np.kron(flooded, np.ones((step, step), np.int32))[:height, :width]
    return Parting(np.where(mask, grown, 0).astype(np.int32), best[1])


def _regions(mask: BoolArray, min_area_px: float | None) -> Labels:
    """Connected regions from 1 on, without dust."""
    labels, _ = ndimage.label(mask, structure=_NEIGHBOURS)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    least = min_area_px
    if least is None:
        least = max(LEAST_AREA_PX, DUST_PART * float(sizes.max(initial=0)))
    kept = sizes >= max(least, 1)
    renumbered = np.where(kept, np.cumsum(kept), 0).astype(np.int32)
    return np.asarray(renumbered[labels])


def _box(mask: BoolArray) -> tuple[slice, slice]:
    rows, cols = ndimage.find_objects(mask.astype(np.int32))[0]
    return rows, cols


def _side(mask: BoolArray) -> int:
    rows, cols = _box(mask)
    return int(max(rows.stop - rows.start, cols.stop - cols.start))


def _smallest_side(parting: Parting) -> int:
    return min(_side(parting.labels == number) for number in (1, 2))
