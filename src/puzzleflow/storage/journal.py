"""An append-only file of records that survives a kill at any moment.

Header (what the records belong to), then records of length, CRC-32 and
payload. Opening cuts off whatever follows the last whole record, so a writer
that was killed goes on behind it.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from puzzleflow.core.errors import FormatError, OutputError
from puzzleflow.journal import lock

_MAGIC = b"PFJOURN1"
_RECORD = struct.Struct("<QI")  # bytes of the payload, their CRC-32


class Journal:
    """Records at ``path`` that belong to ``settings`` (a JSON object).

    A journal with other settings, or one that another process is writing, is
    refused. ``len(journal)`` counts the records that are safe.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._ends: list[int] = []  # file offsets: behind the header, behind every record
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream: BinaryIO = path.open("a+b", buffering=0)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
        try:
            lock(self._stream.fileno(), path)
            self._resume(json.dumps(settings, sort_keys=True).encode())
        except BaseException:
            self._stream.close()
            raise

    def _resume(self, settings: bytes) -> None:
        head = _MAGIC + struct.pack("<I", len(settings)) + settings
        size = self._stream.seek(0, io.SEEK_END)
        self._stream.seek(0)
        found = self._stream.read(min(size, len(head)))
        self._ends = [0]
        if len(found) < len(head) and head.startswith(found):  # new, or killed in the header
            self._stream.truncate(0)
            self._write(head)
            del self._ends[0]
            return
        if found != head:
            raise OutputError(
                f"{self.path} belongs to a run with other settings; "
                "repeat those settings or remove the file"
            )
        self._ends = [len(head)]
        while (payload := self._read(self._ends[-1])) is not None:
            self._ends.append(self._ends[-1] + _RECORD.size + len(payload))
        if self._ends[-1] < size:
            self._stream.truncate(self._ends[-1])

    def _write(self, content: bytes) -> None:
        """Append and remember the new end; a failed write leaves no trace."""
        left = memoryview(content)
        try:
            while left:
                left = left[os.write(self._stream.fileno(), left) :]
        except OSError as error:
            self._stream.truncate(self._ends[-1])
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error
        self._ends.append(self._ends[-1] + len(content))

    def _read(self, start: int) -> bytes | None:
        self._stream.seek(start)
        head = self._stream.read(_RECORD.size)
        if len(head) < _RECORD.size:
            return None
        num_bytes, checksum = _RECORD.unpack(head)
        if num_bytes > os.fstat(self._stream.fileno()).st_size - start:
            return None
        payload = self._stream.read(num_bytes)
        return payload if len(payload) == num_bytes and zlib.crc32(payload) == checksum else None

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, payload: bytes) -> None:
        """Add one record; it is safe against a kill when this returns."""
        self._write(_RECORD.pack(len(payload), zlib.crc32(payload)) + payload)

    def __iter__(self) -> Iterator[bytes]:
        for start in self._ends[:-1]:
            payload = self._read(start)
            if payload is None:
                raise FormatError(f"{self.path}: damaged at byte {start}")
            yield payload

    def remove(self) -> None:
        """Delete the file: its content lies safely elsewhere."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Let go of the file and of its lock."""
        self._stream.close()
