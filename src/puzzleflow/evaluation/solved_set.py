"""One solver over a set of puzzles: in batches, over processes, resumed after a kill.

Puzzles are taken in blocks of neighbours. A solver that can encode several puzzles at
once is given those of a block that share grid and piece size, and the same ones however
often the run was stopped: the numbers come out the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import numpy as np

from puzzleflow.core.errors import InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_seed
from puzzleflow.evaluation.results import Record, Results, read_truths, score_records
from puzzleflow.evaluation.runner import data_fingerprint
from puzzleflow.evaluation.solved_puzzle import layout_path, write_solution
from puzzleflow.evaluation.spec import MADE_WITH, SolverSpec
from puzzleflow.evaluation.worker import checked, forget, load_here, open_here
from puzzleflow.files import writing
from puzzleflow.journal import Journal
from puzzleflow.lock import locked
from puzzleflow.parallel import available_cores, bounded_map
from puzzleflow.solvers.base import Session, Solver, seen
from puzzleflow.storage.predictions import write_predictions
from puzzleflow.storage.solutions import KIND, SOLUTIONS, Solved, open_arrays
from puzzleflow.storage.source import PuzzleSource

PREDICTIONS = "predictions.npz"
BLOCK = 8  # puzzles that one task takes together
PIECES_AT_ONCE = 100  # encoded in one batch; more gain nothing on a processor

Progress = Callable[[str, int, int], None]  # stage, done, total


@dataclass(frozen=True, eq=False)
class SolvedSet:
    """Which puzzles, which solver, which seed, and the folder of the results.

    alternatives  whole layouts to list for each puzzle
    pictures      also write the files of every puzzle
    animation     ".webp" or ".gif": also how each came about
    """

    source: PuzzleSource
    spec: SolverSpec
    out: Path
    seed: int = 0
    limit: int | None = None
    alternatives: int = 0
    pictures: bool = False
    animation: str | None = None
    threads: int = 1

    @property
    def num_puzzles(self) -> int:
        return len(range(len(self.source))[: self.limit])

    @property
    def path(self) -> Path:
        return self.out / SOLUTIONS

    @cached_property
    def heading(self) -> dict[str, str | int]:
        return {
            "solver": self.spec.label,
            "seed": self.seed,
            "alternatives": self.alternatives,
            "data": data_fingerprint(self.source),
            **self.spec.digests(),
        }

    def journal(self) -> Journal[Solved]:
        """The file of the solutions, which is the memory of the run."""
        return Journal(self.path, KIND, self.heading, Solved)

    def outdated(self) -> set[str]:
        """What of the solver, code or weights, has changed since; :meth:`run` starts over.

        Everything else that differs is another run, which is refused.
        """
        changes = self.journal().changes()
        return changes if changes <= MADE_WITH else set()

    def run(
        self,
        *,
        num_workers: int = 1,
        fresh: bool = False,
        on_progress: Progress = lambda stage, done, total: None,
    ) -> list[Solved]:
        """Solve what is left and write ``solutions.jsonl`` and ``predictions.npz``.

        A puzzle is in the first file before it counts as done. Puzzles that differ in
        grid have no common array, and no ``predictions.npz``.
        """
        if not self.num_puzzles:
            raise InputError(f"{self.source.path}: holds no puzzles")
        chosen = range(self.num_puzzles)
        with locked(self.out):
            if fresh or self.outdated():
                for path in (self.path, self.out / PREDICTIONS):
                    with writing(path):
                        path.unlink(missing_ok=True)
            with self.journal() as journal:
                known = {one.index: one for one in journal.entries if one.index in chosen}
                blocks = list(self._blocks(known))
                cores = available_cores() if num_workers == -1 else num_workers
                on_progress("solve", len(known), self.num_puzzles)
                try:
                    workers = min(cores, max(1, len(blocks)))
                    for lines in bounded_map(solve_block, blocks, num_workers=workers, ahead=2):
                        for one in lines:
                            if one.index not in known:
                                journal.append(one)
                                known[one.index] = one
                        on_progress("solve", len(known), self.num_puzzles)
                finally:
                    forget()  # one worker is this process
            solved = [known[index] for index in chosen]
            self._write_predictions(solved)
        return solved

    def results(self, solved: Sequence[Solved]) -> Results | None:
        """The solutions scored, where the truth is known."""
        if not self.source.has_truth:
            return None
        records = [
            Record(index, one.id, one.layout, 0.0, confidence=one.sure, open=one.open)
            for index, one in enumerate(solved)
        ]
        return score_records(self.spec.label, records, read_truths(self.source, len(solved)))

    def _blocks(self, known: Mapping[int | None, Solved]) -> Iterator[Block]:
        run = uuid4().hex
        for start in range(0, self.num_puzzles, BLOCK):
            block = range(start, min(start + BLOCK, len(self.source)))
            wanted = tuple(
                index
                for index in block[: self.num_puzzles - start]
                if index not in known or self._lacks_pictures(known[index], index)
            )
            if wanted:
                yield Block(run, self, block, wanted)

    def _lacks_pictures(self, solved: Solved, index: int) -> bool:
        return self.pictures and not layout_path(self.out, solved.id, index).exists()

    def _write_predictions(self, solved: Sequence[Solved]) -> None:
        if self.source.grid is None:
            return
        truths = self.source.truths()
        write_predictions(
            self.out / PREDICTIONS,
            np.stack([one.position_of for one in solved]),
            targets=None if truths is None else truths[: len(solved)],
            grid=self.source.grid,
            info={
                "dataset": self.source.path.name,
                "split": self.source.split,
                "model_type": self.spec.label,
            },
            told=None if self.source.conditions.is_closed else open_arrays(solved),
        )


@dataclass(frozen=True, eq=False)
class Block:
    """Neighbouring puzzles, of which the wanted ones are solved."""

    run: str
    settings: SolvedSet
    indices: range
    wanted: tuple[int, ...]


def solve_block(block: Block) -> list[Solved]:
    """The lines of the wanted puzzles, in order; runs in a worker process."""
    asked = block.settings
    source = open_here(block.run, asked.source)
    solver = load_here(asked.spec, asked.threads)
    records = []
    for index, puzzle, session in _sessions(solver, source, block):
        pinned = source.pins(index)
        with naming(f"{source.path}, puzzle {index}"):
            answer = session.solve(
                seed=child_seed(asked.seed, index),
                pinned=pinned or None,
                num_alternatives=asked.alternatives,
            )
            solution = checked(answer, puzzle)
        if asked.pictures:
            write_solution(
                asked.out, index, puzzle, solution, frozenset(pinned), animation=asked.animation
            )
        records.append(Solved.of(index, puzzle, solution))
    return records


def _sessions(
    solver: Solver, source: PuzzleSource, block: Block
) -> Iterator[tuple[int, Puzzle, Session]]:
    """The wanted puzzles with their sessions, prepared together where the solver can."""
    prepare_many = getattr(solver, "prepare_many", None)
    if prepare_many is None or not source.conditions.is_closed:
        for index in block.wanted:
            puzzle = seen(source.read(index))
            with naming(f"{source.path}, puzzle {index}"):
                session = solver.prepare(puzzle)
            yield index, puzzle, session
        return
    puzzles = {index: seen(source.read(index)) for index in block.indices}
    alike: dict[tuple[Grid, tuple[int, int]], list[int]] = {}
    for index, puzzle in puzzles.items():
        alike.setdefault((puzzle.grid, puzzle.piece_px), []).append(index)
    sessions: dict[int, Session] = {}
    for (grid, _), indices in alike.items():
        size = max(1, PIECES_AT_ONCE // grid.num_pieces)
        for batch in (indices[at : at + size] for at in range(0, len(indices), size)):
            if not set(batch).isdisjoint(block.wanted):
                with naming(f"{source.path}, puzzles {batch[0]} to {batch[-1]}"):
                    sessions |= zip(batch, prepare_many([puzzles[i] for i in batch]), strict=True)
    for index in block.wanted:
        yield index, puzzles[index], sessions[index]
