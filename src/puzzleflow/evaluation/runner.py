"""Several solvers over the same puzzles, in parallel, and resumable at any moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
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

    @cached_property
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

    @cached_property
    def fingerprint(self) -> str:
        return data_fingerprint(self.source)

    def journal(self, spec: SolverSpec) -> Journal:
        """The file in which the results of one solver are kept."""
        path = self.out / "journal" / f"{spec.file_stem}.jsonl"
        return Journal(path, Heading(spec.label, self.seed, self.fingerprint))

    def stream(
        self, *, num_workers: int = 1, fresh: bool = False
    ) -> Iterator[tuple[SolverSpec, Record]]:
        """Every record, those of earlier runs first; solves what the journals lack.

        A record is in its journal before it is handed out. Killed at any
        moment, the next run goes on where this one stopped; ``fresh`` starts over.
        """
        run = uuid4().hex
        with ExitStack() as stack:
            journals, tasks = {}, []
            for spec in self.specs:
                journal = self.journal(spec)
                if fresh:
                    _remove(journal.path)
                journals[spec] = stack.enter_context(journal)
                known = journal.read()
                for index in range(self.num_puzzles):
                    if index in known:
                        yield spec, known[index]
                    else:
                        tasks.append(Task(run, self.source, spec, index, self.seed))
            stack.callback(forget)  # one worker is this process
            for spec, record in bounded_map(solve_task, tasks, num_workers=num_workers, ahead=2):
                journals[spec].append(record)
                yield spec, record

    def run(self, *, num_workers: int = 1, fresh: bool = False) -> list[Results]:
        """Solve what is left, then score everything."""
        for _ in self.stream(num_workers=num_workers, fresh=fresh):
            pass
        return self.results()

    def results(self) -> list[Results]:
        """What the journals hold, scored, in the order of the solvers."""
        scored = []
        for spec in self.specs:
            known = self.journal(spec).read()
            records = [known[index] for index in range(self.num_puzzles) if index in known]
            scored.append(score_records(spec.label, records, self.truths))
        return scored


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
