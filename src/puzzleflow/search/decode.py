"""From marginals to one layout: which one depends on the score that is wanted."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.types import FloatArray, IntArray


def most_pieces_right(position_prob: FloatArray) -> IntArray:
    """The permutation with the greatest expected number of pieces at their place.

    For the accuracy of single pieces (AA); the layout of lowest energy is the
    one most likely to be right as a whole (PA). Placements of probability 0,
    such as forbidden ones, are never used.
    """
    from scipy.optimize import linear_sum_assignment

    gain = np.where(position_prob > 0, position_prob, -float(len(position_prob)))
    _, position_of = linear_sum_assignment(gain, maximize=True)
    return position_of.astype(np.int64)  # type: ignore[no-any-return]
