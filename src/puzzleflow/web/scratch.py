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
from pathlib import Path

from puzzleflow.core.errors import OutputError
from puzzleflow.lock import LOCK, fcntl, locked

PREFIX = "puzzleflow-workbench-"
STALE_S = 7 * 24 * 3600.0  # without locks the age of a folder decides


@contextmanager
def scratch_folder(parent: str | Path | None = None) -> Iterator[Path]:
    """A new private folder below ``parent`` (the system's place by default), removed at the end."""
    place = Path(parent or tempfile.gettempdir())
    sweep(place)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    except OSError as error:
        raise OutputError(f"cannot use {place} for temporary files: {error.strerror}") from error
    try:
        with locked(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
