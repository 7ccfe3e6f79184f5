"""Results of one solver, one line per puzzle, in a file that survives being killed.

The first line says what the lines below belong to; a run only goes on in a
journal whose heading is its own. Lines are appended and never rewritten, so a
killed run loses at most the line it was writing, which the next one drops.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from puzzleflow.core.errors import FormatError, InputError, OutputError

VERSION = 1


@dataclass(frozen=True)
class Record:
    """What one solver did with one puzzle.

    position_of  the layout, or None where the solver refused (``refusal`` says why)
    seconds      prepare and solve, wall clock, without loading the solver
    memory_mb    memory the puzzle needed above what the worker held, None if not measured
    worker_mb    peak resident memory of the worker meanwhile, or None
    """

    index: int
    puzzle_id: str
    position_of: tuple[int, ...] | None
    seconds: float
    memory_mb: float | None = None
    worker_mb: float | None = None
    refusal: str = ""


@dataclass(frozen=True)
class Heading:
    """What a journal belongs to: solver, seed and data."""

    solver: str
    seed: int
    data: str
    version: int = VERSION


class Journal:
    """The file of one solver; use as a context manager to append."""

    def __init__(self, path: Path, heading: Heading) -> None:
        self.path = path
        self.heading = heading
        self._handle: int | None = None

    def read(self) -> dict[int, Record]:
        """Records by puzzle index; empty if there is no journal yet."""
        if not self.path.exists():
            return {}
        records = {}
        for record in self._parse(self._whole_lines()):
            records[record.index] = record
        return records

    def __enter__(self) -> Journal:
        """Take the file for this process alone, drop a torn last line, make the heading."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            _lock(self._handle, self.path)
            lines = self._whole_lines()
            self._parse(lines)
            os.ftruncate(self._handle, sum(len(line) + 1 for line in lines))
            if not lines:
                self._write(_line(asdict(self.heading)))
        except OSError as error:
            self.close()
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise
        return self

    def append(self, record: Record) -> None:
        """Write one line in one call: whole, or torn at the end of the file."""
        self._write(_line(asdict(record)))

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)  # and with it the lock
            self._handle = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, content: bytes) -> None:
        if self._handle is None:
            raise ValueError("open the journal with `with`")
        try:
            while content:
                content = content[os.write(self._handle, content) :]
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from error

    def _whole_lines(self) -> list[bytes]:
        """Lines that were finished; a torn last one is left out."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror or error}") from error
        return content.split(b"\n")[:-1]

    def _parse(self, lines: list[bytes]) -> list[Record]:
        if not lines:
            return []
        try:
            heading = Heading(**json.loads(lines[0]))
        except (ValueError, TypeError) as error:
            raise FormatError(f"{self.path}: expected a journal of results ({error})") from error
        if heading != self.heading:
            theirs, ours = asdict(heading), asdict(self.heading)
            different = ", ".join(key for key in ours if ours[key] != theirs[key])
            raise InputError(
                f"{self.path} holds results of another run (different {different}); "
                "choose another --out or start over with --fresh"
            )
        return [self._record(line, number) for number, line in enumerate(lines[1:], start=2)]

    def _record(self, line: bytes, number: int) -> Record:
        try:
            fields: dict[str, Any] = json.loads(line)
            if fields["position_of"] is not None:
                fields["position_of"] = tuple(int(p) for p in fields["position_of"])
            return Record(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise FormatError(f"{self.path}, line {number}: expected a result ({error})") from error


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _lock(handle: int, path: Path) -> None:
    """Refuse a second writer; the lock falls with the process, however it ends."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise OutputError(f"{path}: another benchmark is writing here") from error
