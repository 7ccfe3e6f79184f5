"""The hidden folder of a run that may be killed: one owner, one request, one log per split."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from puzzleflow.core.errors import OutputError
from puzzleflow.core.types import IntArray
from puzzleflow.files import read_json, write_json

STATISTICS = "statistics.json"
WORK = ".work"


@contextmanager
def work_folder(out: Path, asked: dict[str, Any]) -> Iterator[Path | None]:
    """The work folder of ``out`` for the request ``asked``; None if that is done already.

    Another request, another run that is going on, or foreign files in ``out`` are errors.
    The folder stays behind unless :func:`finish` was called.
    """
    done = out / STATISTICS
    work = out / WORK
    if done.exists():  # written last: whatever is left in the work folder is of no use
        _same_request(out, read_json(done).get("request"), asked)
        shutil.rmtree(work, ignore_errors=True)
        yield None
        return
    try:
        if not work.exists() and out.exists() and any(out.iterdir()):
            raise OutputError(f"{out} is not empty and holds no unfinished data set")
        work.mkdir(parents=True, exist_ok=True)
        lock = (work / "lock").open("w")
    except OSError as error:
        raise OutputError(f"cannot write {work}: {error.strerror or error}") from error
    with lock:
        _lock(lock, out)
        for left_over in out.rglob(".*.part"):
            left_over.unlink(missing_ok=True)
        request = work / "request.json"
        if request.exists():
            _same_request(out, read_json(request), asked)
        else:
            write_json(request, asked)
        yield work


def finish(out: Path, statistics: dict[str, Any]) -> None:
    """Write the statistics, which mark the data set as complete, and clear up."""
    write_json(out / STATISTICS, statistics)
    shutil.rmtree(out / WORK)


def _same_request(out: Path, found: object, asked: dict[str, Any]) -> None:
    if found == asked:
        return
    known = found if isinstance(found, dict) else {}
    differing = [key for key in asked if known.get(key) != asked[key]]
    raise OutputError(
        f"{out} was begun with other settings ({', '.join(differing) or 'more of them'}); "
        "repeat those settings, remove the folder or choose another one"
    )


def _lock(stream: IO[str], out: Path) -> None:
    """Refuse a second run; the lock falls with the process, however it ends."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise OutputError(f"{out}: another run is writing here") from error


class PuzzleLog:
    """One line per finished puzzle: checksum of its pieces, material pixels of each piece."""

    def __init__(self, path: Path, num_pieces: int) -> None:
        self._path = path
        self._num_pieces = num_pieces
        self._lines = self._whole_lines()

    def _whole_lines(self) -> list[str]:
        if not self._path.exists():
            return []
        whole = self._path.read_text().rpartition("\n")[0]
        lines = whole.split("\n") if whole else []
        return [line for line in lines if len(line.split()) == 1 + self._num_pieces]

    def __len__(self) -> int:
        return len(self._lines)

    def cut(self, count: int) -> None:
        """Keep the first ``count`` lines, no more and nothing half-written."""
        if len(self._lines) < count:
            raise OutputError(f"{self._path}: {len(self._lines)} lines for {count} puzzles")
        del self._lines[count:]
        self._path.write_text("".join(f"{line}\n" for line in self._lines))

    def append(self, crc32: str, areas: IntArray) -> None:
        """Add one line; it outlives a kill once this returns."""
        line = f"{crc32} {' '.join(map(str, areas.tolist()))}"
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(handle, f"{line}\n".encode())
        except OSError as error:
            raise OutputError(f"cannot write {self._path}: {error.strerror}") from error
        finally:
            os.close(handle)
        self._lines.append(line)

    def checksums(self) -> list[str]:
        return [line.split()[0] for line in self._lines]

    def areas(self) -> IntArray:
        """(M, N) material pixels of every piece."""
        rows = [line.split()[1:] for line in self._lines]
        return np.array(rows, dtype=np.int64).reshape(len(rows), self._num_pieces)
