"""The report of a benchmark as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from puzzleflow.evaluation.results import CLASSES, SHOWN, Results
from puzzleflow.evaluation.tables import (
    Report,
    accuracy_table,
    comparison_table,
    cost_table,
    failure_table,
    markdown_table,
    published_table,
)

OTHER_DATA = (
    "Published figures of {table}. **Other data**: these rows were measured by their authors on "
    "the original {table} test set (single runs, no intervals), ours above on the puzzles of "
    "this run. They give orientation; they are not a comparison."
)
INTERVAL_NOTE = (
    "In brackets: 95 % bootstrap intervals over puzzles. Where all puzzles agree (none solved, "
    "all solved) the interval shrinks to a point and says nothing about puzzles not seen."
)
NO_ANSWER_NOTE = "A puzzle that a solver refused or crashed on counts as nothing right."


COMPARISON_NOTE = (
    "First minus second on the same puzzles, with 95 % intervals of the paired difference; "
    "* marks an interval without zero. McNemar's exact test asks whether the puzzles that only "
    "one of the two solved could be the toss of a coin."
)
COST_NOTE = (
    "Wall-clock seconds of prepare and solve in one thread, without loading the solver; memory "
    "that a puzzle needed on top of what its worker held (measured on the first puzzles of each "
    "worker), and the largest worker in all. Other processes on the machine make times longer, "
    "never shorter."
)


def as_markdown(report: Report) -> str:
    """The whole report as one Markdown page."""
    parts = ["# Benchmark", _facts(report.facts)]
    parts += ["## Accuracy", INTERVAL_NOTE]
    parts += [markdown_table(accuracy_table(report))]
    refused = [results for results in report.results if results.num_refused]
    if refused:
        parts.append(NO_ANSWER_NOTE)
        parts.append("\n".join(f"- {line}" for line in refusal_lines(refused)))
    if report.published_table:
        parts += ["## Published", OTHER_DATA.format(table=report.published_table)]
        parts += [markdown_table(published_table(report))]
    parts += ["## How layouts fail", markdown_table(failure_table(report))]
    if report.comparisons:
        parts += ["## Paired comparison", COMPARISON_NOTE]
        parts += [markdown_table(comparison_table(report))]
    parts += ["## Cost", COST_NOTE, markdown_table(cost_table(report))]
    return "\n\n".join(parts) + "\n"


def refusal_lines(refused: Sequence[Results]) -> list[str]:
    """Why puzzles have no answer, each reason once."""
    lines = []
    for results in refused:
        reasons: dict[str, int] = {}
        for record in results.records:
            if record.position_of is None:
                reasons[record.refusal] = reasons.get(record.refusal, 0) + 1
        for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:5]:
            lines.append(f"{results.solver}, {count} of {len(results)} puzzles: {reason}")
    return lines


def as_json(report: Report) -> dict[str, Any]:
    """Every figure of the report; percentages in 0..100."""
    return {
        "facts": report.facts,
        "solvers": [_solver_json(report, results) for results in report.results],
        "comparisons": [
            asdict(comparison) | {"unit": "points, first minus second"}
            for comparison in report.comparisons
        ],
        "published": {
            "table": report.published_table,
            "other_data": True,
            "rows": [asdict(row) for row in report.published],
        },
    }


def _solver_json(report: Report, results: Results) -> dict[str, Any]:
    seconds = results.seconds
    return {
        "solver": results.solver,
        "puzzles": len(results),
        "metrics": {name: asdict(e) for name, e in report.estimates[results.solver].items()},
        "failures": results.class_counts(),
        "no_answer": refusal_lines([results]),
        "seconds": {
            "median": float(np.median(seconds)),
            "mean": float(seconds.mean()),
            "p95": float(np.percentile(seconds, 95)),
        },
        "memory_mb": {"puzzle_median": results.memory_mb(), "worker_max": results.worker_mb()},
    }


def summary_csv(report: Report) -> str:
    """One line per solver."""
    bounds = [f"{m.lower()}{end}" for m in SHOWN for end in ("", "_low", "_high")]
    classes = [name.replace(" ", "_") for name in CLASSES]
    head = ["solver", "puzzles", *bounds, *classes, "seconds_median", "seconds_mean"]
    lines: list[list[Any]] = [[*head, "memory_mb_median", "worker_mb_max"]]
    for results in report.results:
        numbers: list[Any] = []
        for metric in SHOWN:
            estimate = report.estimates[results.solver][metric]
            numbers += [f"{v:.4f}" for v in (estimate.value, estimate.low, estimate.high)]
        numbers += results.class_counts().values()
        numbers += [f"{np.median(results.seconds):.6f}", f"{results.seconds.mean():.6f}"]
        numbers += [results.memory_mb(), results.worker_mb()]
        lines.append([results.solver, len(results), *numbers])
    return _csv(lines)


def puzzles_csv(report: Report) -> str:
    """One line per solver and puzzle."""
    lines: list[list[Any]] = [
        ["solver", "index", "puzzle_id", "pa", "aa", "sra", "class", "seconds", "memory_mb"]
    ]
    for results in report.results:
        for place, record in enumerate(results.records):
            lines.append(
                [
                    results.solver,
                    record.index,
                    record.puzzle_id,
                    *(f"{results.shares[metric][place]:.6f}" for metric in SHOWN),
                    CLASSES[results.classes[place]],
                    record.seconds,
                    record.memory_mb,
                ]
            )
    return _csv(lines)


def _csv(lines: list[list[Any]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()


def _facts(facts: dict[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())
