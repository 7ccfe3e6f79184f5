"""Small puzzles that the storage tests make themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from format_samples import small_puzzle

from puzzleflow.core.puzzle import Puzzle


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
    return small_puzzle


@pytest.fixture(scope="session")
def same_puzzle() -> Callable[[Puzzle, Puzzle], bool]:
    return _same
