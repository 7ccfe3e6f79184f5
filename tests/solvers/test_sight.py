from __future__ import annotations

import numpy as np

from puzzleflow.solvers.base import for_solver


def test_solvers_see_small_pieces_with_hard_edges():
    cells = np.zeros((2, 400, 200, 4), np.uint8)
    cells[:, 100:300, 50:150] = (9, 8, 7, 255)
    small = for_solver(cells)
    assert small.shape == (2, 192, 96, 4)
    assert set(np.unique(small[..., 3])) == {0, 255}
    assert (small[..., :3][small[..., 3] == 0] == 0).all()


def test_small_pieces_stay_as_they_are():
    pieces = np.random.default_rng(0).integers(0, 256, (3, 64, 48, 4), dtype=np.uint8)
    pieces[..., 3] = 255 * (pieces[..., 3] > 99)
    pieces[pieces[..., 3] == 0] = 0
    assert np.array_equal(for_solver(pieces), pieces)
