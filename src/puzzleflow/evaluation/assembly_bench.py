"""Several solvers over the same sets of free-form fragments: resumable, scored with intervals."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.assembly import Assembly
from puzzleflow.core.assembly_metrics import pair_recall, rightly_placed, score_assembly
from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.intervals import Estimate, bootstrap_mean
from puzzleflow.core.rng import child_seed
from puzzleflow.evaluation.calibration import bin_of
from puzzleflow.evaluation.runner import resumed
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.evaluation.tables import markdown_table
from puzzleflow.evaluation.worker import PeakMemory
from puzzleflow.files import write_json, write_text
from puzzleflow.journal import Journal
from puzzleflow.solvers.free_form.base import FreeFormSolver
from puzzleflow.solvers.free_form.registry import load_free_form_solver
from puzzleflow.storage.free_form.source import FragmentSource

SHOWN = ("neighbour_f1", "joined_f1", "q_pos", "right", "all_right", "foreign_f1", "recall_1",
         "recall_20", "ece")  # fmt: skip
RECALLS = (1, 20)


@dataclass(frozen=True)
class SetRecord:
    """What one solver did with one set.

    seconds      prepare and solve, wall clock; cpu_seconds of this process likewise. Pairs
                 that another solver of the run has compared already cost nothing.
    worker_mb    peak resident memory meanwhile, or None
    refusal      why there is no answer, or nothing
    scores       by name, those that are defined for the set
    sure, right  of every judged fragment of the largest component: confidence, and 1 if right
    """

    index: int
    name: str
    num_fragments: int
    seconds: float
    cpu_seconds: float
    worker_mb: float | None
    refusal: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    sure: tuple[float, ...] = ()
    right: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class AssemblyBench:
    """Which sets, which solvers, which seed, and where the journals lie."""

    source: FragmentSource
    specs: Sequence[SolverSpec]
    out: Path
    seed: int = 0
    limit: int | None = None

    @property
    def num_sets(self) -> int:
        """Sets that are run."""
        return len(self.source) if self.limit is None else min(len(self.source), self.limit)

    @cached_property
    def headings(self) -> dict[SolverSpec, dict[str, Any]]:
        """What the results of each solver depend on; unknown solvers are told here."""
        digest = blake2b(digest_size=12)
        for index in sorted({0, self.num_sets // 2, self.num_sets - 1}):
            fragments = self.source[index]
            if not fragments.placed.any():
                raise InputError(f"{fragments.name}: a benchmark needs sets with their truth")
            digest.update(repr((fragments.names, fragments.poses)).encode())
            digest.update(fragments.fragments[0].pixels.tobytes())
        told = {"seed": self.seed, "sets": len(self.source), "data": digest.hexdigest()}
        return {
            spec: {"solver": spec.label, **told, **spec.digests(_solver(spec))}
            for spec in self.specs
        }

    def journal(self, spec: SolverSpec) -> Journal[SetRecord]:
        """The file in which the results of one solver are kept."""
        path = self.out / "journal" / f"{spec.file_stem}.jsonl"
        return Journal(path, "assembly-bench", self.headings[spec], SetRecord)

    def stream(
        self, *, num_workers: int = 1, fresh: bool = False
    ) -> Iterator[tuple[SolverSpec, SetRecord]]:
        """Every record, those of earlier runs first; solves what the journals lack.

        See :func:`resumed`.
        """
        return resumed(
            self.out,
            {spec: self.journal(spec) for spec in self.specs},
            self.num_sets,
            lambda spec, index: Task(self.source, spec, index, self.seed, self.out),
            _solved,
            num_workers=num_workers,
            fresh=fresh,
            ahead=1,
        )

    def results(self) -> dict[str, list[SetRecord]]:
        """What the journals hold, by solver."""
        return {
            spec.label: [r for r in self.journal(spec).read() if r.index < self.num_sets]
            for spec in self.specs
        }


@dataclass(frozen=True)
class Task:
    """One set for one solver."""

    source: FragmentSource
    spec: SolverSpec
    index: int
    seed: int
    out: Path

    def pairs(self, solver: FreeFormSolver) -> Path | None:
        """Where candidates of pairs are kept: solvers that search alike share them."""
        search = getattr(solver, "search", None)
        if search is None:
            return None
        stem = blake2b(repr(search).encode(), digest_size=6).hexdigest()
        return self.out / "pairs" / stem / f"{self.index:05d}" / "candidates.jsonl"


@lru_cache(maxsize=4)
def _solver(spec: SolverSpec) -> FreeFormSolver:
    return load_free_form_solver(spec.name, **dict(spec.options))


def _solved(task: Task) -> tuple[SolverSpec, SetRecord]:
    """Solve one set without sight of its truth; a refusal or a crash is a result, too."""
    fragments = task.source[task.index]
    solver = _solver(task.spec)
    began, cpu = time.perf_counter(), time.process_time()
    answer: Assembly | None = None
    refusal, told = "", dict[str, float]()
    with PeakMemory() as memory:
        try:
            session = solver.prepare(fragments.without_truth(), journal=task.pairs(solver))
            answer = session.solve(seed=child_seed(task.seed, task.index))
        except CannotSolve as error:
            refusal = f"cannot solve: {error}"
        except Exception as error:  # a foreign solver may raise anything; the run goes on
            refusal = f"crashed: {type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - began, 3), round(time.process_time() - cpu, 3)
    sure: tuple[float, ...] = ()
    right: tuple[int, ...] = ()
    if answer is not None:
        told = score_assembly(fragments, answer).as_dict()
        if candidates := getattr(session, "candidates", ()):
            told |= {f"recall_{k}": pair_recall(fragments, candidates, k) for k in RECALLS}
        sure, right = _calibration(fragments, answer)
        told["ece"] = calibration_error(sure, right)
    scores = {name: float(value) for name, value in told.items() if np.isfinite(value)}
    return task.spec, SetRecord(
        task.index,
        task.source.names[task.index],
        len(fragments),
        *seconds,
        memory.process_mb,
        refusal,
        scores,
        sure,
        right,
    )


def _calibration(
    fragments: FragmentSet, answer: Assembly
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    placed = rightly_placed(fragments, answer)
    known = [i for i in placed if np.isfinite(answer.confidence[i])]
    return tuple(float(answer.confidence[i]) for i in known), tuple(int(placed[i]) for i in known)


def calibration_error(sure: Sequence[float], right: Sequence[int]) -> float:
    """Expected calibration error over ten bins; NaN without any fragment."""
    if not sure:
        return float("nan")
    away = np.bincount(bin_of(np.array(sure)), np.array(right) - np.array(sure))
    return float(np.abs(away).sum() / len(sure))


def estimates(records: Sequence[SetRecord], *, seed: int = 0) -> dict[str, Estimate]:
    """Means over sets with bootstrap intervals; ``ece`` is over all fragments at once."""
    means = {}
    for name in dict.fromkeys(name for record in records for name in record.scores):
        values = [record.scores[name] for record in records if name in record.scores]
        means[name] = bootstrap_mean(np.array(values), seed=seed)
    if "ece" in means:
        pooled = calibration_error(
            [s for r in records for s in r.sure], [s for r in records for s in r.right]
        )
        means["ece"] = Estimate(pooled, pooled, pooled)
    return means


def table(results: dict[str, list[SetRecord]], *, seed: int = 0) -> list[list[str]]:
    """A row a solver: means with intervals, seconds and memory."""
    rows = [["solver", "sets", *SHOWN, "no answer", "s", "CPU s", "MB"]]
    for label, records in results.items():
        means = estimates(records, seed=seed)
        cells = []
        for name in SHOWN:
            each = means.get(name)
            cells.append("–" if each is None else _interval(each))
        refused = sum(bool(record.refusal) for record in records)
        times = [
            f"{np.mean([getattr(r, key) for r in records]):.1f}" if records else "–"
            for key in ("seconds", "cpu_seconds")
        ]
        most = max((r.worker_mb or 0.0 for r in records), default=0.0)
        rows.append([label, str(len(records)), *cells, str(refused), *times, f"{most:.0f}"])
    return rows


def _interval(each: Estimate) -> str:
    return f"{each.value:.2f} [{each.low:.2f}, {each.high:.2f}]"


def write_assembly_report(bench: AssemblyBench) -> list[Path]:
    """``report.md`` and ``report.json`` in the folder of the benchmark."""
    results = bench.results()
    page, record = bench.out / "report.md", bench.out / "report.json"
    head = (
        f"# Free-form benchmark\n\n{bench.num_sets} sets of {bench.source.path}, seed "
        f"{bench.seed}. Means over sets with 95 % bootstrap intervals; docs/free-form.md says "
        "what is what.\n\n"
    )
    write_text(page, head + markdown_table(table(results, seed=bench.seed)) + "\n")
    write_json(
        record,
        {
            label: {
                "means": {k: asdict(v) for k, v in estimates(found, seed=bench.seed).items()},
                "sets": [asdict(each) for each in found],
            }
            for label, found in results.items()
        },
    )
    return [page, record]
