"""One process at a time in an output folder; the lock falls with the process, however it ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from puzzleflow.core.errors import OutputError
from puzzleflow.files import remove_stale_parts, writing

# No such locks on Windows: there every process gets in.
fcntl: Any = import_module("fcntl") if os.name == "posix" else None

LOCK = ".lock"


@dataclass(frozen=True)
class Lock:
    """The hold of this process on ``folder``."""

    folder: Path
    _handle: int

    def check(self) -> None:
        """Refuse to go on if somebody removed the folder meanwhile."""
        if not _is_at(self._handle, self.folder / LOCK):
            raise OutputError(f"{self.folder}: was removed while it was being written")


@contextmanager
def locked(folder: Path) -> Iterator[Lock]:
    """Make ``folder`` if need be and hold it; what killed processes left half-written goes.

    A folder that another process (or this one) holds is refused at once. Leaving fails if
    the folder was removed meanwhile. Nothing of the lock stays behind, nor a new folder
    into which nothing was written.
    """
    is_new = not folder.exists()
    lock = Lock(folder, _take(folder))
    try:
        remove_stale_parts(folder)
        yield lock
        lock.check()
    finally:
        if _is_at(lock._handle, folder / LOCK):
            with suppress(OSError):
                (folder / LOCK).unlink()
                if is_new:
                    folder.rmdir()
        os.close(lock._handle)


def _take(folder: Path) -> int:
    """An open, locked file in ``folder`` that says who we are."""
    path = folder / LOCK
    while True:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(handle, path):  # and not removed by its last owner while we opened it
                with suppress(OSError):  # a full disk: the lock holds, only nobody learns whose
                    os.ftruncate(handle, 0)
                    who = f"process {os.getpid()} on {socket.gethostname()}"
                    os.pwrite(handle, who.encode(), 0)
                return handle
        except BlockingIOError as error:
            holder = os.read(handle, 200).decode(errors="replace") or "another process"
            os.close(handle)
            raise OutputError(
                f"{folder}: {holder} is writing here; wait for its end or choose another folder"
            ) from error
        except OSError as error:
            os.close(handle)
            raise OutputError(f"cannot lock {folder}: {error.strerror or error}") from error
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
