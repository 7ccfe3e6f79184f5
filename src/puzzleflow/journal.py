"""An append-only file of JSON lines that survives being killed in the middle of one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from puzzleflow.core.errors import FormatError, InputError, OutputError


class JournalFile:
    """``with JournalFile(path) as journal``: ``journal.entries`` were there, ``append`` adds.

    One process at a time may hold it. A last line that was cut off by a kill is removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        self._handle: int | None = None

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error
        try:
            lock(self._handle, self.path)
            self.entries, whole = _read(self.path)
            os.ftruncate(self._handle, whole)
        except BaseException:
            self.close()
            raise
        return self

    def append(self, entry: Mapping[str, Any]) -> None:
        """One line, handed to the system in one write: whole, or torn at the end of the file."""
        if self._handle is None:
            raise ValueError("open the journal with `with`")
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._handle, line) :]
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error

    def close(self) -> None:
        """Let go of the file and of its lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def read_journal(path: Path) -> list[dict[str, Any]]:
    """The whole entries of a journal, which another process may be writing."""
    return _read(path)[0] if path.exists() else []


def lock(handle: int, path: Path) -> None:
    """Refuse a second writer; the lock falls with the process, however it ends."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise OutputError(f"{path}: another process is writing here") from error


def _read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Entries, and where the last whole line ends."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    whole = content.rfind(b"\n") + 1
    entries = []
    for number, line in enumerate(content[:whole].split(b"\n")[:-1], start=1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{path}, line {number}: expected JSON") from error
        if not isinstance(entry, dict):
            raise FormatError(f"{path}, line {number}: expected a JSON object")
        entries.append(entry)
    return entries, whole
