"""The simulation of docs/scale.md on cases that can be worked by hand."""

from __future__ import annotations

import pytest
from benchmarks.cluster import Costs, simulate


def test_results_in_order_hold_up_the_next_tasks() -> None:
    """Tasks of 1, 3, 1 and 1 s on two workers.

    One ahead: the fourth is asked for when the second is taken, at 3 s. Two ahead: all are asked
    for at once, and the first worker does three of them.
    """
    assert simulate([1, 3, 1, 1], 2, ahead=1) == 4
    assert simulate([1, 3, 1, 1], 2, ahead=2) == 3


def test_scheduler_and_line_serve_one_at_a_time() -> None:
    assert simulate([0] * 4, 2, ahead=4, schedule_s=1) == 4
    assert simulate([0] * 3, 3, ahead=4, transfer_s=2) == 6
    # handed out at 1 and 2 s, done at 6 and 7 s, here at 6.5 and 7.5 s
    assert simulate([5, 5], 2, ahead=1, schedule_s=1, transfer_s=0.5) == 7.5


@pytest.mark.parametrize(("num_workers", "slowest"), [(2, 5.0), (50, 0.5)])
def test_many_equal_tasks_take_what_the_slowest_part_takes(
    num_workers: int, slowest: float
) -> None:
    costs = Costs(10.0, 0.5, 10.0, network=100.0)
    assert costs.reckoned_s(1000, num_workers) == 1000 * slowest
    seconds = simulate([costs.work_s] * 1000, num_workers, ahead=4, schedule_s=0.5, transfer_s=0.1)
    assert seconds == pytest.approx(1000 * slowest, rel=0.03)
