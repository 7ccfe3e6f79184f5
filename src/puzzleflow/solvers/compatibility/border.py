"""Pomeranz, Shemesh & Ben-Shahar (CVPR 2011): how well each side predicts the other.

Both sides continue their last gradient by one pixel in LAB and meet the
border pixel of the neighbour; P = 0.3 and Q = 1/16 forgive gross errors.
Read at the border of the bounding box, as the paper did: on GAP that border
is void, hence chance level.
"""

from __future__ import annotations

import numpy as np

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.grid import Direction
from puzzleflow.core.types import ByteArray, FloatArray
from puzzleflow.solvers.compatibility.costs import SeamCosts
from puzzleflow.solvers.compatibility.sides import Side, border_side, common_box

P, Q = 0.3, 1 / 16


def border_costs(pieces: ByteArray) -> SeamCosts:
    """Prediction errors of all pairs at the bounding box that all pieces share."""
    boxed = common_box(pieces)
    right, down = (
        predicted_costs(border_side(boxed, direction), border_side(boxed, direction.opposite))
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
    for piece in range(num_pieces):  # one row at a time keeps memory at N * L * 3
        check_cancelled()
        gap = near.void[piece] + far.void  # (N, L)
        weight = np.where(near.solid[piece] & far.solid, weights[gap], 0)
        step = steps[gap]
        across = far_edge - near_edge[:, piece, None]  # (3, N, L)
        error = _power(np.abs(step * near_slope[:, piece, None] - across), P)
        error += _power(np.abs(step * far_slope + across), P)
        line = _power(error, Q / P).sum(axis=0) * scales[gap]  # (N, L)
        total = weight.sum(axis=1, dtype=np.float64)  # (N,)
        scale = np.divide(num_lines, total, out=np.full_like(total, np.nan), where=total > 0)
        costs[piece] = (line * weight).sum(axis=1, dtype=np.float64) * scale
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
