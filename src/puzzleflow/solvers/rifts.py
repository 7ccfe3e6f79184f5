"""Whether pieces are of one picture: a line of the grid across which nothing belongs together.

Where the grid is not known, pieces of two pictures still fill some grid, each picture right in
itself, and a layout that must use all of them knows no other answer. But a network that may
answer "none of these" says so on both sides of the line where the two meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from puzzleflow.core.grid import Direction
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.relational import Relations

EVEN, SCALE = 2.4, 0.6  # odds along a line at which two pictures are as likely as one; how fast
MOST = 8.0  # log-odds that count; one seam alone is no line


class Rift(NamedTuple):
    """A line between two rows (or columns): how likely nothing belongs together across it.

    before  the row (column) below (right of) which it runs
    """

    share: float
    between_rows: bool
    before: int


@dataclass(frozen=True, eq=False)
class Apart:
    """Log-odds that beside two touching sides lies none of the given pieces.

    right, down  (N, N) against "the second piece lies directly right of (below) the first"
    """

    right: FloatArray
    down: FloatArray

    @classmethod
    def of(cls, relations: Relations) -> list[Apart]:
        """For each of B puzzles whose network was told that pieces may be missing."""
        right, down = (_odds(relations, way) for way in (Direction.RIGHT, Direction.DOWN))
        return [cls(*pair) for pair in zip(right, down, strict=True)]

    def rift(self, piece_at: IntArray) -> Rift | None:
        """The likeliest line of a layout (rows, cols) of pieces, -1 where there is none.

        None where no line has two seams.
        """
        across = _between(self.right, piece_at[:, :-1].T, piece_at[:, 1:].T)  # (cols - 1, rows)
        along = _between(self.down, piece_at[:-1], piece_at[1:])  # (rows - 1, cols)
        lines = [
            Rift(_share(odds[known]), between_rows, before)
            for between_rows, table in ((False, across), (True, along))
            for before, (odds, known) in enumerate(zip(table, np.isfinite(table), strict=True))
            if known.sum() >= 2
        ]
        return max(lines, default=None)


def _between(odds: FloatArray, one: IntArray, other: IntArray) -> FloatArray:
    """The odds of each seam, NaN beside an empty cell."""
    return np.where((one < 0) | (other < 0), np.nan, odds[one, other])


def _share(odds: FloatArray) -> float:
    """Probability from the odds along a line: all must speak for it, not one alone."""
    strength = 0.5 * (odds.mean() + odds.min())
    return float(1 / (1 + np.exp((EVEN - strength) / SCALE)))


def _odds(relations: Relations, way: Direction) -> FloatArray:
    """(B, N, N) the mean of what both sides say."""
    ahead, back = (
        relations.side_logits(one).double().numpy() for one in (way, way.opposite)
    )  # (B, N, N + 2) candidates, then absent and frame
    N = ahead.shape[1]
    none_ahead, none_back = (
        np.logaddexp(table[..., N], table[..., N + 1]) for table in (ahead, back)
    )
    odds = (
        none_ahead[:, :, None]
        - ahead[..., :N]
        + (none_back[:, :, None] - back[..., :N]).swapaxes(1, 2)
    )
    return np.clip(0.5 * odds, -MOST, MOST)  # type: ignore[no-any-return]
