"""Which placed outlines touch, and for how long.

For two fragments let s be √area of the smaller one. A point of the outline of i
is *in contact* with j if j is the fragment nearest to it and lies within
2 · REACH · s, which is where the outlines meet when both grow by REACH · s. Two
fragments are neighbours if on both sides at least LENGTH · s of outline is in
contact. Fragments that meet in a corner alone are not: there others are nearer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puzzleflow.core.types import BoolArray, FloatArray

REACH = 0.15  # of √area: how far each outline is extended
LENGTH = 0.25  # of √area: contact that makes neighbours
MAX_POINTS = 500  # of an outline that are looked at


def outline_points(mask: BoolArray) -> FloatArray:
    """(M, 2) x, y of the middles of the outermost pixels, from the centre of the picture."""
    padded = np.pad(mask, 1)
    inner = padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    rows, cols = np.nonzero(mask & ~inner)
    height, width = mask.shape
    return np.stack([cols + 0.5 - width / 2, rows + 0.5 - height / 2], axis=1)  # (M, 2)


def contact_lengths(
    outlines: Sequence[FloatArray | None], root_areas: FloatArray, *, reach: float = REACH
) -> FloatArray:
    """(N, N) length of outline i in contact with j, over √area of the smaller; 0 if unplaced.

    outlines    (M, 2) placed points each, one for every outermost pixel; None = not placed
    root_areas  (N,)

    A length is counted in outermost pixels.
    """
    n = len(outlines)
    points = [None if outline is None else _thinned(outline) for outline in outlines]
    boxes = np.full((n, 4), np.nan)  # left, top, right, bottom
    for i, own in enumerate(points):
        if own is not None:
            boxes[i] = *own.min(axis=0), *own.max(axis=0)
    lengths = np.zeros((n, n))
    for i, own in enumerate(points):
        if own is None:
            continue
        distance, nearest = np.full(len(own), np.inf), np.zeros(len(own), dtype=np.intp)
        reaches = 2 * reach * np.minimum(root_areas[i], root_areas)  # (N,)
        apart = np.maximum(boxes[i, :2] - boxes[:, 2:], boxes[:, :2] - boxes[i, 2:])  # (N, 2)
        for j in np.flatnonzero((apart <= reaches[:, None]).all(axis=1)).tolist():
            other = points[j]
            if j == i or other is None:
                continue
            found = _distances(own, other, float(reaches[j]))
            nearer = found < distance
            distance[nearer], nearest[nearer] = found[nearer], j
        touched = np.bincount(nearest[np.isfinite(distance)], minlength=n)  # (N,)
        outline = outlines[i]
        stands_for = 1.0 if outline is None else len(outline) / len(own)
        lengths[i] = touched * stands_for / np.minimum(root_areas[i], root_areas)
    return lengths


def touching(
    outlines: Sequence[FloatArray | None],
    root_areas: FloatArray,
    *,
    reach: float = REACH,
    length: float = LENGTH,
) -> BoolArray:
    """(N, N) symmetric: which outlines are in contact for long enough."""
    lengths = contact_lengths(outlines, root_areas, reach=reach)
    return np.asarray(np.minimum(lengths, lengths.T) >= length)


def _distances(points: FloatArray, others: FloatArray, reach: float) -> FloatArray:
    """(P,) distance of each point to the nearest of the others; infinite beyond reach."""
    found = np.full(len(points), np.inf)
    near = _inside(points, others, reach)
    if near.any():
        facing = others[_inside(others, points[near], reach)]
        if len(facing):
            difference = points[near][:, None] - facing[None]  # (P, Q, 2)
            found[near] = np.sqrt((difference**2).sum(axis=2).min(axis=1))
            found[found > reach] = np.inf
    return found


def _inside(points: FloatArray, others: FloatArray, reach: float) -> BoolArray:
    """(P,) which points lie in the bounding box of the others, widened by reach."""
    low, high = others.min(axis=0) - reach, others.max(axis=0) + reach
    return np.asarray(((points >= low) & (points <= high)).all(axis=1))


def _thinned(points: FloatArray) -> FloatArray:
    """At most ``MAX_POINTS`` of the points, spread evenly around their middle."""
    count = len(points)
    if count <= MAX_POINTS:
        return points
    x, y = (points - points.mean(axis=0)).T
    around = np.argsort(np.arctan2(y, x))
    return np.asarray(points[around[np.linspace(0, count - 1, MAX_POINTS).astype(np.intp)]])
