"""What the colours along the outlines say before any learning: the network's starting point.

The alpha-aware compatibility gives a cost for every pair; here costs become
comparable between puzzles. Together with exact search they already solve most
puzzles up to a shift of the whole picture; the network adds where the picture
begins, and judges pairs that colours alone leave open.
"""

from __future__ import annotations

import numpy as np

from puzzleflow.core.types import ByteArray, FloatArray
from puzzleflow.solvers.compatibility import SeamCosts, seam_costs

SHARPNESS = 10.0  # log-probabilities are softmaxes of -SHARPNESS × relative cost
FLOOR = -40.0


def seam_prior(pieces: ByteArray) -> FloatArray:
    """(N, H, W, 4) pieces → (2, N, N, 3) float32 for right and down seams.

    Per pair: log-probability among all candidates of the first piece, the same of
    the second, and the cost relative to the puzzle's median. The diagonal is zero.
    """
    return prior_of(seam_costs("alpha", pieces))


def prior_of(costs: SeamCosts) -> FloatArray:
    """The same from costs that are known already."""
    return np.stack([_features(costs.right), _features(costs.down)])


def _features(cost: FloatArray) -> FloatArray:
    N = len(cost)
    finite = cost[np.isfinite(cost)]
    median = float(np.median(finite)) if finite.size else 1.0
    relative = cost / (median or 1.0)  # inf on the diagonal
    score = -SHARPNESS * np.where(np.isfinite(relative), relative, 1e9)
    by_first = score - np.logaddexp.reduce(score, axis=1, keepdims=True)
    by_second = score - np.logaddexp.reduce(score, axis=0, keepdims=True)
    features = np.stack(
        [by_first.clip(FLOOR), by_second.clip(FLOOR), np.minimum(relative, 3.0)], axis=-1
    )  # (N, N, 3)
    features[np.arange(N), np.arange(N)] = 0.0
    return features.astype(np.float32)
