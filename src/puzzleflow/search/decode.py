"""From marginals to one layout: which one depends on the score that is wanted."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.types import FloatArray, IntArray


def most_pieces_right(position_prob: FloatArray) -> IntArray:
    """The permutation with the greatest expected number of pieces at their place.

    For the accuracy of single pieces (AA); the layout of lowest energy is the
    one most likely to be right as a whole (PA).
    """
    from scipy.optimize import linear_sum_assignment

    _, position_of = linear_sum_assignment(position_prob, maximize=True)
    return position_of.astype(np.int64)  # type: ignore[no-any-return]
