"""Gallagher (CVPR 2012): Mahalanobis gradient compatibility.

The colour change across a seam is judged by the distribution of the changes
just inside each of the two sides (RGB, mean and covariance over the lines,
with nine small dummy gradients that keep the covariance invertible).
"""

from __future__ import annotations

import numpy as np

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.grid import Direction
from puzzleflow.core.types import ByteArray, FloatArray
from puzzleflow.solvers.compatibility.costs import SeamCosts
from puzzleflow.solvers.compatibility.sides import Side, border_side, common_box

DUMMY_GRADIENTS = np.concatenate(
    [np.zeros((1, 3)), np.ones((1, 3)), -np.ones((1, 3)), np.eye(3), -np.eye(3)]
)  # (9, 3)


def mgc_costs(pieces: ByteArray) -> SeamCosts:
    """Mahalanobis distances of all pairs, summed over both sides of the seam."""
    boxed = common_box(pieces)
    right, down = (
        _both_ways(border_side(boxed, direction), border_side(boxed, direction.opposite))
        for direction in (Direction.RIGHT, Direction.DOWN)
    )
    return SeamCosts(right, down)


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
