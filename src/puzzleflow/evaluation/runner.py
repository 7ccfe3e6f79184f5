"""Several solvers over the same puzzles, in parallel, resumable at any moment, with a forecast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.evaluation.results import SHOWN, Record, Results, Truth, read_truths, score_records
from puzzleflow.evaluation.spec import MADE_WITH, SolverSpec
from puzzleflow.evaluation.worker import Task, forget, solve_task
from puzzleflow.files import writing
from puzzleflow.journal import Journal
from puzzleflow.lock import locked
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
    threads: int = 1

    @property
    def num_puzzles(self) -> int:
        size = len(self.source)
        return size if self.limit is None else min(size, self.limit)

    def check(self) -> None:
        """Say now what would go wrong later: no puzzles, no truth, unknown solvers."""
        if self.limit is not None and self.limit < 1:
            raise InputError(f"a limit of {self.limit} puzzles; expected at least 1")
        if self.num_puzzles == 0:
            raise InputError(f"{self.source.path}: holds no puzzles")
        if not self.source.has_truth:
            raise InputError(f"{self.source.path}: a benchmark needs puzzles with their truth")
        for spec in self.specs:
            spec.load()

    @cached_property
    def truths(self) -> list[Truth]:
        """The truth of every puzzle that is run."""
        return read_truths(self.source, self.num_puzzles)

    @cached_property
    def fingerprint(self) -> str:
        return data_fingerprint(self.source)

    @cached_property
    def digests(self) -> dict[SolverSpec, dict[str, str]]:
        return {spec: spec.digests() for spec in self.specs}

    def journal(self, spec: SolverSpec) -> Journal[Record]:
        """The file in which the results of one solver are kept."""
        path = self.out / "journal" / f"{spec.file_stem}.jsonl"
        heading = {"solver": spec.label, "seed": self.seed, "data": self.fingerprint}
        return Journal(path, "bench", heading | self.digests[spec], Record)

    def outdated(self) -> dict[str, str]:
        """Solvers whose stored results were made otherwise, and what has changed since.

        :meth:`stream` runs them again.
        """
        changes = {spec.label: self.journal(spec).changes() for spec in self.specs}
        return {
            label: " and ".join(sorted(changed))
            for label, changed in changes.items()
            if changed and changed <= MADE_WITH
        }

    def _by_index(self, records: Iterable[Record]) -> dict[int, Record]:
        """The results of puzzles that are run, in their order."""
        found = {record.index: record for record in records}
        return {index: found[index] for index in range(self.num_puzzles) if index in found}

    def stream(
        self, *, num_workers: int = 1, fresh: bool = False
    ) -> Iterator[tuple[SolverSpec, Record]]:
        """Every record, those of earlier runs first; solves what the journals lack.

        See :func:`resumed`.
        """
        run = uuid4().hex
        try:
            yield from resumed(
                self.out,
                {spec: self.journal(spec) for spec in self.specs},
                self.num_puzzles,
                lambda spec, i: Task(run, self.source, spec, i, self.seed, self.threads),
                solve_task,
                num_workers=num_workers,
                fresh=fresh,
                ahead=2,
            )
        finally:
            forget()  # one worker is this process

    def run(self, *, num_workers: int = 1, fresh: bool = False) -> list[Results]:
        """Solve what is left, then score everything."""
        for _ in self.stream(num_workers=num_workers, fresh=fresh):
            pass
        return self.results()

    def results(self) -> list[Results]:
        """What the journals hold, scored, in the order of the solvers."""
        return [
            score_records(
                spec.label, self._by_index(self.journal(spec).read()).values(), self.truths
            )
            for spec in self.specs
        ]


def resumed(
    out: Path,
    journals: Mapping[SolverSpec, Journal[Any]],
    count: int,
    task: Callable[[SolverSpec, int], Any],
    solve: Callable[[Any], tuple[SolverSpec, Any]],
    *,
    num_workers: int,
    fresh: bool,
    ahead: int,
) -> Iterator[tuple[SolverSpec, Any]]:
    """The lines of ``count`` puzzles or sets by every solver, those of earlier runs first.

    What the journals lack is solved. A line is in its journal before it is handed out. Killed at
    any moment, the next run goes on where this one stopped; ``fresh`` starts over, and so does a
    solver whose code or weights have changed. The folder is held for this process meanwhile.
    """
    with ExitStack() as stack:
        stack.enter_context(locked(out))
        tasks = []
        for spec, journal in journals.items():
            changed = journal.changes()
            if fresh or (changed and changed <= MADE_WITH):
                with writing(journal.path):
                    journal.path.unlink(missing_ok=True)
            stack.enter_context(journal)
            known = {line.index: line for line in journal.entries}
            for index in range(count):
                if index in known:
                    yield spec, known[index]
                else:
                    tasks.append(task(spec, index))
        for spec, line in bounded_map(solve, tasks, num_workers=num_workers, ahead=ahead):
            journals[spec].append(line)
            yield spec, line


def data_fingerprint(source: PuzzleSource) -> str:
    """A digest of the size of a set and of three of its puzzles, truth included."""
    digest = blake2b(digest_size=12)
    size = len(source)
    digest.update(str(size).encode())
    for index in sorted({0, size // 2, size - 1}) if size else []:
        puzzle = source.read(index)
        digest.update(repr((puzzle.known_grid, puzzle.pieces.shape, source.pins(index))).encode())
        if not puzzle.conditions.is_closed:
            digest.update(repr((puzzle.conditions, puzzle.true_turns)).encode())
        digest.update(np.ascontiguousarray(puzzle.pieces).tobytes())
        if puzzle.truth is not None:
            digest.update(puzzle.truth.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Standing:
    """One solver's line; PA, AA and SRA in percent over the puzzles done so far."""

    solver: str
    done: int
    total: int
    pa: float
    aa: float
    sra: float
    seconds: float
    left_s: float | None
    failed: int = 0


