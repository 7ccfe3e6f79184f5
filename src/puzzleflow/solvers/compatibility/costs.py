"""Pairwise costs of seams, by which the classical solvers lay pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.energy import Energy


@dataclass(frozen=True, eq=False)
class SeamCosts:
    """``right[i, j]``: piece j directly right of piece i; ``down[i, j]``: j directly below i.

    Both (N, N) float64, lower is better; the diagonal is infinite.
    """

    right: FloatArray
    down: FloatArray

    def __post_init__(self) -> None:
        for name in ("right", "down"):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.ndim != 2 or array.shape[0] != array.shape[1]:
                raise InputError(f"{name} costs must have shape (N, N), not {array.shape}")
            np.fill_diagonal(array, np.inf)
            if np.isnan(array).any():
                raise InputError(f"{name} costs hold NaN")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if self.right.shape != self.down.shape:
            raise InputError(f"costs differ in shape: {self.right.shape}, {self.down.shape}")

    @property
    def num_pieces(self) -> int:
        return len(self.right)

    def between_pieces(self, copies: int) -> SeamCosts:
        """The same where every piece is there in so many copies: none lies beside another."""
        piece = np.arange(self.num_pieces) // copies
        same = piece[:, None] == piece
        return SeamCosts(np.where(same, np.inf, self.right), np.where(same, np.inf, self.down))

    def among(self, chosen: IntArray) -> SeamCosts:
        """The costs of some of the pieces alone."""
        box = np.ix_(chosen, chosen)
        return SeamCosts(self.right[box], self.down[box])

    def tamed(self) -> SeamCosts:
        """The same order without negative or infinite costs off the diagonal.

        All costs are raised until none is negative, which changes no layout's
        rank; infinite ones become dearer than any sum of the others.
        """
        both = np.stack([self.right, self.down])  # (2, N, N)
        finite = both[np.isfinite(both)]
        if not finite.size:
            return SeamCosts(np.ones_like(self.right), np.ones_like(self.down))
        raised = both - min(0.0, float(finite.min()))
        dear = 4 * self.num_pieces * (1.0 + float(raised[np.isfinite(raised)].max()))
        raised[~np.isfinite(raised)] = dear
        return SeamCosts(raised[0], raised[1])

    def stacked(self) -> FloatArray:
        """(4, N, N): ``[d, i, j]`` is the cost of j lying in direction d of i."""
        by_direction = {
            Direction.RIGHT: self.right,
            Direction.DOWN: self.down,
            Direction.LEFT: self.right.T,
            Direction.UP: self.down.T,
        }
        return np.stack([by_direction[direction] for direction in Direction])

    def energy(self, grid: Grid) -> Energy:
        """The sum of the costs of all seams on ``grid``."""
        right, down = self.right.copy(), self.down.copy()
        np.fill_diagonal(right, 0.0)  # never used, and 0 keeps sums finite
        np.fill_diagonal(down, 0.0)
        return Energy.of(grid, right=right, down=down)
