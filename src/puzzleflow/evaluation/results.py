"""What a solver reached on a set of puzzles, puzzle by puzzle and in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.failures import Failure
from puzzleflow.core.grid import Grid
from puzzleflow.core.intervals import Estimate, bootstrap_mean
from puzzleflow.core.metrics import score
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.evaluation.journal import Record
from puzzleflow.storage.source import PuzzleSource

SHOWN = {"PA": "perfect", "AA": "absolute", "SRA": "relations"}
"""Column heads of the report and the metrics of ``core.metrics`` behind them."""

CLASSES = (*(kind.label for kind in Failure), "no answer")
NO_ANSWER = len(Failure)


@dataclass(frozen=True, eq=False)
class Truth:
    """The truth of one puzzle and the positions that its protocol gives away."""

    position_of: IntArray
    grid: Grid
    given: tuple[int, ...] = ()


def read_truths(source: PuzzleSource, count: int) -> list[Truth]:
    """The truth of the first ``count`` puzzles, without reading pixels where possible."""
    shared, grid = source.truths(), source.grid
    truths = []
    for index in range(count):
        if shared is not None and grid is not None:
            position_of, puzzle_grid = np.asarray(shared[index], dtype=np.int64), grid
        else:
            puzzle = source.read(index)
            if puzzle.truth is None:
                raise InputError(f"{source.path}: puzzle {index} has no truth")
            position_of, puzzle_grid = puzzle.truth, puzzle.grid
        truths.append(Truth(position_of, puzzle_grid, tuple(sorted(source.pins(index).values()))))
    return truths


@dataclass(frozen=True, eq=False)
class Results:
    """One solver on M puzzles.

    records  in the order of the puzzles
    shares   PA, AA and SRA of every puzzle, (M,) in [0, 1]; a puzzle without
             an answer has nothing right
    classes  (M,) index into :data:`CLASSES`
    """

    solver: str
    records: tuple[Record, ...]
    shares: dict[str, FloatArray]
    classes: IntArray

    def __len__(self) -> int:
        return len(self.records)

    @property
    def indices(self) -> list[int]:
        return [record.index for record in self.records]

    @property
    def num_refused(self) -> int:
        return int((self.classes == NO_ANSWER).sum())

    def estimate(self, metric: str, *, seed: int = 0) -> Estimate:
        """PA, AA or SRA in percent with its 95 % bootstrap interval over puzzles."""
        return bootstrap_mean(100 * self.shares[metric], seed=seed)

    def class_counts(self) -> dict[str, int]:
        counts = np.bincount(self.classes, minlength=len(CLASSES))
        return dict(zip(CLASSES, counts.tolist(), strict=True))

    @property
    def seconds(self) -> FloatArray:
        return np.array([record.seconds for record in self.records])

    def memory_mb(self) -> float | None:
        """Median memory of one puzzle above what the worker held, or None if unknown."""
        return _median([record.memory_mb for record in self.records])

    def worker_mb(self) -> float | None:
        """Largest resident memory of a worker, or None if unknown."""
        known = [record.worker_mb for record in self.records if record.worker_mb is not None]
        return max(known) if known else None


def score_records(solver: str, records: Iterable[Record], truths: Sequence[Truth]) -> Results:
    """Score the records of one solver; ``truths[i]`` belongs to puzzle index i."""
    ordered = tuple(sorted(records, key=lambda record: record.index))
    shares: dict[str, FloatArray] = {metric: np.zeros(len(ordered)) for metric in SHOWN}
    classes = np.full(len(ordered), NO_ANSWER, dtype=np.int64)
    groups: dict[tuple[Grid, tuple[int, ...]], list[int]] = {}
    for place, record in enumerate(ordered):
        truth = truths[record.index]
        if record.position_of is not None:
            groups.setdefault((truth.grid, truth.given), []).append(place)
    for (grid, given), places in groups.items():
        predicted = [ordered[place].position_of for place in places]
        if any(len(layout or ()) != grid.num_pieces for layout in predicted):
            raise InputError(
                f"results of {solver} do not fit the {grid} puzzles they are scored on"
            )
        scores = score(
            np.array(predicted),
            np.stack([truths[ordered[place].index].position_of for place in places]),
            grid,
            given=given,
        )
        for metric, name in SHOWN.items():
            shares[metric][places] = scores.per_puzzle(name)
        classes[places] = scores.failure
    return Results(solver, ordered, shares, classes)


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
