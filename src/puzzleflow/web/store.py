"""All workbenches of one server, and where they lie: on disk all of them, in memory the latest."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from puzzleflow.core.errors import OutputError, PuzzleFlowError
from puzzleflow.lock import LOCK, fcntl, locked
from puzzleflow.web.jobs import JobRunner
from puzzleflow.web.limits import MB, Limits, NotFound, TooMuch
from puzzleflow.web.stocks_file import JSON, Summary, read_folder, read_summary, write_folder
from puzzleflow.web.workbench import Workbench

PREFIX = "puzzleflow-workbench-"
STALE_S = 7 * 24 * 3600.0  # without locks the age of a folder decides
ID = re.compile(r"[\w-]{8,40}")
IDLE_S = 60.0  # nobody is in the middle of asking for what was unused so long
WITH_SESSIONS = 4  # workbenches whose solver sessions stay in memory


@contextmanager
def scratch_folder(parent: str | Path | None = None) -> Iterator[Path]:
    """A new private folder below ``parent`` (the system's place by default), removed at the end.

    Every running server holds a lock on a file inside its folder. A crash ends
    the lock but not the folder: the next start removes every folder of the same
    user that nobody holds.
    """
    place = Path(parent or tempfile.gettempdir())
    sweep(place)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    except OSError as error:
        raise OutputError(f"cannot use {place} for temporary files: {error.strerror}") from error
    try:
        with _held(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kept_folder(folder: Path) -> Iterator[Path]:
    """A folder of the user's in which workbenches stay; another program in it is refused."""
    with _held(folder):
        for half_removed in folder.glob(".gone-*"):
            shutil.rmtree(half_removed, ignore_errors=True)
        yield folder


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The lock on a folder; that somebody removed the folder meanwhile is no failure."""
    lock = locked(folder)
    lock.__enter__()
    try:
        yield
    finally:
        with suppress(OutputError):
            lock.__exit__(None, None, None)


def user_folder() -> Path:
    """Where workbenches of this user are kept, as the system's customs are."""
    home = Path.home()
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "puzzleflow" / "workbenches"


def sweep(place: Path) -> list[Path]:
    """Remove what crashed programs of this user left in ``place``; the folders removed."""
    removed = []
    for folder in place.glob(f"{PREFIX}*"):
        try:
            status = folder.lstat()
            if folder.is_symlink() or not folder.is_dir() or _foreign(status) or _is_young(folder):
                continue
            with locked(folder):
                pass
        except (OSError, OutputError):  # gone, or held
            continue
        shutil.rmtree(folder, ignore_errors=True)
        removed.append(folder)
    return removed


def _foreign(status: os.stat_result) -> bool:
    return hasattr(os, "getuid") and status.st_uid != os.getuid()


def _is_young(folder: Path) -> bool:
    """Whether it may be in use though nobody holds it: perhaps it is being made at this moment."""
    age_s = time.time() - folder.lstat().st_mtime
    if fcntl is None:
        return age_s < STALE_S
    return age_s < 60.0 and not (folder / LOCK).exists()


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
