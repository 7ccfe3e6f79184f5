"""Work outside the event loop: each job a thread, a few at a time, told and cancelled.

Cancelling ends a job at once for everybody who looks: its place goes to the
next one, and what its thread still finds is thrown away. The thread itself ends
where its solver next looks at the job's token (``core/cancelling.py``). A plugin
that never looks is abandoned until it returns. Abandoned threads are few: beyond
a number no job is accepted.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from puzzleflow.core.cancelling import Cancelled, CancelToken, cancelled_by
from puzzleflow.core.errors import PuzzleFlowError

Status = Literal["waiting", "running", "done", "failed", "cancelled"]
FINISHED = frozenset({"done", "failed", "cancelled"})
POLL_S = 0.01


class Busy(PuzzleFlowError):
    """Too much work is under way to accept more."""


class Job:
    """One piece of work; ``changes`` counts everything that happens to it."""

    def __init__(self) -> None:
        self.status: Status = "waiting"
        self.message = "Waiting for a free place"
        self.fraction: float | None = None
        self.changes = 0
        self._lock = threading.Lock()
        self.token = CancelToken()

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

    async def wait(self, after: int, seconds: float) -> None:
        """Until something changed after change number ``after``, or the time is over."""
        deadline = time.monotonic() + seconds
        while self.changes <= after and time.monotonic() < deadline:
            await asyncio.sleep(POLL_S)


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
            job.token.cancel()
            self._free(job)

    def _run(self, job: Job, work: Callable[[Job], Callable[[], Any]]) -> None:
        try:
            while not self._places.acquire(timeout=0.1):
                if job.finished:
                    return
            with self._lock:
                self._holding.add(job)
            job.report("Starting")
            with cancelled_by(job.token):
                commit = work(job)
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
