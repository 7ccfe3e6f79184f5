"""Runs cases over solvers: one benchmark each, resumed puzzle by puzzle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.intervals import Estimate
from puzzleflow.evaluation.journal import Record
from puzzleflow.evaluation.limits.cases import Case, kept_share
from puzzleflow.evaluation.results import Results, Truth
from puzzleflow.evaluation.runner import Bench
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.evaluation.worker import Task, forget, solve_task

Progress = Callable[[str, int, int], None]  # stage, done, total
SAME = 1e-3  # confidences of the same solver on the same puzzle agree as far as this


@dataclass(frozen=True, eq=False)
class Outcome:
    """What every solver made of one case.

    kept  percent of a cell that the masks keep
    """

    case: Case
    truths: Sequence[Truth]
    results: Mapping[str, Results]
    kept: Estimate


def run_cases(
    cases: Sequence[Case],
    specs: Sequence[SolverSpec],
    work: Path,
    *,
    seed: int = 0,
    num_workers: int = 1,
    fresh: bool = False,
    on_progress: Progress = lambda stage, done, total: None,
) -> dict[str, Outcome]:
    """Outcomes by name of the case; results in ``work`` are kept and used again.

    Stopped at any moment, the next run goes on where it was. Before it does, each
    solver answers one known puzzle again: with other weights than those that
    the results came from it will differ, and results of two solvers never mix.
    """
    unchecked = set(specs)
    outcomes = {}
    for number, case in enumerate(cases, start=1):
        with case.open(work / case.name) as source:
            bench = Bench(source, specs, work / case.name, seed=seed)
            if number == 1:
                bench.check()
            if not fresh:
                unchecked -= {spec for spec in unchecked if _is_same(bench, spec)}
            stage = f"{number}/{len(cases)} {case.name}"
            total = len(specs) * bench.num_puzzles
            for done, _ in enumerate(bench.stream(num_workers=num_workers, fresh=fresh), start=1):
                on_progress(stage, done, total)
            results = {result.solver: result for result in bench.results()}
            outcomes[case.name] = Outcome(case, bench.truths, results, kept_share(source))
    return outcomes


def _is_same(bench: Bench, spec: SolverSpec) -> bool:
    """Whether a solver still gives a stored answer; False where none is stored yet."""
    journal = bench.journal(spec)
    stored = next(iter(journal.read()), None)
    if stored is None:
        return False
    task = Task(uuid4().hex, bench.source, spec, stored.index, bench.seed)
    try:
        _, again = solve_task(task)
    finally:
        forget()
    if not _agree(stored, again):
        raise InputError(
            f"{journal.path}: {spec.label} answers otherwise now (other weights, or another "
            "version); choose another folder or start over with --fresh"
        )
    return True


def _agree(stored: Record, again: Record) -> bool:
    if stored.position_of != again.position_of:
        return False
    if stored.confidence is None or again.confidence is None:
        return stored.confidence == again.confidence
    return bool(np.allclose(stored.confidence, again.confidence, rtol=0, atol=SAME))
