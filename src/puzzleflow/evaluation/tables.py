"""The tables of a report: a heading row and rows of text, for Markdown and HTML alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.intervals import Estimate
from puzzleflow.evaluation.published import METHODS, PUBLISHED, SUPPLEMENT, Published, published_of
from puzzleflow.evaluation.results import CLASSES, SHOWN, Comparison, Results, is_clear
from puzzleflow.files import write_json, write_text
from puzzleflow.pages import render

TABLES = {"jpwleg-3": "JPwLEG-3", "jpwleg-5": "JPwLEG-5"}  # our sets → the published columns
METRICS = ("AA", "PA")  # in the order of the supplement


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that the pages show.

    facts            what was run: data, split, puzzles, seed, machine, command
    published_table  a key of :data:`~puzzleflow.evaluation.published.PUBLISHED`, or None
    """

    facts: dict[str, str]
    results: Sequence[Results]
    comparisons: Sequence[Comparison]
    seed: int
    published_table: str | None = None
    estimates: dict[str, dict[str, Estimate]] = field(init=False)
    open_estimates: dict[str, dict[str, Estimate]] = field(init=False)

    def __post_init__(self) -> None:
        estimates = {
            results.solver: {metric: results.estimate(metric, seed=self.seed) for metric in SHOWN}
            for results in self.results
        }
        object.__setattr__(self, "estimates", estimates)
        found = {results.solver: results.open_estimates(seed=self.seed) for results in self.results}
        object.__setattr__(self, "open_estimates", found)

    @property
    def published(self) -> tuple[Published, ...]:
        return PUBLISHED[self.published_table] if self.published_table else ()


def accuracy_table(report: Report) -> list[list[str]]:
    """PA, AA and SRA with intervals; beside them what was published of a method on other data."""
    rows = [["solver", "puzzles", *(f"{metric} %" for metric in SHOWN)]]
    told = [published_of(results.solver, report.published) for results in report.results]
    if any(told):
        rows[0].append(f"published, other data ({' / '.join(SHOWN)})")
    for results, published in zip(report.results, told, strict=True):
        estimates = report.estimates[results.solver]
        row = [results.solver, str(len(results))]
        row += [interval_text(estimates[metric]) for metric in SHOWN]
        if any(told):
            figures = (published.pa, published.aa, published.sra) if published else ()
            row.append(" / ".join(_or_dash(value) for value in figures) or "–")
        rows.append(row)
    return rows


OPEN_NAMES = {
    "perfect_aligned": "PA aligned",
    "absolute_aligned": "AA aligned",
    "relations_aligned": "SRA aligned",
    "foreign_precision": "foreign precision",
    "foreign_recall": "foreign recall",
    "foreign_f1": "foreign F1",
    "foreign_auroc": "foreign AUROC",
    "grids": "grids found",
}


def open_name(metric: str) -> str:
    """How tables call a metric of ``core.open_metrics``."""
    if metric.startswith("accuracy_at_"):
        return f"right of the surest {metric.removeprefix('accuracy_at_')} %"
    return OPEN_NAMES[metric]


def open_table(report: Report) -> list[list[str]]:
    """What the open world adds to accuracy; empty for closed puzzles."""
    columns = list(dict.fromkeys(name for told in report.open_estimates.values() for name in told))
    if not columns:
        return []
    rows = [["solver", *(f"{open_name(name)} %" for name in columns)]]
    for results in report.results:
        told = report.open_estimates.get(results.solver, {})
        cells = [interval_text(told[name]) if name in told else "–" for name in columns]
        rows.append([results.solver, *cells])
    return rows


def failure_table(report: Report) -> list[list[str]]:
    """How many puzzles of each solver fall in each class."""
    rows = [["solver", *CLASSES]]
    for results in report.results:
        counts = results.class_counts().items()
        cells = [f"{count} ({100 * count / len(results):.1f} %)" for _, count in counts]
        rows.append([results.solver, *cells])
    return rows


def failure_lines(results: Sequence[Results]) -> list[str]:
    """One line per solver that left puzzles without an answer, with the first reason."""
    lines = []
    for result in results:
        refused = [record for record in result.records if record.position_of is None]
        if refused:
            lines.append(
                f"{result.solver} gave no answer to {len(refused)} of {len(result)} puzzles; "
                f"puzzle {refused[0].index}: {refused[0].refusal}"
            )
    return lines


