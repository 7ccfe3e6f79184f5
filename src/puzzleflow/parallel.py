"""One ``map`` over many processes; nothing else in the package starts workers."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    num_workers: int = 1,
    on_progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """``[function(item) for item in items]``, over ``num_workers`` processes.

    Results come in the order of the items, whatever the workers do; a function
    that takes its randomness from its item (see ``core.rng``) therefore gives
    the same list for every number of workers. One worker runs inline: no
    process is started and nothing is pickled. ``num_workers=-1`` takes every
    core. ``on_progress(done)`` is called in this process after each result.
    An error raised by ``function`` is raised here and stops the rest.

    The processes come from joblib's loky backend; inside
    ``joblib.parallel_config(backend=...)`` they come from that one instead.
    """
    results: list[Result] = []
    for result in _results(function, items, num_workers):
        results.append(result)
        if on_progress is not None:
            on_progress(len(results))
    return results


def _results(
    function: Callable[[Item], Result], items: Iterable[Item], num_workers: int
) -> Iterable[Result]:
    if num_workers == 1:
        return map(function, items)
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=num_workers, return_as="generator")
    ordered: Iterable[Result] = pool(delayed(function)(item) for item in items)
    return ordered


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
    """Results in the order of the items, for results that are large.

    At most ``ahead`` items per worker are taken in advance, so memory stays flat
    however slowly the results are fetched. The workers run one thread each and end
    with their parent, even when it is killed. ``num_workers=-1`` takes every core.
    """
    count = available_cores() if num_workers == -1 else num_workers
    if count == 1:
        yield from map(function, items)
        return
    from joblib.externals.loky import get_reusable_executor

    executor = get_reusable_executor(
        max_workers=count, env=_ONE_THREAD, initializer=_watch_parent, initargs=(os.getpid(),)
    )
    pending: deque[Any] = deque()
    try:
        for item in items:
            pending.append(executor.submit(function, item))
            if len(pending) >= count * ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


def _watch_parent(parent: int) -> None:
    """Start a thread that ends this worker once its parent is gone."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
