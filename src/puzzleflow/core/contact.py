"""Which placed outlines touch, and for how long.

For two fragments let s be √area of the smaller one. A point of one outline is
*in contact* with the other if it lies within 2 · REACH · s of it, which is
where the outlines meet when both grow by REACH · s. Two fragments are
neighbours if on both sides at least LENGTH · s of outline is in contact: more
than two square fragments have that meet in a corner alone (0.4 s).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puzzleflow.core.types import BoolArray, FloatArray

REACH = 0.1  # of √area: how far each outline is extended
LENGTH = 0.45  # of √area: contact that makes neighbours
MAX_POINTS = 400  # of an outline that are looked at


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
    lengths = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            if (one := outlines[i]) is None or (other := outlines[j]) is None:
                continue
            size = float(min(root_areas[i], root_areas[j]))
            near, met = _contacts(one, other, 2 * reach * size)
            lengths[i, j], lengths[j, i] = near / size, met / size
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


def _contacts(p: FloatArray, q: FloatArray, reach: float) -> tuple[float, float]:
    """How many points of p have a point of q within reach, and the other way round."""
    p = _inside(p, q, reach)
    q = _inside(q, p, reach) if len(p) else p
    if not len(p) or not len(q):
        return 0.0, 0.0
    few_p, few_q = _thinned(p), _thinned(q)
    difference = few_p[:, None] - few_q[None]  # (P, Q, 2)
    near = (difference**2).sum(axis=2) <= reach**2  # (P, Q)
    shares = near.any(axis=1).mean(), near.any(axis=0).mean()
    return float(shares[0]) * len(p), float(shares[1]) * len(q)


def _inside(points: FloatArray, others: FloatArray, reach: float) -> FloatArray:
    """Those points that lie in the bounding box of the others, widened by reach."""
    low, high = others.min(axis=0) - reach, others.max(axis=0) + reach
    kept = ((points >= low) & (points <= high)).all(axis=1)  # (M,)
    return np.asarray(points[kept])


def _thinned(points: FloatArray) -> FloatArray:
    """At most ``MAX_POINTS`` of the points, spread evenly around their middle."""
    count = len(points)
    if count <= MAX_POINTS:
        return points
    x, y = (points - points.mean(axis=0)).T
    around = np.argsort(np.arctan2(y, x))
    return np.asarray(points[around[np.linspace(0, count - 1, MAX_POINTS).astype(np.intp)]])
