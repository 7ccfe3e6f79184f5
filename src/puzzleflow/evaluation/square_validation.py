"""The supplement's validation on square pieces: solvers on sets like JPwLEG, one table for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from puzzleflow.evaluation.published import METHODS, PUBLISHED, SUPPLEMENT, Published
from puzzleflow.evaluation.results import Results
from puzzleflow.evaluation.tables import interval_text, markdown_table
from puzzleflow.files import write_json, write_text
from puzzleflow.pages import render

TABLES = {"jpwleg-3": "JPwLEG-3", "jpwleg-5": "JPwLEG-5"}  # our sets → the published columns
METRICS = ("AA", "PA")  # in the order of the supplement


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
