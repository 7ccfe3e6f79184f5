"""All workbenches of one server: on disk all of them, in memory the latest."""

from __future__ import annotations

import re
import secrets
import shutil
import threading
import time
from pathlib import Path

from puzzleflow.core.errors import OutputError, PuzzleFlowError
from puzzleflow.web.errors import NotFound, TooMuch
from puzzleflow.web.jobs import JobRunner
from puzzleflow.web.limits import MB, Limits
from puzzleflow.web.stocks_file import JSON, Summary, read_folder, read_summary, write_folder
from puzzleflow.web.workbench import Workbench

ID = re.compile(r"[\w-]{8,40}")
IDLE_S = 60.0  # nobody is in the middle of asking for what was unused so long
WITH_SESSIONS = 4  # workbenches whose solver sessions stay in memory


class Workbenches:
    """Opened, kept and forgotten; nothing is closed because of a limit.

    Beyond ``max_workbenches`` those unused for longest leave memory; they come back from disk.
    Beyond ``max_kept_bytes`` on disk no new one is opened until a person forgets one.
    """

    def __init__(self, folder: Path, limits: Limits, runner: JobRunner) -> None:
        self.folder = folder
        self.limits = limits
        self.runner = runner
        self._open: dict[str, Workbench] = {}
        self._lock = threading.Lock()
        self._loading = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def draft(self, title: str, origin: str) -> Workbench:
        """A workbench that is not listed yet: fill it, then :meth:`add` it."""
        total = sum(summary.num_bytes for _, summary in self.recent())
        if total > self.limits.max_kept_bytes:
            raise TooMuch(
                f"the workbenches take {total / MB:,.0f} MB of disk, all that is allowed: "
                "forget some of the recent ones first"
            )
        folder = self.folder / secrets.token_urlsafe(12)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise OutputError(f"cannot use {self.folder}: {error.strerror}") from error
        return Workbench(folder, self.limits, title, origin)

    def add(self, workbench: Workbench) -> Workbench:
        """List a workbench that is filled, and save it."""
        with workbench.lock:
            workbench.save = write_folder
            workbench.changed()
        self._keep(workbench)
        return workbench

    def _keep(self, workbench: Workbench) -> None:
        with self._lock:
            self._open[workbench.id] = workbench
            latest = sorted(self._open.values(), key=lambda other: -other.used_at)
            for old in latest[self.limits.max_workbenches :]:
                idle_s = time.monotonic() - old.used_at
                if idle_s > IDLE_S and (old.job is None or old.job.finished):
                    del self._open[old.id]
        for old in latest[WITH_SESSIONS:]:
            old.forget_sessions()

    def get(self, workbench_id: str) -> Workbench:
        with self._lock:
            found = self._open.get(workbench_id)
        if found is None:
            found = self._load(workbench_id)
        found.used_at = time.monotonic()
        return found

    def _load(self, workbench_id: str) -> Workbench:
        gone = NotFound("no such workbench: it was forgotten, or kept by another program")
        folder = self.folder / workbench_id
        if not ID.fullmatch(workbench_id):
            raise gone
        with self._loading:
            with self._lock:
                found = self._open.get(workbench_id)
            if found is not None:
                return found
            if not (folder / JSON).is_file():
                raise gone
            found = read_folder(folder, self.limits)
            found.save = write_folder
            self._keep(found)
            return found

    def recent(self) -> list[tuple[str, Summary]]:
        """All kept workbenches, the one changed last first."""
        try:
            folders = [each for each in self.folder.iterdir() if ID.fullmatch(each.name)]
        except OSError:
            return []
        found = [(folder.name, read_summary(folder)) for folder in folders]
        told = [(name, summary) for name, summary in found if summary is not None]
        return sorted(told, key=lambda each: -each[1].changed_at)

    def remove(self, workbench_id: str) -> None:
        """Forget a workbench: its files are removed."""
        with self._lock:
            found = self._open.pop(workbench_id, None)
        if found is None:
            try:
                found = read_folder(self.folder / workbench_id, self.limits)
            except PuzzleFlowError:
                if ID.fullmatch(workbench_id):
                    shutil.rmtree(self.folder / workbench_id, ignore_errors=True)
                return
        found.close(self.runner)

    def stop(self) -> None:
        """Cancel what runs; the files stay."""
        for workbench in list(self._open.values()):
            if workbench.job is not None:
                self.runner.cancel(workbench.job)
