"""One ``map`` over many processes; nothing else in the package starts workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

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


def parallel_stream(
    function: Callable[[Item], Result], items: Iterable[Item], *, num_workers: int = 1
) -> Iterator[Result]:
    """The results of :func:`parallel_map` as they are finished, in no particular order."""
    yield from _results(function, items, num_workers, return_as="generator_unordered")


def _results(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    num_workers: int,
    return_as: str = "generator",
) -> Iterable[Result]:
    if num_workers == 1:
        return map(function, items)
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=num_workers, return_as=return_as)
    results: Iterable[Result] = pool(delayed(function)(item) for item in items)
    return results
