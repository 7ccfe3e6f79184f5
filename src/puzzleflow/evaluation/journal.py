"""Results of one solver, one line per puzzle, in a file that survives being killed.

The first line says what the lines below belong to; a run only goes on in a
journal whose heading is its own. Lines are appended and never rewritten, so a
killed run loses at most the line it was writing, which the next one drops.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.journal import JournalFile, read_journal

VERSION = 1


@dataclass(frozen=True)
class Record:
    """What one solver did with one puzzle.

    position_of  the layout, or None where the solver refused (``refusal`` says why)
    seconds      prepare and solve, wall clock, without loading the solver
    memory_mb    memory the puzzle needed above what the worker held, None if not measured
    worker_mb    peak resident memory of the worker meanwhile, or None
    confidence   per piece that it lies right, or None where the solver does not say
    seams        per seam of the layout that it is one, right seams and then down seams, each
                 row by row (the order of ``Grid.neighbours``), or None
    """

    index: int
    puzzle_id: str
    position_of: tuple[int, ...] | None
    seconds: float
    memory_mb: float | None = None
    worker_mb: float | None = None
    refusal: str = ""
    confidence: tuple[float, ...] | None = None
    seams: tuple[float, ...] | None = None


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
        self._file = JournalFile(path)

    def read(self) -> dict[int, Record]:
        """Records by puzzle index; empty if there is no journal yet."""
        return {record.index: record for record in self._parse(read_journal(self.path))}

    def __enter__(self) -> Journal:
        """Take the file for this process alone and make the heading."""
        self._file.__enter__()
        try:
            self._parse(self._file.entries)
            if not self._file.entries:
                self._file.append(asdict(self.heading))
        except BaseException:
            self.close()
            raise
        return self

    def append(self, record: Record) -> None:
        self._file.append(asdict(record))

    def close(self) -> None:
        self._file.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _parse(self, entries: list[dict[str, Any]]) -> list[Record]:
        if not entries:
            return []
        try:
            heading = Heading(**entries[0])
        except TypeError as error:
            raise FormatError(f"{self.path}: expected a journal of results ({error})") from error
        if heading != self.heading:
            theirs, ours = asdict(heading), asdict(self.heading)
            different = ", ".join(key for key in ours if ours[key] != theirs[key])
            raise InputError(
                f"{self.path} holds results of another run (different {different}); "
                "choose another --out or start over with --fresh"
            )
        return [self._record(entry, number) for number, entry in enumerate(entries[1:], start=2)]

    def _record(self, fields: dict[str, Any], number: int) -> Record:
        try:
            if fields["position_of"] is not None:
                fields["position_of"] = tuple(int(p) for p in fields["position_of"])
            for name in ("confidence", "seams"):
                if fields.get(name) is not None:
                    fields[name] = tuple(float(share) for share in fields[name])
            return Record(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise FormatError(f"{self.path}, line {number}: expected a result ({error})") from error
