"""An append-only file of JSON lines that survives being killed in the middle of one."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from puzzleflow.core.errors import FormatError, InputError, OutputError


class Journal:
    """``with Journal(path) as journal``: ``journal.entries`` were there, ``append`` adds.

    One process at a time may hold it. A last line that was cut off by a kill is removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        self._handle = -1

    def __enter__(self) -> Journal:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._handle)
            raise InputError(f"{self.path}: another process is writing here") from error
        try:
            self._read()
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def append(self, entry: Mapping[str, Any]) -> None:
        """One line, handed to the system in one write."""
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._handle, line) :]
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}") from error

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise FormatError(f"{self.path}, line {number}: expected JSON") from error
            if not isinstance(entry, dict):
                raise FormatError(f"{self.path}, line {number}: expected a JSON object")
            self.entries.append(entry)
        if whole < len(content):
            os.ftruncate(self._handle, whole)
