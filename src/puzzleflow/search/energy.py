"""The one energy that every assembling solver minimises.

E(π) = Σ_i unary[i, π(i)] + Σ_right right[i, j] + Σ_down down[i, j] + Σ_frame border[i, d]

All terms are costs (negative log-probabilities where a network gives them);
lower is better. ``right[i, j]`` is the cost of piece j lying directly right of
piece i, ``down[i, j]`` of j directly below i, ``border[i, d]`` of side d of
piece i lying on the outer frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Energy:
    """Costs of a layout on ``grid``: unary (N, N), right (N, N), down (N, N).

    Border costs depend on one piece and its position only, so they live
    inside ``unary``; build with :meth:`of` to have them folded in.
    """

    grid: Grid
    unary: FloatArray  # (N, N) piece, position
    right: FloatArray  # (N, N) left piece, right piece
    down: FloatArray  # (N, N) upper piece, lower piece

    def __post_init__(self) -> None:
        n = self.grid.num_pieces
        for name in ("unary", "right", "down"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if array.shape != (n, n):
                raise ValueError(f"{name} must have shape ({n}, {n}), not {array.shape}")
            if np.isnan(array).any():
                raise ValueError(f"{name} holds NaN")
            object.__setattr__(self, name, array)

    @classmethod
    def of(
        cls,
        grid: Grid,
        *,
        unary: FloatArray | None = None,
        right: FloatArray | None = None,
        down: FloatArray | None = None,
        border: FloatArray | None = None,
    ) -> Energy:
        """Compose an energy; missing terms are zero, ``border`` is (N, 4) by direction."""
        n = grid.num_pieces
        zeros = np.zeros((n, n))
        total = zeros.copy() if unary is None else np.array(unary, dtype=np.float64)
        if border is not None:
            for direction in Direction:
                total[:, grid.on_frame(direction)] += np.asarray(border)[:, direction, None]
        return cls(grid, total, zeros if right is None else right, zeros if down is None else down)

    def of_layout(self, position_of: IntArray) -> float:
        """E(π) of one permutation."""
        piece_at = invert(np.asarray(position_of))
        rights, downs = self.grid.neighbours(Direction.RIGHT), self.grid.neighbours(Direction.DOWN)
        return float(
            self.unary[np.arange(len(position_of)), position_of].sum()
            + self.right[piece_at[rights[:, 0]], piece_at[rights[:, 1]]].sum()
            + self.down[piece_at[downs[:, 0]], piece_at[downs[:, 1]]].sum()
        )
