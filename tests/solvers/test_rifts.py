"""Pieces of two pictures fill a grid, but not with certainty."""

import numpy as np
import pytest
import torch

from puzzleflow import Grid, Puzzle, cut_puzzle, load_sample, load_solver
from puzzleflow.models.relational import Relations
from puzzleflow.solvers.rifts import EVEN, MOST, Apart, Rift


def test_odds_by_hand() -> None:
    """The first is sure of nothing to its right, the second of the first to its left."""
    seam = torch.zeros(1, 2, 2)
    ends = torch.full((1, 2, 4), -50.0)
    absent = ends.clone()
    absent[0, 0, 0] = 4.0  # right of the first: e^4 to one that nothing lies there
    absent[0, 1, 2] = -2.0  # left of the second
    none = torch.zeros(1, 2)
    (apart,) = Apart.of(Relations(seam, seam, absent, ends, torch.zeros(1, 2, 1), none))
    assert apart.right[0, 1] == pytest.approx((4.0 - 2.0) / 2)
    assert apart.right[1, 0] == -MOST
    assert apart.down[0, 1] == -MOST


def test_the_line_is_found_where_all_of_it_speaks() -> None:
    odds = np.full((6, 6), -3.0)
    apart = Apart(odds.copy(), odds.copy())
    cells = np.arange(6).reshape(3, 2)
    assert apart.rift(cells).share < 0.01  # type: ignore[union-attr]
    apart.down[0, 2] = 8.0  # one seam alone is no line
    assert apart.rift(cells).share < 0.1  # type: ignore[union-attr]
    apart.down[[2, 3], [4, 5]] = EVEN
    assert apart.rift(cells) == Rift(pytest.approx(0.5), True, 1)
    apart.right[[0, 2, 4], [1, 3, 5]] = 6.0
    assert apart.rift(cells) == Rift(pytest.approx(1.0, abs=0.01), False, 0)


def test_empty_cells_say_nothing() -> None:
    apart = Apart(np.full((3, 3), 8.0), np.full((3, 3), 8.0))
    assert apart.rift(np.array([[0, -1], [-1, 1]])) is None
    assert apart.rift(np.array([[0, 1, 2]])) is None  # a strip has one seam a line


def pieces_of(name: str) -> np.ndarray:
    return cut_puzzle(load_sample(name), Grid(3, 3), "gap", 1, piece_px=64).pieces


def test_two_pictures_are_not_laid_as_one_with_certainty() -> None:
    solver = load_solver("relational")
    one = solver.prepare(Puzzle(pieces_of("harvesters"), None)).solve(seed=0)
    assert one.confidence is not None
    assert one.confidence.mean() > 0.8
    both = np.concatenate([pieces_of("harvesters"), pieces_of("irises")])
    two = solver.prepare(Puzzle(both, None)).solve(seed=0)
    assert two.confidence is not None
    assert two.confidence.mean() < 0.5
    assert two.seam_confidence is not None
    line = min((*two.seam_confidence[0].T, *two.seam_confidence[1]), key=lambda seams: seams.max())
    assert line.max() < 0.5 < np.median(np.concatenate([s.ravel() for s in two.seam_confidence]))
