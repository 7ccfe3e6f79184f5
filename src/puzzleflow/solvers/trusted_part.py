"""Which seams of a layout can be trusted, and the largest part that they hold together."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.placer import Partial


def worse_rank(costs: FloatArray) -> IntArray:
    """(N, N) the rank of j among the candidates of i or of i among those of j, if that is worse.

    Ranks count from 1; equal costs share the better rank.
    """
    of_row = rankdata(costs, method="min", axis=1)
    of_column = rankdata(costs, method="min", axis=0)
    return np.asarray(np.maximum(of_row, of_column), dtype=np.int64)


def trusted_seams(
    costs: SeamCosts, grid: Grid, position_of: IntArray, max_rank: int
) -> tuple[BoolArray, BoolArray]:
    """(rows, cols-1) right seams and (rows-1, cols) down seams that can be trusted.

    A seam is good if both its pieces rank each other ``max_rank`` or better, and
    trusted if it belongs to a 2×2 block whose four seams are all good.
    """
    piece_at = invert(position_of)
    rows, cols = grid.shape
    right, down = (
        (worse_rank(matrix) <= max_rank)[tuple(piece_at[grid.neighbours(direction)].T)]
        for direction, matrix in ((Direction.RIGHT, costs.right), (Direction.DOWN, costs.down))
    )
    right, down = right.reshape(rows, cols - 1), down.reshape(rows - 1, cols)
    block = right[:-1] & right[1:] & down[:, :-1] & down[:, 1:]  # (rows-1, cols-1)
    trusted_right, trusted_down = np.zeros_like(right), np.zeros_like(down)
    trusted_right[:-1] |= block
    trusted_right[1:] |= block
    trusted_down[:, :-1] |= block
    trusted_down[:, 1:] |= block
    return trusted_right, trusted_down


def largest_trusted_part(
    costs: SeamCosts, grid: Grid, position_of: IntArray, max_rank: int
) -> Partial:
    """The most pieces joined by trusted seams, where they lie; among equals the first part."""
    pairs = np.concatenate(
        [
            grid.neighbours(direction)[seams.ravel()]
            for direction, seams in zip(
                (Direction.RIGHT, Direction.DOWN),
                trusted_seams(costs, grid, position_of, max_rank),
                strict=True,
            )
        ]
    )  # (E, 2) positions
    size = (grid.num_pieces, grid.num_pieces)
    joined = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=size)
    _, label = connected_components(joined, directed=False)  # by position
    positions = np.flatnonzero(label == np.bincount(label).argmax())
    return Partial(invert(position_of)[positions], grid.coordinates[positions])
