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

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Layout
from puzzleflow.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Energy:
    """Costs of a layout of N pieces on the P cells of ``grid``, N at least P.

    Border costs depend on one piece and its position only, so they live
    inside ``unary``; build with :meth:`of` to have them folded in. A piece that
    lies aside costs nothing, so what it saves is subtracted from its ``unary``.
    """

    grid: Grid
    unary: FloatArray  # (N, P) piece, position
    right: FloatArray  # (N, N) left piece, right piece
    down: FloatArray  # (N, N) upper piece, lower piece

    def __post_init__(self) -> None:
        n = len(self.unary)
        if n < self.grid.num_pieces:
            raise ValueError(f"{n} pieces do not fill a {self.grid} grid")
        for name in ("unary", "right", "down"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            shape = (n, self.grid.num_pieces if name == "unary" else n)
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
            if np.isnan(array).any():
                raise ValueError(f"{name} holds NaN")
            object.__setattr__(self, name, array)

    @property
    def num_pieces(self) -> int:
        return len(self.unary)

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
        given = next((term for term in (unary, right, down, border) if term is not None), None)
        n = grid.num_pieces if given is None else len(given)
        zeros = np.zeros((n, n))
        total = np.zeros((n, grid.num_pieces)) if unary is None else np.array(unary, np.float64)
        if border is not None:
            for direction in Direction:
                total[:, grid.on_frame(direction)] += np.asarray(border)[:, direction, None]
        return cls(grid, total, zeros if right is None else right, zeros if down is None else down)

    def of_layout(self, position_of: IntArray) -> float:
        """E(π) of one placement that leaves no cell empty; -1 is aside."""
        position_of = np.asarray(position_of)
        placed = np.flatnonzero(position_of >= 0)
        piece_at = np.empty(self.grid.num_pieces, dtype=np.int64)
        piece_at[position_of[placed]] = placed
        rights, downs = self.grid.neighbours(Direction.RIGHT), self.grid.neighbours(Direction.DOWN)
        return float(
            self.unary[piece_at, np.arange(len(piece_at))].sum()
            + self.right[piece_at[rights[:, 0]], piece_at[rights[:, 1]]].sum()
            + self.down[piece_at[downs[:, 0]], piece_at[downs[:, 1]]].sum()
        )

    def layout(self, position_of: IntArray) -> Layout:
        """A layout with its energy; its grid is told where pieces may lie aside."""
        grid = None if self.num_pieces == self.grid.num_pieces else self.grid
        return Layout(position_of, energy=self.of_layout(position_of), grid=grid)
