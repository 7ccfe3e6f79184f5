"""Everything that a benchmark leaves behind: HTML, Markdown, JSON, CSV and contact sheets."""

from __future__ import annotations

import csv
import io
import os
import platform
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.evaluation import tables
from puzzleflow.evaluation.figures import case_sheet, pick_cases
from puzzleflow.evaluation.published import table_for
from puzzleflow.evaluation.results import CLASSES, SHOWN, Results, compare_all
from puzzleflow.evaluation.runner import Bench
from puzzleflow.evaluation.tables import Report
from puzzleflow.files import write_bytes, write_json, write_text
from puzzleflow.pages import render
from puzzleflow.pictures import encoded
from puzzleflow.solvers.registry import DEFAULT_SOLVER

MOST_REASONS = 5


@dataclass(frozen=True)
class Sheet:
    """Some layouts of a solver as WebP, and what each of them is, in their order."""

    solver: str
    kind: str
    webp: bytes
    captions: list[str]


def make_report(bench: Bench, results: Sequence[Results], *, num_workers: int | str) -> Report:
    """The report of finished results."""
    grids, conditions = {truth.grid for truth in bench.truths}, bench.truths[0].conditions
    facts = {
        "data": str(bench.source.path),
        "format": bench.source.kind,
        "split": bench.source.split or "–",
        "puzzles": f"{bench.num_puzzles} of {len(bench.source)}",
        "grid": ", ".join(str(grid) for grid in sorted(grids)),
        **({} if conditions.is_closed else {"conditions": str(conditions)}),
        "data digest": bench.fingerprint,
        "seed": str(bench.seed),
        "workers": str(num_workers),
        "machine": machine(),
        "puzzleflow": version("puzzleflow"),
    }
    pairs = compare_all(results, seed=bench.seed, reference=DEFAULT_SOLVER)
    published = table_for(grids, bench.source.kind) if conditions.is_closed else None
    return Report(facts, results, pairs, bench.seed, published)


def write_report(bench: Bench, report: Report) -> list[Path]:
    """Write ``bench.md``, ``.json``, ``.csv``, ``puzzles.csv``, ``index.html`` and sheets."""
    out, written, sheets = bench.out, [], []
    for spec, results in zip(bench.specs, report.results, strict=True):
        for kind, cases in pick_cases(results, seed=bench.seed).items():
            webp = encoded(case_sheet(bench.source, results, cases), "WEBP", quality=85)
            sheets.append(Sheet(spec.label, kind, webp, [case.caption for case in cases]))
            written.append(out / "sheets" / f"{spec.file_stem}-{kind}.webp")
            write_bytes(written[-1], webp)
    write_text(out / "bench.md", as_markdown(report))
    write_json(out / "bench.json", as_json(report))
    write_text(out / "bench.csv", _csv(summary_lines(report)))
    write_text(out / "puzzles.csv", _csv(puzzle_lines(report)))
    write_text(out / "index.html", as_html(report, sheets))
    names = ("index.html", "bench.md", "bench.json", "bench.csv", "puzzles.csv")
    return [*(out / name for name in names), *written]


def tables_of(report: Report) -> dict[str, list[list[str]]]:
    """What the pages show, in their order; ``templates/bench_parts.md`` says what they are."""
    reasons = refusals(report.results)
    found = {
        "accuracy": tables.accuracy_table(report),
        "open": tables.open_table(report),
        "refused": reasons and [["solver", "puzzles", "reason"], *reasons],
        "published": tables.published_table(report) if report.published_table else [],
        "failures": tables.failure_table(report),
        "comparison": tables.comparison_table(report) if report.comparisons else [],
        "cost": tables.cost_table(report),
    }
    return {name: rows for name, rows in found.items() if rows}


def as_markdown(report: Report) -> str:
    """The whole report as one Markdown page."""
    shown = tables_of(report)
    return render("bench.md", report=report, tables=shown, markdown=tables.markdown_table)


def as_html(report: Report, sheets: Sequence[Sheet]) -> str:
    """One page that needs nothing beside it: no script, no network."""
    cases: dict[str, list[Sheet]] = {}
    for sheet in sheets:
        cases.setdefault(sheet.solver, []).append(sheet)
    return render(
        "bench.html",
        report=report,
        tables=tables_of(report),
        cases=cases,
        metrics=list(SHOWN),
        classes=CLASSES,
    )


def refusals(results: Sequence[Results]) -> list[list[str]]:
    """Why puzzles have no answer: solver, how many of them, and each reason once."""
    rows = []
    for one in results:
        refused = [record.refusal for record in one.records if record.position_of is None]
        counts = sorted(Counter(refused).items(), key=lambda item: (-item[1], item[0]))
        for reason, count in counts[:MOST_REASONS]:
            rows.append([one.solver, f"{count} of {len(one)}", reason])
    return rows


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
        "metrics": {
            name: asdict(e)
            for name, e in (
                report.estimates[results.solver] | report.open_estimates[results.solver]
            ).items()
        },
        "failures": results.class_counts(),
        "no_answer": [
            f"{solver}, {count} puzzles: {reason}" for solver, count, reason in refusals([results])
        ],
        "seconds": {
            "median": float(np.median(seconds)),
            "mean": float(seconds.mean()),
            "p95": float(np.percentile(seconds, 95)),
        },
        "memory_mb": {"puzzle_median": results.memory_mb(), "worker_max": results.worker_mb()},
    }


def summary_lines(report: Report) -> list[dict[str, Any]]:
    """``bench.csv``: one line per solver."""
    lines = []
    for results in report.results:
        line: dict[str, Any] = {"solver": results.solver, "puzzles": len(results)}
        told = report.estimates[results.solver] | report.open_estimates[results.solver]
        for metric, estimate in told.items():
            for end, value in zip(("", "_low", "_high"), asdict(estimate).values(), strict=True):
                line[f"{metric.lower()}{end}"] = f"{value:.4f}"
        for name, count in results.class_counts().items():
            line[name.replace(" ", "_")] = count
        line["seconds_median"] = f"{np.median(results.seconds):.6f}"
        line["seconds_mean"] = f"{results.seconds.mean():.6f}"
        line["memory_mb_median"], line["worker_mb_max"] = results.memory_mb(), results.worker_mb()
        lines.append(line)
    return lines


def puzzle_lines(report: Report) -> list[dict[str, Any]]:
    """``puzzles.csv``: one line per solver and puzzle."""
    return [
        {
            "solver": results.solver,
            "index": record.index,
            "puzzle_id": record.puzzle_id,
            **{m.lower(): f"{results.shares[m][place]:.6f}" for m in SHOWN},
            "class": CLASSES[results.classes[place]],
            "seconds": record.seconds,
            "memory_mb": record.memory_mb,
        }
        for results in report.results
        for place, record in enumerate(results.records)
    ]


def machine() -> str:
    """Processor, cores and Python, in words."""
    name = platform.processor() or platform.machine()
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
        name = match[1].strip() if match else name
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _csv(lines: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    table = csv.DictWriter(stream, list(lines[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(lines)
    return stream.getvalue()
