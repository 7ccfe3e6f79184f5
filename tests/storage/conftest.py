"""Small puzzles that the storage tests make themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng

_SQUARE = Grid(3, 3)


def _make_puzzle(
    seed: int = 0, grid: Grid = _SQUARE, px: int = 12, *, opaque: bool = False
) -> Puzzle:
    """Random pixels under random masks, zero where there is no material, shuffled."""
    rng = child_rng(seed, "storage-test")
    n = grid.num_pieces
    pieces = rng.integers(1, 256, (n, px, px, 4), dtype=np.uint8)
    pieces[..., 3] = 255 if opaque else 255 * (rng.random((n, px, px)) < 0.8)
    pieces[pieces[..., 3] == 0] = 0
    return Puzzle(pieces, grid, rng.permutation(n))


def _same(first: Puzzle, second: Puzzle) -> bool:
    """Equal pixels, grid and truth."""
    truths = (
        first.truth is second.truth
        if first.truth is None or second.truth is None
        else np.array_equal(first.truth, second.truth)
    )
    return truths and first.grid == second.grid and np.array_equal(first.pieces, second.pieces)


@pytest.fixture(scope="session")
def puzzle_of() -> Callable[..., Puzzle]:
    return _make_puzzle


@pytest.fixture(scope="session")
def same_puzzle() -> Callable[[Puzzle, Puzzle], bool]:
    return _same
