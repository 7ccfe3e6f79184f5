"""Where workbenches lie: a temporary folder that is gone after the program, or one that stays.

Every running server holds a lock on a file inside its folder. A crash ends
the lock but not the folder: the next start removes every folder of the same
user that nobody holds.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
