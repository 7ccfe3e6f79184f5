"""The report as Markdown and JSON: every figure with its interval, every caveat beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from puzzleflow.core.intervals import Estimate, percent
from puzzleflow.evaluation.calibration import NUM_BINS, THRESHOLDS
from puzzleflow.evaluation.limits.conditions import SECTIONS
from puzzleflow.evaluation.limits.figures import draw_figures
from puzzleflow.evaluation.limits.measure import MEASURED, LimitsReport, Row
from puzzleflow.evaluation.tables import interval_text
from puzzleflow.files import write_json, write_text
from puzzleflow.pages import render

COLUMNS: dict[str, Callable[[Row], str]] = {
    "masks": lambda row: row.condition.series,
    "kept %": lambda row: interval_text(row.kept),
    "picture px": lambda row: f"{row.condition.content_px:.0f}",
}
"""What a section may show of a row beside its metrics."""


def write_limits(out: Path, report: LimitsReport) -> list[Path]:
    """``limits.md``, ``limits.json`` and ``images/limits-*.png`` in ``out``."""
    figures = draw_figures(out / "images", report)
    write_json(out / "limits.json", as_json(report))
    write_text(out / "limits.md", as_markdown(report, figures))
    pages = [out / "limits.md", out / "limits.json"]
    return [*pages, *(out / "images" / name for name in figures.values())]


def as_json(report: LimitsReport) -> dict[str, Any]:
    """Every figure; metrics in 0..100, confidences in 0..1."""
    return {
        "facts": dict(report.facts),
        "solvers": report.solvers,
        "rows": [
            {
                **{name: getattr(row.condition, name) for name in ("section", "series", "label")},
                "solver": row.solver,
                "grid": str(row.condition.request.grid),
                "num_puzzles": row.num_puzzles,
                "num_pictures": len(row.condition.pictures),
                "num_refused": row.num_refused,
                "kept": asdict(row.kept),
                "content_px": row.condition.content_px,
                "metrics": {name: asdict(value) for name, value in row.metrics.items()},
            }
            for row in report.rows
        ],
        "calibrations": [
            {"label": row.condition.label, "solver": row.solver, "what": what} | asdict(found)
            for row in report.sections.get("calibration", [])
            for what, found in row.calibrations.items()
        ],
    }


def as_markdown(report: LimitsReport, figures: Mapping[str, str]) -> str:
    """The whole page."""
    judged = report.sections.get("calibration", [])
    mine = {
        name: [row for row in report.sections.get(name, []) if row.solver == report.solvers[0]]
        for name in SECTIONS
    }
    return render(
        "limits.md",
        report=report,
        first=mine,
        silent=sorted({row.solver for row in judged if not row.calibrations}),
        sections=SECTIONS,
        figures={"calibration": ""} | dict(figures),
        columns=COLUMNS,
        metrics=MEASURED,
        num_bins=NUM_BINS,
        thresholds=THRESHOLDS,
        interval=interval_text,
        percent=_percent,
    )


def _percent(share: Estimate, *, signed: bool = False) -> str:
    return interval_text(percent(share), signed=signed)
