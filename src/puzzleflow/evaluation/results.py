"""What a solver did and reached on a set of puzzles, and whether two of them differ by luck."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.intervals import Estimate, bootstrap_mean, percent
from puzzleflow.core.metrics import Failure, score
from puzzleflow.core.open_facts import OpenFacts, open_answer
from puzzleflow.core.open_metrics import OpenAnswer, OpenScores, OpenTruth, score_open
from puzzleflow.core.puzzle import Layout
from puzzleflow.core.records import RARELY
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.storage.source import PuzzleSource

SHOWN = {"PA": "perfect", "AA": "absolute", "SRA": "relations"}
"""Column heads of the report and the metrics of ``core.metrics`` behind them."""

CLASSES = (*(kind.label for kind in Failure), "no answer")
NO_ANSWER = len(Failure)


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
    open         grid, turns and pieces aside where the puzzle is not closed, or None
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
    open: OpenFacts | None = field(default=None, metadata=RARELY)

    def __post_init__(self) -> None:
        if self.position_of is not None and self.open is None:
            as_permutation(self.position_of, len(self.position_of))

    @property
    def layout(self) -> Layout | None:
        """The whole layout, or None where the solver refused."""
        if self.position_of is None:
            return None
        if self.open is None:
            return Layout(np.array(self.position_of, dtype=np.int64))
        return self.open.layout(self.position_of)


@dataclass(frozen=True, eq=False)
class Truth(OpenTruth):
    """The truth of one puzzle and the positions that its protocol gives away."""

    given: tuple[int, ...] = ()


def read_truths(source: PuzzleSource, count: int) -> list[Truth]:
    """The truth of the first ``count`` puzzles, without reading pixels where possible."""
    shared, grid, turns = source.truths(), source.grid, source.turns()
    truths = []
    for index in range(count):
        given = tuple(sorted(source.pins(index).values()))
        if shared is not None and grid is not None:
            position_of = np.asarray(shared[index], dtype=np.int64)
            turned = None if turns is None else turns[index]
            truths.append(Truth(position_of, grid, source.conditions, turned, given))
            continue
        puzzle = source.read(index)
        if puzzle.truth is None:
            raise InputError(f"{source.path}: puzzle {index} has no truth")
        truths.append(Truth(puzzle.truth, puzzle.grid, puzzle.conditions, puzzle.true_turns, given))
    return truths


@dataclass(frozen=True, eq=False)
class Results:
    """One solver on M puzzles.

    records  in the order of the puzzles
    shares   PA, AA and SRA of every puzzle, (M,) in [0, 1]; a puzzle without
             an answer has nothing right
    classes  (M,) index into :data:`CLASSES`
    open     all metrics of the open world, where the puzzles are not closed
    """

    solver: str
    records: tuple[Record, ...]
    shares: dict[str, FloatArray]
    classes: IntArray
    open: OpenScores | None = None

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

    def open_estimates(self, *, seed: int = 0) -> dict[str, Estimate]:
        """In percent, what the open world adds to PA, AA and SRA; nothing for closed puzzles."""
        if self.open is None:
            return {}
        added = [metric for metric in self.open.metrics if metric not in SHOWN.values()]
        return {metric: percent(self.open.estimate(metric, seed=seed)) for metric in added}

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
    if any(not truths[record.index].conditions.is_closed for record in ordered):
        return _score_open(solver, ordered, truths)
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


def _score_open(solver: str, records: tuple[Record, ...], truths: Sequence[Truth]) -> Results:
    """Results of the open world; given positions count like any other."""
    answers: list[OpenAnswer | None] = []
    for record in records:
        layout, truth = record.layout, truths[record.index]
        if layout is None:
            answers.append(None)
            continue
        if len(layout.position_of) != len(truth.position_of):
            raise InputError(f"results of {solver} do not fit the puzzles they are scored on")
        aside = None if record.open is None else record.open.aside
        answers.append(open_answer(layout, truth.grid, aside, record.confidence))
    scores = score_open(answers, [truths[record.index] for record in records])
    shares = {metric: scores.per_puzzle(name) for metric, name in SHOWN.items()}
    refused = np.array([record.position_of is None for record in records])
    return Results(solver, records, shares, np.where(refused, NO_ANSWER, scores.failure), scores)


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two solvers.

    differences              first − second in points, by metric, with 95 % intervals
    only_first, only_second  puzzles that one solved and the other did not
    mcnemar_p                exact two-sided p of these two counts if both were equally good
    """

    first: str
    second: str
    num_puzzles: int
    differences: dict[str, Estimate]
    only_first: int
    only_second: int
    mcnemar_p: float


def compare(first: Results, second: Results, *, seed: int = 0) -> Comparison:
    """Paired comparison; both must be results of the same puzzles."""
    if first.indices != second.indices:
        raise ValueError("a paired comparison needs the same puzzles on both sides")
    differences = {
        metric: bootstrap_mean(100 * (first.shares[metric] - second.shares[metric]), seed=seed)
        for metric in SHOWN
    }
    first_solved, second_solved = first.shares["PA"] == 1, second.shares["PA"] == 1
    only_first = int((first_solved & ~second_solved).sum())
    only_second = int((second_solved & ~first_solved).sum())
    return Comparison(
        first.solver,
        second.solver,
        len(first),
        differences,
        only_first,
        only_second,
        mcnemar_p(only_first, only_second),
    )


MOST_PAIRED = 4  # solvers of which every pair is compared


def compare_all(
    results: Sequence[Results], *, seed: int = 0, reference: str = ""
) -> list[Comparison]:
    """Every pair once, in the order given; of many solvers each with ``reference``."""
    against = [result for result in results if result.solver == reference]
    if len(results) > MOST_PAIRED and against:
        others = (result for result in results if result.solver != reference)
        return [compare(other, against[0], seed=seed) for other in others]
    return [
        compare(first, second, seed=seed)
        for place, first in enumerate(results)
        for second in results[place + 1 :]
    ]


def is_clear(difference: Estimate) -> bool:
    """The interval leaves out zero."""
    return difference.low > 0 or difference.high < 0


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar test: a fair coin for every puzzle on which the two differ."""
    from scipy.stats import binomtest

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0
