"""The energy of a layout: what its places, its seams and its frame cost.

E(π) = Σ_i unary[i, π(i)] + Σ_right right[i, j] + Σ_down down[i, j] + Σ_frame border[i, d]

All terms are costs (negative log-probabilities where a network gives them);
lower is better. ``right[i, j]`` is the cost of piece j lying directly right of
piece i, ``down[i, j]`` of j directly below i, ``border[i, d]`` of side d of
piece i lying on the outer frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Layout
from puzzleflow.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Energy:
    """Costs of a layout of N candidates on the P cells of ``grid``.

    In a closed puzzle the candidates are the pieces, and N = P. In the open world
    a candidate may also be one turn of a piece, or an empty place; candidates of
    the same piece exclude each other, every cell holds one candidate, and pieces
    that are left over lie aside. What lies aside costs nothing: what a piece would
    cost there is subtracted from its ``unary``.

    Border costs depend on one candidate and its position only, so they live
    inside ``unary``; build with :meth:`of` to have them folded in.
    """

    grid: Grid
    unary: FloatArray  # (N, P) candidate, position
    right: FloatArray  # (N, N) left, right
    down: FloatArray  # (N, N) upper, lower
    piece_of: IntArray | None = None  # (N,) ascending: the piece of a candidate; None: its own

    def __post_init__(self) -> None:
        n = len(self.unary)
        for name in ("unary", "right", "down"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            shape = (n, self.grid.num_pieces if name == "unary" else n)
            if array.shape != shape:
                raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
            if np.isnan(array).any():
                raise ValueError(f"{name} holds NaN")
            object.__setattr__(self, name, array)
        if self.num_pieces < self.grid.num_pieces:
            raise ValueError(f"{self.num_pieces} pieces do not fill a {self.grid} grid")

    @property
    def num_candidates(self) -> int:
        return len(self.unary)

    @property
    def pieces(self) -> IntArray:
        """(N,) the piece of every candidate."""
        return np.arange(len(self.unary)) if self.piece_of is None else self.piece_of

    @property
    def num_pieces(self) -> int:
        return int(self.pieces[-1]) + 1

    @classmethod
    def of(
        cls,
        grid: Grid,
        *,
        unary: FloatArray | None = None,
        right: FloatArray | None = None,
        down: FloatArray | None = None,
        border: FloatArray | None = None,
        piece_of: IntArray | None = None,
    ) -> Energy:
        """Compose an energy; missing terms are zero, ``border`` is (N, 4) by direction."""
        n = grid.num_pieces if unary is None else len(unary)
        zeros = np.zeros((n, n))
        total = np.zeros((n, grid.num_pieces)) if unary is None else np.array(unary, np.float64)
        if border is not None:
            for direction in Direction:
                total[:, grid.on_frame(direction)] += np.asarray(border)[:, direction, None]
        right, down = (zeros if seam is None else seam for seam in (right, down))
        return cls(grid, total, right, down, piece_of)

    def changed(self, unary: FloatArray) -> Energy:
        """The same energy with other unary costs."""
        return replace(self, unary=unary)

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
        """A layout (N,) of candidates with its energy; -1: not laid."""
        grid = None if self.num_candidates == self.grid.num_pieces else self.grid
        return Layout(position_of, energy=self.of_layout(position_of), grid=grid)
