"""What an energy says about every placement and every seam, not only the best ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import FloatArray, IntArray

CLEAR = 5.0  # what costs so much more than the best has less than a hundredth of its probability


@dataclass(frozen=True, eq=False)
class Posterior:
    """Marginals of p(π) ∝ exp(−E(π) / T).

    position_prob  (N, P) probability of piece (row) at position (column)
    right_prob     (N, N) probability that the second piece lies directly right of the first
    down_prob      (N, N) probability that the second piece lies directly below the first
    """

    grid: Grid
    position_prob: FloatArray
    right_prob: FloatArray
    down_prob: FloatArray

    def confidence(self, position_of: IntArray) -> FloatArray:
        """(N,) probability that each piece lies where ``position_of`` puts it."""
        return self.position_prob[np.arange(len(position_of)), position_of]

    def seam_confidence(self, position_of: IntArray) -> tuple[FloatArray, FloatArray]:
        """Probability of each seam of a layout: right (rows, cols-1), down (rows-1, cols)."""
        cells = invert(np.asarray(position_of)).reshape(self.grid.shape)  # (rows, cols) pieces
        return (
            self.right_prob[cells[:, :-1], cells[:, 1:]],
            self.down_prob[cells[:-1], cells[1:]],
        )

    def shared_anew(self, layouts: Sequence[IntArray], gained: FloatArray) -> Posterior:
        """After layouts (N,) of pieces gained or lost so much probability, in sum none."""
        parts = [part.copy() for part in (self.position_prob, self.right_prob, self.down_prob)]
        position, right, down = parts
        for position_of, gain in zip(layouts, gained.tolist(), strict=True):
            piece_at = invert(np.asarray(position_of))
            position[piece_at, np.arange(len(piece_at))] += gain
            for seams, direction in ((right, Direction.RIGHT), (down, Direction.DOWN)):
                one, other = piece_at[self.grid.neighbours(direction)].T
                seams[one, other] += gain
        return Posterior(self.grid, *(np.clip(part, 0.0, 1.0) for part in parts))


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
