"""All open workbenches of one server."""

from __future__ import annotations

import secrets
import threading
import time
from pathlib import Path

from puzzleflow.web.errors import NotFound
from puzzleflow.web.jobs import JobRunner
from puzzleflow.web.limits import Limits
from puzzleflow.web.workbench import Workbench


class Workbenches:
    """All open workbenches; beyond the limits the one unused for longest is closed."""

    def __init__(self, folder: Path, limits: Limits, runner: JobRunner) -> None:
        self.folder = folder
        self.limits = limits
        self.runner = runner
        self._open: dict[str, Workbench] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def draft(self, title: str, origin: str) -> Workbench:
        """A workbench that is not listed yet: fill it, then :meth:`add` it."""
        folder = self.folder / secrets.token_urlsafe(12)
        folder.mkdir()
        return Workbench(folder, self.limits, title, origin)

    def add(self, workbench: Workbench) -> Workbench:
        with self._lock:
            self._open[workbench.id] = workbench
            crowd = sorted(self._open.values(), key=lambda other: other.used_at)
        total = sum(other.kept_bytes() for other in crowd)
        for oldest in crowd[:-1]:
            if (
                len(self._open) <= self.limits.max_workbenches
                and total <= self.limits.max_kept_bytes
            ):
                break
            total -= oldest.kept_bytes()
            self.remove(oldest.id)
        return workbench

    def get(self, workbench_id: str) -> Workbench:
        with self._lock:
            found = self._open.get(workbench_id)
        if found is None:
            raise NotFound("no such workbench: it was closed, or the program was started anew")
        found.used_at = time.monotonic()
        return found

    def remove(self, workbench_id: str) -> None:
        with self._lock:
            found = self._open.pop(workbench_id, None)
        if found is not None:
            found.close(self.runner)

    def close(self) -> None:
        for workbench_id in list(self._open):
            self.remove(workbench_id)
