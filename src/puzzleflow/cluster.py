"""Many machines: work handed to the workers of a Dask cluster, in order and a bounded way ahead.

The scheduler does the work of a worker that died again, on another one. The workers need the same
packages as this process and see the same files under the same paths.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from puzzleflow.core.errors import InputError, PuzzleFlowError
from puzzleflow.files import read_json

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE_S = 30.0  # for the scheduler to answer, and for a first worker to join
LOOK_AGAIN_S = 2.0  # workers come and go
_SETTINGS = {
    "distributed.diagnostics.computations.nframes": 0,  # or every task is sent its caller's source
    "distributed.admin.large-graph-warning-threshold": "10 GB",
}


class ClusterLost(PuzzleFlowError):
    """The scheduler is gone, or the same work has ended one worker after the other."""


_joined: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def joined_cluster() -> Cluster | None:
    """The cluster that this context works on; None where work is done on this machine."""
    return _joined.get()


@contextmanager
def on_cluster(where: str) -> Iterator[Cluster]:
    """Let all maps in the block work on a cluster.

    where  ``dask://HOST:PORT``, or the path of a scheduler file
    """
    import dask
    from distributed import Client

    address = scheduler_address(where)
    loggers = [logging.getLogger(f"distributed{part}") for part in ("", ".client", ".core")]
    levels = [logger.level for logger in loggers]
    with dask.config.set(_SETTINGS):
        try:
            client = Client(address, timeout=PATIENCE_S, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise InputError(f"{where}: no Dask scheduler answers at {address}") from error
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)  # what happens is told by our own errors
        cluster = Cluster(where, client)
        token = _joined.set(cluster)
        try:
            yield cluster
        finally:
            _joined.reset(token)
            with suppress(OSError, TimeoutError, CancelledError):
                client.close(timeout=2)
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def scheduler_address(where: str) -> str:
    """The address that a Dask client takes; what a scheduler file says is taken as it is."""
    if where.startswith("dask://"):
        host, _, port = where.removeprefix("dask://").rpartition(":")
        if not host or not port.isdecimal():
            raise InputError(f"{where}: expected dask://HOST:PORT")
        return f"tcp://{host}:{port}"
    if not Path(where).is_file():
        raise InputError(f"{where}: expected dask://HOST:PORT or a scheduler file")
    told = read_json(Path(where))
    if not isinstance(told, dict) or not isinstance(told.get("address"), str):
        raise InputError(f"{where}: expected the address of a scheduler in it")
    return str(told["address"])


class Cluster:
    """A connection to a scheduler; see :func:`on_cluster`."""

    def __init__(self, where: str, client: Any) -> None:
        self.where = where
        self._client = client
        self._num_workers = 0
        self._looked_s: float | None = None

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, ahead: int
    ) -> Iterator[Result]:
        """``function(item)`` for every item, in their order, at most ``ahead`` a worker pending."""
        pending: deque[Any] = deque()
        # a task of its own: sent to a worker once, and made again if all who have it die
        held = None
        here = str(Path.cwd()), version("puzzleflow")
        try:
            for item in items:
                if held is None:
                    held = self._submit(_itself, function)
                pending.append(self._submit(_work, held, item, *here))
                if len(pending) >= max(1, self.num_workers) * ahead:
                    yield self._result(pending.popleft())
            while pending:
                yield self._result(pending.popleft())
        finally:
            with suppress(Exception):  # nobody may be there any more to be told
                self._client.cancel(list(pending))

    @property
    def num_workers(self) -> int:
        """The worker processes; waits for the first one."""
        now = time.monotonic()
        if self._looked_s is None or now - self._looked_s >= LOOK_AGAIN_S:
            with self._watched():
                if self._looked_s is None:
                    self._wait_for_one()
                self._num_workers = len(self._client.nthreads())
            self._looked_s = now
        return self._num_workers

    def _wait_for_one(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE_S)
        except TimeoutError as error:
            raise InputError(
                f"{self.where}: the scheduler has no workers, nor came one in {PATIENCE_S:.0f} s"
            ) from error

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with self._watched():
            return self._client.submit(function, *arguments, pure=False)

    def _result(self, future: Any) -> Any:
        from distributed import KilledWorker

        try:
            return future.result()
        except CancelledError as error:
            raise self._lost() from error
        except KilledWorker as error:
            times = error.allowed_failures + 1
            raise ClusterLost(
                f"{self.where}: {times} workers ended at the same work, one after the other "
                "(for want of memory?)"
            ) from error

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Errors of talking to the scheduler as one line."""
        try:
            yield
        except PuzzleFlowError:
            raise
        except Exception as error:  # the client has errors of many kinds, some of no kind at all
            if self._client.status == "running" and not isinstance(error, OSError):
                raise
            raise self._lost() from error

    def _lost(self) -> ClusterLost:
        return ClusterLost(
            f"{self.where}: the scheduler is gone; what is done is kept, and the same command "
            "goes on from there"
        )


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


_turn = threading.Lock()  # solvers know one task at a time in a process


def _work(function: Callable[[Item], Result], item: Item, folder: str, ours: str) -> Result:
    """One item; runs in a worker, in the client's folder if there is one of that name."""
    if version("puzzleflow") != ours:
        raise InputError(f"the workers have puzzleflow {version('puzzleflow')}, not {ours}")
    with _turn:
        if Path(folder).is_dir():
            os.chdir(folder)
        return function(item)
