"""Jobs: told, cancelled, bounded, and never lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.errors import InputError
from puzzleflow.web.jobs import Busy, Job, JobRunner


def finish(job: Job) -> Job:
    """Wait for the end."""

    async def follow() -> None:
        for _ in range(1000):
            if job.finished:
                return
            await job.wait(job.changes, 0.05)

    asyncio.run(follow())
    assert job.finished
    return job


def nothing() -> None:
    return None


def test_what_the_work_returns_is_called_once_at_the_end() -> None:
    done: list[str] = []

    def work(job: Job) -> Callable[[], None]:
        job.report("half", 0.5)
        done.append("worked")
        return lambda: done.append("committed")

    job = finish(JobRunner().submit(work))
    assert (job.status, job.fraction) == ("done", 1.0)
    assert done == ["worked", "committed"]


@pytest.mark.parametrize(
    ("error", "message"),
    [(InputError("no such grid"), "no such grid"), (KeyError("x"), "the solver failed (KeyError")],
)
def test_errors_become_messages(error: Exception, message: str) -> None:
    def work(job: Job) -> Callable[[], None]:
        raise error

    job = finish(JobRunner().submit(work))
    assert job.status == "failed"
    assert job.message.startswith(message)


def test_a_cancelled_job_ends_at_once_and_commits_nothing() -> None:
    runner = JobRunner(places=1)
    go, inside, committed = threading.Event(), threading.Event(), threading.Event()

    def work(job: Job) -> Callable[[], None]:
        inside.set()
        assert go.wait(20)
        return committed.set

    stuck = runner.submit(work)
    assert inside.wait(20)
    runner.cancel(stuck)
    assert stuck.status == "cancelled"
    other = finish(runner.submit(lambda job: nothing))  # its only place is free again
    assert other.status == "done"
    go.set()
    runner.cancel(stuck)
    for thread in threading.enumerate():
        if thread.daemon and thread.name.endswith("(_run)"):
            thread.join(20)
    assert not committed.is_set()
    assert stuck.status == "cancelled"


def test_a_cancelled_solver_ends_where_it_next_looks() -> None:
    runner, begun, ended = JobRunner(places=1), threading.Event(), threading.Event()

    def work(job: Job) -> Callable[[], None]:
        try:
            begun.set()
            while True:  # a solver that knows nothing of jobs
                check_cancelled()
                ended.wait(0.001)
        finally:
            ended.set()

    job = runner.submit(work)
    assert begun.wait(10)
    runner.cancel(job)
    assert job.status == "cancelled"
    assert ended.wait(10)
    for _ in range(1000):
        if not runner._alive:
            break
        time.sleep(0.005)
    assert not runner._alive
    assert finish(runner.submit(lambda _: nothing)).status == "done"


def test_waiting_jobs_can_be_cancelled_and_places_are_kept() -> None:
    runner = JobRunner(places=1)
    go, inside = threading.Event(), threading.Event()

    def work(job: Job) -> Callable[[], None]:
        inside.set()
        assert go.wait(20)
        return nothing

    first = runner.submit(work)
    assert inside.wait(20)
    second = runner.submit(lambda job: nothing)
    third = runner.submit(lambda job: nothing)
    assert second.status == "waiting"
    runner.cancel(second)
    assert second.status == "cancelled"
    go.set()
    assert finish(first).status == "done"
    assert finish(third).status == "done"


def test_too_many_jobs_and_too_many_abandoned_ones_are_refused() -> None:
    runner = JobRunner(places=1, max_waiting=2, max_abandoned=1)
    go = threading.Event()

    def work(job: Job) -> Callable[[], None]:
        assert go.wait(20)
        return nothing

    first, second = runner.submit(work), runner.submit(work)
    with pytest.raises(Busy):
        runner.submit(work)
    runner.cancel(first)
    runner.cancel(second)
    with pytest.raises(Busy):
        runner.submit(work)
    go.set()


def test_waiting_ends_with_a_change_or_with_the_time() -> None:
    job = Job()

    async def scene() -> list[int]:
        await job.wait(0, 0.0)
        seen = [job.changes]
        waiting = asyncio.create_task(job.wait(0, 20))
        await asyncio.sleep(0)
        job.report("now")
        await waiting
        return [*seen, job.changes]

    assert asyncio.run(scene()) == [0, 1]
