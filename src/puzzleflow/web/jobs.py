"""Work outside the event loop: each job a thread, a few at a time, told and cancelled.

Cancelling ends a job at once for everybody who looks: its place goes to the
next one, and what its thread still finds is thrown away. The thread itself is
told by an exception, which reaches any Python code, plugins included, but not
the middle of a compiled loop: until that returns the thread is abandoned.
Abandoned threads are few: beyond a number no job is accepted.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from puzzleflow.core.errors import PuzzleFlowError

Status = Literal["waiting", "running", "done", "failed", "cancelled"]
FINISHED = frozenset({"done", "failed", "cancelled"})
POLL_S = 0.01


class Busy(PuzzleFlowError):
    """Too much work is under way to accept more."""


class Cancelled(Exception):
    """Raised inside a job that nobody waits for any more."""


class Job:
    """One piece of work; ``changes`` counts everything that happens to it."""

    def __init__(self) -> None:
        self.status: Status = "waiting"
        self.message = "Waiting for a free place"
        self.fraction: float | None = None
        self.changes = 0
        self._lock = threading.Lock()
        self._worker: int | None = None  # the thread that works, while it does

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    def report(self, message: str, fraction: float | None = None) -> None:
        """Tell what is being done; raises :class:`Cancelled` in a cancelled job."""
        if not self._set("running", message, fraction):
            raise Cancelled

    def _set(self, status: Status, message: str, fraction: float | None = None) -> bool:
        """Change unless finished; whether it did."""
        with self._lock:
            if self.finished:
                return False
            self.status, self.message, self.fraction = status, message, fraction
            self.changes += 1
            return True

    def _works(self, worker: int | None) -> None:
        """The thread ``worker`` begins to work, or, if None, the one that did has ended."""
        with self._lock:
            if self._worker is not None:
                _interrupt(self._worker, None)  # what was not delivered yet never is
            self._worker = worker

    def _stop_working(self) -> None:
        with self._lock:
            if self._worker is not None:
                _interrupt(self._worker, Cancelled)

    async def wait(self, after: int, seconds: float) -> None:
        """Until something changed after change number ``after``, or the time is over."""
        deadline = time.monotonic() + seconds
        while self.changes <= after and time.monotonic() < deadline:
            await asyncio.sleep(POLL_S)


def _interrupt(thread: int, error: type[Exception] | None) -> None:
    """Raise ``error`` in a thread at its next line of Python; None takes back what is pending."""
    what = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


class JobRunner:
    """Runs jobs in threads, ``places`` of them at a time."""

    def __init__(self, places: int = 4, max_waiting: int = 64, max_abandoned: int = 8) -> None:
        self._places = threading.Semaphore(places)
        self._max_waiting = max_waiting
        self._max_abandoned = max_abandoned
        self._lock = threading.Lock()
        self._alive: set[Job] = set()
        self._holding: set[Job] = set()

    def submit(self, work: Callable[[Job], Callable[[], Any]]) -> Job:
        """Start ``work``; what it returns is called if the job was not cancelled meanwhile.

        Raises :class:`Busy` when too many jobs wait or were abandoned.
        """
        job = Job()
        with self._lock:
            abandoned = sum(other.finished for other in self._alive)
            if abandoned >= self._max_abandoned or len(self._alive) >= self._max_waiting:
                raise Busy("the workbench is busy with other work; try again in a moment")
            self._alive.add(job)
        threading.Thread(target=self._run, args=(job, work), daemon=True).start()
        return job

    def cancel(self, job: Job) -> None:
        """End a job for everybody who looks; its place is free at once."""
        if job._set("cancelled", "Cancelled"):
            job._stop_working()
            self._free(job)

    def _run(self, job: Job, work: Callable[[Job], Callable[[], Any]]) -> None:
        try:
            while not self._places.acquire(timeout=0.1):
                if job.finished:
                    return
            with self._lock:
                self._holding.add(job)
            job.report("Starting")
            try:
                job._works(threading.get_ident())
                commit = work(job)
            finally:
                job._works(None)
            job.report("Finishing")
            commit()
            job._set("done", "Done", 1.0)
        except Cancelled:
            pass
        except PuzzleFlowError as error:
            job._set("failed", str(error))
        except Exception as error:  # a fault of ours or of a plugin: told, never lost
            job._set("failed", f"the solver failed ({type(error).__name__}: {error})")
        finally:
            self._free(job)
            with self._lock:
                self._alive.discard(job)

    def _free(self, job: Job) -> None:
        with self._lock:
            held = job in self._holding
            self._holding.discard(job)
        if held:
            self._places.release()
