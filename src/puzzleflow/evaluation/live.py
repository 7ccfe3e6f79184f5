"""Where a running benchmark stands: means so far, and how long it may still take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from puzzleflow.evaluation.results import SHOWN, Record, Truth, score_records


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
