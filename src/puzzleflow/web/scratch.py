"""A temporary folder that is gone after the program, also after a crash.

Every running server holds a lock on a file inside its folder. A crash ends
the lock but not the folder: the next start removes every folder of the same
user that nobody holds.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from puzzleflow.core.errors import OutputError

# No such locks on Windows: there the age of a folder decides.
fcntl: Any = import_module("fcntl") if os.name == "posix" else None

PREFIX = "puzzleflow-workbench-"
LOCK = "in-use"
STALE_S = 7 * 24 * 3600.0


@contextmanager
def scratch_folder(parent: str | Path | None = None) -> Iterator[Path]:
    """A new private folder below ``parent`` (the system's place by default), removed at the end."""
    place = Path(parent or tempfile.gettempdir())
    sweep(place)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise OutputError(f"cannot use {place} for temporary files: {error.strerror}") from error
    with lock:
        _hold(lock)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def sweep(place: Path) -> list[Path]:
    """Remove what crashed programs of this user left in ``place``; the folders removed."""
    removed = []
    for folder in place.glob(f"{PREFIX}*"):
        try:
            status = folder.lstat()
            if folder.is_symlink() or not folder.is_dir() or _foreign(status) or _in_use(folder):
                continue
        except OSError:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        removed.append(folder)
    return removed


def _foreign(status: os.stat_result) -> bool:
    return hasattr(os, "getuid") and status.st_uid != os.getuid()


def _hold(lock: IO[str]) -> bool:
    """Take the lock; False if somebody else has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _in_use(folder: Path) -> bool:
    age_s = time.time() - folder.lstat().st_mtime
    if fcntl is None:
        return age_s < STALE_S
    if not (folder / LOCK).exists():
        return age_s < 60.0  # perhaps being made at this moment
    with (folder / LOCK).open("r+") as lock:
        return not _hold(lock)
