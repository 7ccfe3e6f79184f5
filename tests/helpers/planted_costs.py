"""Costs with a known answer, for tests of solvers."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.grid import Direction
from puzzleflow.core.rng import child_rng
from puzzleflow.solvers.compatibility import SeamCosts


def everything(grid):
    return np.ones((grid.num_pieces, grid.num_pieces), dtype=bool)


def planted(grid, seed=0, noise=0.3):
    """Costs whose truth is ``position_of``: true seams near 1, all others near 3."""
    rng = child_rng(seed, "planted", str(grid))
    truth = rng.permutation(grid.num_pieces)
    piece_at = np.argsort(truth)
    right, down = 3 + noise * rng.normal(size=(2, grid.num_pieces, grid.num_pieces))
    for direction, matrix in ((Direction.RIGHT, right), (Direction.DOWN, down)):
        first, second = piece_at[grid.neighbours(direction)].T
        matrix[first, second] = 1 + noise * rng.random(len(first))
    return SeamCosts(right, down), truth
