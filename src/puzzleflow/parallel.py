"""One ``map`` over many processes; nothing else in the package starts workers."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from puzzleflow.cluster import joined_cluster
from puzzleflow.core.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


_THREAD_LIMITS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_ONE_THREAD = dict.fromkeys(_THREAD_LIMITS, "1")


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def bounded_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    num_workers: int = 1,
    ahead: int = 4,
) -> Iterator[Result]:
    """``function(item)`` for every item, over ``num_workers`` processes, as they are fetched.

    Results come in the order of the items, whatever the workers do; a function
    that takes its randomness from its item (see ``core.rng``) therefore gives the
    same results for every number of workers. One worker runs inline: no process
    is started and nothing is pickled. ``num_workers=-1`` takes every core.

    At most ``ahead`` items per worker are taken in advance, so memory stays flat
    however slowly the results are fetched. The workers (joblib's loky) run one
    thread each and end with their parent, even when it is killed. An error that
    ``function`` raises is raised here, and what has not begun is dropped.

    In a block of ``on_cluster`` the workers are those of the cluster, however many there are.
    """
    if num_workers < 1 and num_workers != -1:
        raise InputError(f"{num_workers} workers: expected 1 or more, or -1 for every core")
    cluster = joined_cluster()
    if cluster is not None:
        yield from cluster.map(function, items, ahead=ahead)
        return
    count = available_cores() if num_workers == -1 else num_workers
    if count == 1:
        yield from map(function, items)
        return
    from joblib.externals.loky import get_reusable_executor

    # loky warns in a thread of its own: as an error that would end the thread and hang the run
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
    executor = get_reusable_executor(
        max_workers=count, env=_ONE_THREAD, initializer=_begin, initargs=(os.getpid(), Path.cwd())
    )
    pending: deque[Any] = deque()
    try:
        for item in items:
            pending.append(executor.submit(function, item))
            if len(pending) >= count * ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except KeyboardInterrupt:
        with suppress(queue.Empty):  # else loky's thread hands out items that it has just dropped
            while True:
                executor._work_ids.get_nowait()
        executor.shutdown(wait=True, kill_workers=True)
        raise
    finally:
        for future in pending:
            future.cancel()


async def apart(function: Callable[[Item], Result], item: Item) -> Result:
    """``function(item)`` beside an event loop: in a thread, or on the cluster."""
    cluster = joined_cluster()
    if cluster is None:
        return await asyncio.to_thread(function, item)
    return await asyncio.to_thread(lambda: next(cluster.map(function, [item], ahead=1)))


def _begin(parent: int, folder: Path) -> None:
    """Let this worker be where its parent is and end with it, and grow as it must.

    Where psutil is installed, loky takes a worker that has loaded a network for one that
    leaks, and replaces it. Ctrl-C is the parent's.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(parent)
    os.chdir(folder)
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False


def end_with_parent(parent: int | None = None) -> None:
    """Start a thread that ends this process once its parent is gone, however that ended."""
    parent = os.getppid() if parent is None else parent
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