class Standings:
    """Sums that are updated record by record; constant work for each."""

    def __init__(
        self,
        solvers: Sequence[str],
        truths: Sequence[Truth],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._truths = truths
        self._clock = clock
        self._sums = {solver: dict.fromkeys((*SHOWN, "seconds"), 0.0) for solver in solvers}
        self._done = dict.fromkeys(solvers, 0)
        self._failed = dict.fromkeys(solvers, 0)
        self._started: dict[str, tuple[float, int]] = {}

    def add(self, solver: str, record: Record) -> None:
        """Count one result."""
        results = score_records(solver, [record], self._truths)
        for metric in SHOWN:
            self._sums[solver][metric] += 100 * float(results.shares[metric][0])
        self._sums[solver]["seconds"] += record.seconds
        self._done[solver] += 1
        self._failed[solver] += results.num_refused
        self._started.setdefault(solver, (self._clock(), self._done[solver]))

    def rows(self) -> list[Standing]:
        """One line per solver, in the order given."""
        return [self._row(solver) for solver in self._sums]

    def _row(self, solver: str) -> Standing:
        done, total = self._done[solver], len(self._truths)
        sums = self._sums[solver]
        pa, aa, sra, seconds = (sums[name] / max(1, done) for name in (*SHOWN, "seconds"))
        left_s, failed = self._left_s(solver), self._failed[solver]
        return Standing(solver, done, total, pa, aa, sra, seconds, left_s, failed)

    def _left_s(self, solver: str) -> float | None:
        """Rate since the first record of this run, applied to what is left."""
        done, total = self._done[solver], len(self._truths)
        if done == total:
            return 0.0
        if solver not in self._started:
            return None
        start, done_before = self._started[solver]
        fresh = done - done_before
        if fresh == 0:
            return None
        return (self._clock() - start) / fresh * (total - done)
