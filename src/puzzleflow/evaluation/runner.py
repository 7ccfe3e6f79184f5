"""Several solvers over the same puzzles, in parallel, and resumable at any moment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

import numpy as np

from puzzleflow.core.errors import InputError, OutputError
from puzzleflow.evaluation.journal import Heading, Journal, Record
from puzzleflow.evaluation.results import Results, Truth, score_records
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.evaluation.worker import Task, forget, solve_task
from puzzleflow.parallel import bounded_map
from puzzleflow.storage.source import PuzzleSource

OnRecord = Callable[[SolverSpec, Record], None]


@dataclass(frozen=True, eq=False)
class Bench:
    """A benchmark: which puzzles, which solvers, which seed, and where its journals lie."""

    source: PuzzleSource
    specs: Sequence[SolverSpec]
    out: Path
    seed: int = 0
    limit: int | None = None

    @property
    def num_puzzles(self) -> int:
        size = len(self.source)
        return size if self.limit is None else min(size, self.limit)

    def check(self) -> None:
        """Say now what would go wrong later: no puzzles, no truth, unknown solvers."""
        if self.limit is not None and self.limit < 1:
            raise InputError(f"--limit must be at least 1, not {self.limit}")
        if self.num_puzzles == 0:
            raise InputError(f"{self.source.path}: holds no puzzles")
        if not self.source.has_truth:
            raise InputError(f"{self.source.path}: a benchmark needs puzzles with their truth")
        for spec in self.specs:
            spec.load()

    def truths(self) -> list[Truth]:
        """The truth of every puzzle that is run, without reading pixels where possible."""
        shared, grid = self.source.truths(), self.source.grid
        truths = []
        for index in range(self.num_puzzles):
            if shared is not None and grid is not None:
                position_of, puzzle_grid = np.asarray(shared[index], dtype=np.int64), grid
            else:
                puzzle = self.source.read(index)
                if puzzle.truth is None:
                    raise InputError(f"{self.source.path}: puzzle {index} has no truth")
                position_of, puzzle_grid = puzzle.truth, puzzle.grid
            given = tuple(sorted(self.source.pins(index).values()))
            truths.append(Truth(position_of, puzzle_grid, given))
        return truths

    def journal(self, spec: SolverSpec) -> Journal:
        heading = Heading(spec.label, self.seed, data_fingerprint(self.source))
        return Journal(self.out / "journal" / f"{spec.file_stem}.jsonl", heading)

    def run(
        self, *, num_workers: int = 1, fresh: bool = False, on_record: OnRecord | None = None
    ) -> dict[str, dict[int, Record]]:
        """Solve what the journals lack; returns records by solver label and puzzle index.

        ``on_record`` sees every record, those of earlier runs first. Killed at
        any moment, the next run goes on where this one stopped; ``fresh``
        starts over.
        """
        records: dict[str, dict[int, Record]] = {}
        with ExitStack() as stack:
            run = uuid4().hex
            journals = {}
            tasks = []
            for spec in self.specs:
                journal = self.journal(spec)
                if fresh:
                    _remove(journal.path)
                journals[spec] = stack.enter_context(journal)
                known = journal.read()
                records[spec.label] = {i: known[i] for i in range(self.num_puzzles) if i in known}
                for record in records[spec.label].values():
                    if on_record is not None:
                        on_record(spec, record)
                tasks += [
                    Task(run, self.source, spec, index, self.seed)
                    for index in range(self.num_puzzles)
                    if index not in known
                ]
            stack.enter_context(_inline_state(num_workers))
            for spec, record in bounded_map(solve_task, tasks, num_workers=num_workers, ahead=2):
                journals[spec].append(record)
                records[spec.label][record.index] = record
                if on_record is not None:
                    on_record(spec, record)
        return records

    def results(self, records: dict[str, dict[int, Record]]) -> list[Results]:
        """Scored, in the order of the solvers."""
        truths = self.truths()
        return [
            score_records(spec.label, records[spec.label].values(), truths) for spec in self.specs
        ]


def data_fingerprint(source: PuzzleSource) -> str:
    """A digest of the size of a set and of three of its puzzles, truth included."""
    digest = blake2b(digest_size=12)
    size = len(source)
    digest.update(str(size).encode())
    for index in sorted({0, size // 2, size - 1}) if size else []:
        puzzle = source.read(index)
        digest.update(repr((puzzle.grid, puzzle.pieces.shape, source.pins(index))).encode())
        digest.update(np.ascontiguousarray(puzzle.pieces).tobytes())
        if puzzle.truth is not None:
            digest.update(puzzle.truth.tobytes())
    return digest.hexdigest()


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot remove {path}: {error.strerror or error}") from error


@contextmanager
def _inline_state(num_workers: int) -> Iterator[None]:
    """One worker works in this process: undo what it leaves behind."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch is not None else None
    try:
        yield
    finally:
        if num_workers == 1:
            forget()
            if torch is not None:
                torch.set_num_threads(threads)
