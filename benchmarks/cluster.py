"""Clusters: what a task and a puzzle cost here, and what 1,000 workers would make of it.

The forecast is arithmetic (the slowest of workers, scheduler and network decides) beside a
discrete-event simulation of :meth:`puzzleflow.cluster.Cluster.map`, which also sees that results
are taken in order and only so many are under way.
"""

from __future__ import annotations

import heapq
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np

PUZZLES = 10_000_000
A_BLOCK = 7  # GAP-3 puzzles that one task makes together (64 masks)
SPREAD = 0.3  # of the seconds of a task, as the sigma of a log-normal law
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s at the scheduler
TINY_TASKS = 10_000


@dataclass(frozen=True)
class Costs:
    """Of one task: seconds of a worker, of the scheduler and client, and bytes of its result."""

    work_s: float
    schedule_s: float
    result_bytes: float
    network: float = NETWORK

    def reckoned_s(self, num_tasks: int, num_workers: int) -> float:
        """The time that the slowest of workers, scheduler and network needs for all tasks."""
        slowest = max(self.work_s / num_workers, self.schedule_s, self.result_bytes / self.network)
        return num_tasks * slowest


def simulate(
    work_s: Sequence[float],
    num_workers: int,
    *,
    ahead: int,
    schedule_s: float = 0.0,
    transfer_s: float = 0.0,
) -> float:
    """Seconds until the last result has come, of tasks that take ``work_s`` each.

    The scheduler hands out one task at a time, results come over one line one at a time, and
    the client asks for a further task when it has taken the oldest result that is due.
    """
    events: list[tuple[float, int, str]] = []
    waiting: deque[int] = deque()
    free, asked, taken, now = num_workers, 0, 0, 0.0
    schedule_free = line_free = 0.0
    arrived: set[int] = set()

    def begin(task: int) -> None:
        heapq.heappush(events, (now + work_s[task], task, "done"))

    while taken < len(work_s):
        while asked < len(work_s) and asked - taken < ahead * num_workers:
            schedule_free = max(schedule_free, now) + schedule_s
            heapq.heappush(events, (schedule_free, asked, "handed out"))
            asked += 1
        now, task, what = heapq.heappop(events)
        if what == "handed out":
            if free:
                free -= 1
                begin(task)
            else:
                waiting.append(task)
        elif what == "done":
            line_free = max(line_free, now) + transfer_s
            heapq.heappush(events, (line_free, task, "arrived"))
            if waiting:
                begin(waiting.popleft())
            else:
                free += 1
        else:
            arrived.add(task)
            while taken in arrived:
                arrived.remove(taken)
                taken += 1
    return now


def tiny(item: int) -> int:
    return item


def task_seconds() -> tuple[float, float]:
    """CPU seconds of client and scheduler, one process here, for a task; and by the clock.

    Two local workers of Dask do the tasks. On machines of their own client and scheduler work at
    the same time: the sum is what they need at most.
    """
    from distributed import LocalCluster

    from puzzleflow.cluster import on_cluster
    from puzzleflow.parallel import bounded_map

    local = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with local, on_cluster(local.scheduler_address.replace("tcp", "dask")):
        list(bounded_map(tiny, range(100)))
        began, began_cpu = time.perf_counter(), time.process_time()
        assert sum(bounded_map(tiny, range(TINY_TASKS), ahead=8)) == sum(range(TINY_TASKS))
        passed, used = time.perf_counter() - began, time.process_time() - began_cpu
        return used / TINY_TASKS, passed / TINY_TASKS


def puzzle_costs(num_blocks: int = 4) -> tuple[float, float, float]:
    """CPU seconds of a GAP-3 puzzle, its bytes as pixels, and as a recipe."""
    from puzzleflow.generation.dataset import generate_set
    from puzzleflow.generation.plan import PRESETS

    pictures = Path(str(files("puzzleflow.samples")))
    request = replace(PRESETS["gap-3"], per_picture=4 * num_blocks, limit=3, splits="100/0/0")
    sizes, seconds, count = [], 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for recipe_only in (True, False):
            out = Path(folder) / str(recipe_only) / "set"
            began = time.process_time()
            told = generate_set(pictures, out, replace(request, recipe_only=recipe_only))
            seconds, count = time.process_time() - began, told["num_puzzles"]
            kept = [p for p in (out / "train").rglob("*") if p.is_file()]
            sizes.append(sum(p.stat().st_size for p in kept) / count)
    return seconds / count, sizes[1], sizes[0]


def main() -> None:
    schedule_s, passed_s = task_seconds()
    print(
        f"{TINY_TASKS:,} tiny tasks: {1e3 * schedule_s:.2f} CPU ms of client and scheduler each, "
        f"{1e3 * passed_s:.2f} ms by the clock",
        flush=True,
    )
    puzzle_s, pixels, recipe = puzzle_costs()
    print(
        f"a GAP-3 puzzle: {puzzle_s:.3f} s of a core, {pixels / 1e3:.0f} kB, recipe {recipe:.0f} B"
    )
    forecasts(puzzle_s, pixels, recipe, schedule_s)


def forecasts(puzzle_s: float, pixels: float, recipe: float, schedule_s: float) -> None:
    """All lines for these costs of a puzzle and of a task."""
    print(f"{PUZZLES:,} puzzles, {A_BLOCK} a task:")
    for name, result_bytes in (("pixels", pixels), ("recipes", recipe)):
        costs = Costs(A_BLOCK * puzzle_s, schedule_s, A_BLOCK * result_bytes)
        for num_workers in (10, 100, 1000):
            forecast(name, costs, num_workers)


def forecast(name: str, costs: Costs, num_workers: int) -> None:
    """One line: reckoned, and simulated with some tasks of which the rest is as many times more."""
    num_tasks = PUZZLES // A_BLOCK
    sample = min(num_tasks, max(20_000, 40 * num_workers))
    drawn = np.random.default_rng(0).lognormal(-(SPREAD**2) / 2, SPREAD, sample) * costs.work_s
    simulated = simulate(
        drawn.tolist(),
        num_workers,
        ahead=4,
        schedule_s=costs.schedule_s,
        transfer_s=costs.result_bytes / costs.network,
    )
    hours = costs.reckoned_s(num_tasks, num_workers) / 3600
    print(
        f"{name:8} {num_workers:5} workers: {hours:6.2f} h reckoned, "
        f"{simulated * num_tasks / sample / 3600:6.2f} h simulated"
    )


if __name__ == "__main__":  # CPU seconds, bytes and recipe bytes of a puzzle, seconds of a task
    forecasts(*map(float, sys.argv[1:5]))