def cost_table(report: Report) -> list[list[str]]:
    """Seconds and memory."""
    head = ["solver", "s/puzzle, median", "mean", "95th percentile", "MiB/puzzle, median"]
    rows = [[*head, "MiB, largest worker"]]
    for results in report.results:
        seconds = results.seconds
        taken = (np.median(seconds), seconds.mean(), np.percentile(seconds, 95))
        cells = [f"{value:.4g}" for value in taken]
        cells += [_or_dash(results.memory_mb()), _or_dash(results.worker_mb())]
        rows.append([results.solver, *cells])
    return rows


def comparison_table(report: Report) -> list[list[str]]:
    """Every pair of solvers on the same puzzles."""
    head = ["first", "second", *(f"Δ{metric}, points" for metric in SHOWN)]
    rows = [[*head, "solved by first only", "by second only", "McNemar p"]]
    for pair in report.comparisons:
        points = [delta_text(pair.differences[metric]) for metric in SHOWN]
        counts = [str(pair.only_first), str(pair.only_second), f"{pair.mcnemar_p:.3g}"]
        rows.append([pair.first, pair.second, *points, *counts])
    return rows


def published_table(report: Report) -> list[list[str]]:
    """What others published, with source and remark."""
    rows = [["published method", "PA %", "AA %", "SRA %", "source", "remark"]]
    for row in report.published:
        figures = [_or_dash(value) for value in (row.pa, row.aa, row.sra)]
        rows.append([row.method, *figures, row.source, row.note])
    return rows


def interval_text(estimate: Estimate, *, signed: bool = False) -> str:
    """``57.5 [52.3, 62.7]``."""
    sign = "+" if signed else ""
    return f"{estimate.value:{sign}.1f} [{estimate.low:{sign}.1f}, {estimate.high:{sign}.1f}]"


def delta_text(difference: Estimate) -> str:
    """A difference with its interval; * marks one without zero."""
    return interval_text(difference, signed=True) + (" *" if is_clear(difference) else "")


def markdown_table(rows: list[list[str]]) -> str:
    """A heading row and rows as Markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def validation_table(results: Mapping[str, Sequence[Results]]) -> list[list[str]]:
    """AA and PA on both sets: ours with intervals, then the published rows, marked as such."""
    rows = [["method", *(f"{TABLES[name]} {m} %" for name in TABLES for m in METRICS)]]
    for solver in _solvers(results):
        found = {name: _of(results.get(name, ()), solver) for name in TABLES}
        cells = [
            interval_text(one.estimate(metric)) if one is not None else "–"
            for one in found.values()
            for metric in METRICS
        ]
        rows.append([METHODS.get(solver, solver) + f" (`{solver}`)", *cells])
    for method in dict.fromkeys(row.method for row in _published()):
        figures = [
            value
            for table in TABLES.values()
            for row in [next((r for r in PUBLISHED[table] if r.method == method), None)]
            for value in ((row.aa, row.pa) if row is not None else (None, None))
        ]
        cells = ["–" if value is None else f"{value:.1f}" for value in figures]
        rows.append([f"*{method}, published, other data*", *cells])
    return rows


def write_validation(
    folder: Path, facts: Mapping[str, Any], results: Mapping[str, Sequence[Results]]
) -> list[Path]:
    """``jpwleg.md`` and ``jpwleg.json``."""
    paths = [folder / "jpwleg.md", folder / "jpwleg.json"]
    table = markdown_table(validation_table(results))
    write_text(paths[0], render("jpwleg.md", facts=facts, table=table, paper=SUPPLEMENT))
    figures = {
        name: {
            one.solver: {metric: asdict(one.estimate(metric)) for metric in ("PA", "AA", "SRA")}
            for one in found
        }
        for name, found in results.items()
    }
    write_json(paths[1], {"facts": dict(facts), "figures": figures})
    return paths


def _published() -> list[Published]:
    rows = [row for table in TABLES.values() for row in PUBLISHED[table]]
    return [row for row in rows if row.source == SUPPLEMENT]


def _solvers(results: Mapping[str, Sequence[Results]]) -> list[str]:
    return list(dict.fromkeys(one.solver for found in results.values() for one in found))


def _of(results: Sequence[Results], solver: str) -> Results | None:
    return next((one for one in results if one.solver == solver), None)
