"""The memory of long work: an append-only file of JSON lines that outlives a kill.

The first line says what the others belong to; work only goes on in a journal whose heading
is its own. A line is handed to the system in one piece before work goes on, so a kill loses
at most the line being written, which the next run drops; it is forced to the disk every few
seconds and at the end, so a power cut loses no more than those. Hold the folder's lock
(``lock.py``) while a journal is open.
"""

from __future__ import annotations

import json
import os
import reprlib
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from puzzleflow.core.ceiling import check_time, reading
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.records import from_json, to_json
from puzzleflow.files import read_regular, writing

VERSION = 2  # 1: several formats, none of which named itself
SYNC_S = 5.0
_BEGIN = b'{"journal":"'

Entry = TypeVar("Entry")


class Journal(Generic[Entry]):
    """``with Journal(...) as journal``: ``entries`` were there, ``append`` adds one.

    kind     the sort of work, such as "bench"
    heading  what identifies this work (a JSON object): another heading is refused
    entry    the dataclass of a line; see ``core.records`` for the types its fields may have
    """

    def __init__(
        self, path: Path, kind: str, heading: Mapping[str, Any], entry: type[Entry]
    ) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self._head = {"journal": kind, "version": VERSION, "heading": json.loads(_line(heading))}
        self._entry = entry
        self._end = -1  # of the last whole line, once that is known
        self._synced_s = time.monotonic()

    def read(self) -> list[Entry]:
        """The whole entries; another process may be writing. Empty if there is no journal."""
        try:
            content = read_regular(self.path, times=4)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror or error}") from error
        with reading(self.path):
            return self._parse(content)

    def changes(self) -> set[str]:
        """Where the heading of the file differs from ours; nothing where there is none."""
        try:
            line = read_regular(self.path).partition(b"\n")[0]
            theirs, ours = _parsed(line).get("heading"), self._head["heading"]
        except (OSError, InputError, AttributeError):  # none, torn or foreign: see read()
            return set()
        keys = theirs.keys() | ours.keys() if isinstance(theirs, dict) else set()
        return {key for key in keys if theirs.get(key) != ours.get(key)}

    def __enter__(self) -> Self:
        self.entries = self.read()
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
        if self._end <= 0:
            self._end = 0
            self._write(_line(self._head))
        return self

    def append(self, entry: Entry) -> None:
        """Add one line; it is safe against a kill when this returns."""
        self._write(_line(to_json(entry)))

    def __exit__(self, *error: object) -> None:
        if self.path.exists():
            self._write(b"", sync=True)

    def _write(self, line: bytes, *, sync: bool = False) -> None:
        """Put ``line`` behind the last whole one, in place of what may be torn there."""
        assert self._end >= 0, "open the journal with `with`"
        left = memoryview(line)
        with writing(self.path), self.path.open("r+b", buffering=0) as stream:  # never made anew
            stream.seek(self._end)
            stream.truncate()
            while left:
                left = left[stream.write(left) :]
            if sync or time.monotonic() - self._synced_s > SYNC_S:
                os.fsync(stream.fileno())
                self._synced_s = time.monotonic()
        self._end += len(line)

    def _parse(self, content: bytes) -> list[Entry]:
        """Entries of a file whose last line may be torn."""
        self._end = content.rfind(b"\n") + 1
        head, *lines = content[: self._end].split(b"\n")[:-1] or [b""]
        if self._end == 0 and content[: len(_BEGIN)] == _BEGIN[: len(content)]:
            return []  # new, or killed while the heading was written
        self._agree(head)
        entries = []
        for number, line in enumerate(lines, start=2):
            check_time()
            try:
                entries.append(from_json(self._entry, _parsed(line)))
            except InputError as error:
                raise FormatError(
                    f"{self.path}, line {number}: damaged ({error}); cut the file before this "
                    f"line to keep what is above it, or remove the file to start over"
                ) from error
        return entries

    def _agree(self, line: bytes) -> None:
        """Refuse the heading of something else."""
        head, ours = None, self._head
        with suppress(FormatError):
            head = _parsed(line)
        if not isinstance(head, dict) or head | {"heading": ours["heading"]} != ours:
            raise FormatError(
                f"{self.path}, line 1: expected a journal ({ours['journal']}) of this version of "
                "PuzzleFlow; work begun by an earlier one cannot go on: remove it or choose "
                "another folder"
            )
        check_heading(self.path, head.get("heading"), ours["heading"])


def check_heading(where: Path, found: object, ours: Mapping[str, Any]) -> None:
    """Refuse to go on with work in ``where`` that was begun otherwise."""
    theirs = found if isinstance(found, dict) else {}
    differing = [
        f"{key} {reprlib.repr(theirs.get(key))}, not {reprlib.repr(ours.get(key))}"
        for key in sorted(theirs.keys() | ours.keys())
        if theirs.get(key) != ours.get(key)
    ]
    if differing:
        raise InputError(
            f"{where}: begun with {'; '.join(differing)}; repeat those settings, remove it "
            "or choose another folder"
        )


def _line(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode(errors="backslashreplace") + b"\n"  # of a name that is no UTF-8


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError("expected JSON") from error
