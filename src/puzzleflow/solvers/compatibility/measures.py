"""How well two sides fit: the measures of the classics, and one for irregular pieces."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.grid import Direction
from puzzleflow.core.types import ByteArray, FloatArray
from puzzleflow.solvers.compatibility.costs import (
    SeamCosts,
    Side,
    border_side,
    common_box,
    outline_side,
)

P, Q = 0.3, 1 / 16
DUMMY_GRADIENTS = np.concatenate(
    [np.zeros((1, 3)), np.ones((1, 3)), -np.ones((1, 3)), np.eye(3), -np.eye(3)]
)  # (9, 3)
HALF_WEIGHT_PX = 10.0
STEP_DECAY = 0.25
GROWTH = 0.08
LINES_AT_ONCE = 16_384  # of pairs that are compared together: what a core's cache holds


def border_costs(pieces: ByteArray) -> SeamCosts:
    """Pomeranz, Shemesh & Ben-Shahar (CVPR 2011): how well each side predicts the other.

    Both sides continue their last gradient by one pixel in LAB and meet the
    border pixel of the neighbour; P = 0.3 and Q = 1/16 forgive gross errors.
    Read at the border of the bounding box that all pieces share, as the paper did:
    on GAP that border is void, hence chance level.
    """
    return _between(pieces, border_side, predicted_costs)


def _between(
    pieces: ByteArray,
    side: Callable[[ByteArray, Direction], Side],
    cost: Callable[[Side, Side], FloatArray],
) -> SeamCosts:
    boxed = common_box(pieces)
    right, down = (
        cost(side(boxed, direction), side(boxed, direction.opposite))
        for direction in (Direction.RIGHT, Direction.DOWN)
    )
    return SeamCosts(right, down)


def predicted_costs(
    near: Side,
    far: Side,
    *,
    half_weight_px: float = np.inf,
    step_decay: float = 0.0,
    growth: float = 0.0,
) -> FloatArray:
    """(N, N) cost of piece j's ``far`` side lying against piece i's ``near`` side.

    A line whose two edge pixels lie g pixels apart (g = 1: they touch)
    half_weight_px  counts half as much at ``half_weight_px`` of void
    step_decay      continues the gradient by ``g ** -step_decay`` pixels
    growth          is forgiven differences ``g ** growth`` times as large
    Lines without material on either side are left out, and the sum is scaled
    to the full number of lines; pairs that share no line get the mean cost.
    """
    near_edge, near_slope = _edge_and_slope(near)  # (3, N, L)
    far_edge, far_slope = _edge_and_slope(far)
    num_pieces, num_lines = near.void.shape
    gaps = np.arange(1.0, 2.0 + near.void.max() + far.void.max())  # g, by void pixels
    weights = (1.0 / (1.0 + (gaps - 1.0) / half_weight_px)).astype(np.float32)
    steps = (gaps**-step_decay).astype(np.float32)
    scales = (gaps ** (-growth * Q)).astype(np.float32)
    costs = np.empty((num_pieces, num_pieces))
    at_once = max(1, LINES_AT_ONCE // (num_pieces * num_lines))
    for first in range(0, num_pieces, at_once):
        check_cancelled()
        some = slice(first, first + at_once)  # R pieces
        gap = near.void[some, None] + far.void  # (R, N, L)
        weight = np.where(near.solid[some, None] & far.solid, weights[gap], 0)
        step = steps[gap]
        across = far_edge[:, None] - near_edge[:, some, None]  # (3, R, N, L)
        error = _power(np.abs(step * near_slope[:, some, None] - across), P)
        error += _power(np.abs(step * far_slope[:, None] + across), P)
        line = _power(error, Q / P).sum(axis=0) * scales[gap]  # (R, N, L)
        total = weight.sum(axis=2, dtype=np.float64)  # (R, N)
        scale = np.divide(num_lines, total, out=np.full_like(total, np.nan), where=total > 0)
        costs[some] = (line * weight).sum(axis=2, dtype=np.float64) * scale
    unknown = np.isnan(costs)
    if unknown.any():
        costs[unknown] = 0.0 if unknown.all() else costs[~unknown].mean()
    return costs


def _power(base: FloatArray, exponent: float) -> FloatArray:
    """base ** exponent for base ≥ 0 in single precision: NumPy vectorises exp and log, not pow."""
    with np.errstate(divide="ignore"):  # log 0 = -inf, and its exp is 0 again
        power: FloatArray = np.log(base)
    power *= np.float32(exponent)
    return np.exp(power, out=power)


def _edge_and_slope(side: Side) -> tuple[FloatArray, FloatArray]:
    """LAB colour of the edge and its change per pixel outward, both (3, N, L)."""
    from skimage.color import rgb2lab

    edge, inner = rgb2lab(np.stack([side.edge, side.inner]))  # (N, L, 3)
    channels_first = np.stack([edge, edge - inner]).transpose(0, 3, 1, 2)
    colour, slope = np.ascontiguousarray(channels_first, dtype=np.float32)
    return colour, slope


def mgc_costs(pieces: ByteArray) -> SeamCosts:
    """Gallagher (CVPR 2012): Mahalanobis distances, summed over both sides of the seam.

    The colour change across a seam is judged by the distribution of the changes
    just inside each of the two sides (RGB, mean and covariance over the lines,
    with nine small dummy gradients that keep the covariance invertible).
    """
    return _between(pieces, border_side, _both_ways)


def _both_ways(near: Side, far: Side) -> FloatArray:
    return _one_way(near, far) + _one_way(far, near).T


def _one_way(near: Side, far: Side) -> FloatArray:
    """(N, N) distance of the changes from ``near`` of i to ``far`` of j, as i expects them."""
    near_edge = near.edge.astype(np.float64)  # (N, L, 3)
    far_edge = far.edge.astype(np.float64)
    inside = near_edge - near.inner.astype(np.float64)
    costs = np.empty((len(near_edge), len(far_edge)))
    for piece, gradients in enumerate(inside):
        check_cancelled()
        sample = np.concatenate([gradients, DUMMY_GRADIENTS])  # (L + 9, 3)
        precision = np.linalg.inv(np.cov(sample, rowvar=False))  # (3, 3)
        change = far_edge - near_edge[piece] - gradients.mean(axis=0)  # (N, L, 3)
        costs[piece] = np.einsum("nlc,cd,nld->n", change, precision, change, optimize=True)
    return costs


def alpha_costs(pieces: ByteArray) -> SeamCosts:
    """Alpha-aware: the prediction of ``border`` between real outlines, carried across the void.

    For every row or column of a side the nearest opaque pixel and its inward
    gradient are taken from the real outline. The two sides of a seam are then g
    pixels apart (void on one side + void on the other + 1). With g

    - the weight of the line falls as 1 / (1 + void / 10 px): near outlines decide;
    - the gradient is continued by ``g ** -0.25`` pixels: the further, the less a
      local slope says;
    - differences are measured against ``g ** 0.08``: wider gaps allow larger ones.

    Lines without material are ignored. Where there is no void, g = 1 and every
    factor is exactly 1, so square pieces cost exactly what ``border`` says.

    The constants were chosen by recall of the true neighbour on 80 3x3 puzzles cut
    from training pictures with real outlines (see ``docs/benchmarks.md``).
    Averaging several pixels inward, or gradients over several pixels, was tried
    and is worse: both move away from the seam.
    """
    across_void = partial(
        predicted_costs, half_weight_px=HALF_WEIGHT_PX, step_decay=STEP_DECAY, growth=GROWTH
    )
    return _between(pieces, outline_side, across_void)
