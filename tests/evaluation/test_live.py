from __future__ import annotations

import numpy as np
import pytest

from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.results import Record, Truth
from puzzleflow.evaluation.runner import Standings


def test_means_and_time_left() -> None:
    now = [100.0]
    truths = [Truth(np.arange(4), Grid(2, 2)) for _ in range(5)]
    standings = Standings(["a", "b"], truths, clock=lambda: now[0])
    standings.add("a", Record(0, "", (0, 1, 2, 3), 0.5))
    (first, second) = standings.rows()
    assert (first.done, first.total, first.pa) == (1, 5, 100.0)
    assert first.left_s is None
    assert (second.done, second.left_s) == (0, None)
    now[0] = 104.0
    standings.add("a", Record(3, "", (1, 0, 2, 3), 1.5))
    standings.add("a", Record(4, "", None, 1.0, refusal="no"))
    first = standings.rows()[0]
    assert first.pa == pytest.approx(100 / 3)
    assert first.aa == pytest.approx((100 + 50 + 0) / 3)
    assert (first.failed, second.failed) == (1, 0)
    assert first.seconds == pytest.approx(1.0)
    assert first.left_s == pytest.approx(4.0)  # two puzzles took 4 s, two are left
    for index in (1, 2):
        standings.add("a", Record(index, "", (0, 1, 2, 3), 0.1))
    assert standings.rows()[0].left_s == 0
