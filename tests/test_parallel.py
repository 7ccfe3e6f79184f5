from __future__ import annotations

import os

import pytest

from puzzleflow.core.rng import child_rng
from puzzleflow.parallel import parallel_map


def draw(item: int) -> float:
    return float(child_rng(0, item).random())


def process_of(item: int) -> int:
    return os.getpid()


def fail_at_two(item: int) -> int:
    if item == 2:
        raise ValueError("two")
    return item


def test_one_worker_runs_here_and_in_order():
    assert parallel_map(process_of, range(3)) == [os.getpid()] * 3
    assert parallel_map(lambda item: item * item, iter(range(4))) == [0, 1, 4, 9]


def test_the_number_of_workers_changes_nothing_but_the_process():
    alone = parallel_map(draw, range(6), num_workers=1)
    assert parallel_map(draw, range(6), num_workers=2) == alone
    assert os.getpid() not in parallel_map(process_of, range(2), num_workers=2)


@pytest.mark.parametrize("num_workers", [1, 2])
def test_progress_counts_up_to_the_end(num_workers):
    seen: list[int] = []
    parallel_map(draw, range(5), num_workers=num_workers, on_progress=seen.append)
    assert seen == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("num_workers", [1, 2])
def test_an_error_comes_through(num_workers):
    with pytest.raises(ValueError, match="two"):
        parallel_map(fail_at_two, range(4), num_workers=num_workers)


def test_nothing_to_do():
    assert parallel_map(draw, []) == []
