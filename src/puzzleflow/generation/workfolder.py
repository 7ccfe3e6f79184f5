"""The hidden folder of a data set in the making: journals, and the payloads of its puzzles."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.errors import FormatError, OutputError
from puzzleflow.core.types import IntArray
from puzzleflow.files import read_json, writing
from puzzleflow.generation.survey import Surveyed
from puzzleflow.journal import Journal, check_heading
from puzzleflow.lock import LOCK, locked

STATISTICS = "statistics.json"
WORK = ".work"


@dataclass(frozen=True)
class Made:
    """A finished puzzle; a later line about the same one takes the place of an earlier one.

    crc32      checksum of its pieces
    areas      material pixels of each piece
    num_bytes  of its payload, and their checksum
    """

    split: str
    index: int
    crc32: str
    areas: tuple[int, ...]
    num_bytes: int
    checksum: int


@dataclass(frozen=True)
class Work:
    """The work folder of a request, held by this process."""

    folder: Path
    survey: Journal[Surveyed]
    puzzles: Journal[Made]


@contextmanager
def work_folder(out: Path, asked: dict[str, Any]) -> Iterator[Work | None]:
    """The work folder of ``out`` for the request ``asked``; None if that is done already.

    Another request, another run that is going on, or foreign files in ``out`` are errors.
    The block ends by writing the statistics; if it fails, the folder stays for the next run.
    """
    done, folder = out / STATISTICS, out / WORK
    if done.exists():
        content = read_json(done)
        check_heading(out, content.get("request") if isinstance(content, dict) else None, asked)
        if folder.exists() or (out / LOCK).exists():  # killed before its last steps
            with locked(out):
                shutil.rmtree(folder, ignore_errors=True)
        yield None
        return
    with locked(out):
        if not folder.exists() and any(path.name != LOCK for path in out.iterdir()):
            raise OutputError(f"{out} is not empty and holds no unfinished data set")
        if (folder / "request.json").exists():
            raise OutputError(
                f"{out}: begun by an earlier version of PuzzleFlow, whose work cannot go on; "
                "remove the folder or choose another one"
            )
        with (
            Journal(folder / "survey.jsonl", "survey", asked, Surveyed) as survey,
            Journal(folder / "puzzles.jsonl", "generate", asked, Made) as puzzles,
        ):
            yield Work(folder, survey, puzzles)
        shutil.rmtree(folder)


class PuzzleLog:
    """The finished puzzles of one split in order: a line in the journal, a payload in a file."""

    def __init__(self, work: Work, split: str, num_pieces: int) -> None:
        known = {
            made.index: made
            for made in work.puzzles.entries
            if made.split == split and len(made.areas) == num_pieces
        }
        self._made = [known[index] for index in takewhile(known.__contains__, count())]
        self._journal = work.puzzles
        self._split = split
        self._path = work.folder / f"{split}.payloads"

    def __len__(self) -> int:
        return len(self._made)

    def keep_whole(self) -> None:
        """Forget the puzzles from the first one whose payload did not reach the file whole."""
        whole = 0
        with suppress(FormatError, FileNotFoundError):
            for _ in self.payloads():
                whole += 1
        del self._made[whole:]
        with writing(self._path):
            self._path.touch()
            os.truncate(self._path, sum(made.num_bytes for made in self._made))

    def append(self, crc32: str, areas: IntArray, payload: bytes) -> None:
        """Add one puzzle; it is safe against a kill when this returns."""
        with writing(self._path), self._path.open("ab") as stream:
            stream.write(payload)
        checksum, num_bytes = zlib.crc32(payload), len(payload)
        made = Made(self._split, len(self), crc32, tuple(areas.tolist()), num_bytes, checksum)
        self._journal.append(made)
        self._made.append(made)

    def payloads(self) -> Iterator[bytes]:
        """The payload of every puzzle."""
        with self._path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            for made in self._made:
                payload = stream.read(min(made.num_bytes, size))
                if zlib.crc32(payload) != made.checksum:
                    raise FormatError(f"{self._path}: puzzle {made.index} is damaged")
                yield payload

    def drop_payloads(self) -> None:
        """Remove the payloads, once the finished files hold them."""
        self._path.unlink()

    def checksums(self) -> list[str]:
        return [made.crc32 for made in self._made]

    def areas(self) -> IntArray:
        """(M, N) material pixels of every piece."""
        return np.array([made.areas for made in self._made], dtype=np.int64)
