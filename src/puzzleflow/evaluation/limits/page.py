"""The report as Markdown, JSON and curves: every figure with its interval, caveats beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from puzzleflow.core.intervals import Estimate, percent
from puzzleflow.evaluation import charts
from puzzleflow.evaluation.calibration import NUM_BINS, THRESHOLDS, Calibration
from puzzleflow.evaluation.limits.conditions import AS_MADE, PAPER_KEPT, SECTIONS
from puzzleflow.evaluation.limits.measure import MEASURED, LimitsReport, Row
from puzzleflow.evaluation.tables import interval_text
from puzzleflow.files import write_json, write_text
from puzzleflow.pages import render

APART = 3.0  # percent of a cell; marks nearer than this share one line
COLUMNS: dict[str, Callable[[Row], str]] = {
    "masks": lambda row: row.condition.series,
    "kept %": lambda row: interval_text(row.kept),
    "picture px": lambda row: f"{row.condition.content_px:.0f}",
}
"""What a section may show of a row beside its metrics."""


def draw_figures(folder: Path, report: LimitsReport) -> dict[str, str]:
    """Write the figures that there are points for; figure → its file name."""
    names: dict[str, str] = {}
    for section, rows in report.sections.items():
        if SECTIONS[section].chart:
            names[section] = f"limits-{section}.png"
            _draw_metrics(folder / names[section], rows, report.solvers)
        elif any(row.calibrations for row in rows):
            for name, claims in {"calibration": "seams", "coverage": "puzzles"}.items():
                names[name] = f"limits-{name}.png"
                _draw_claims(folder / names[name], rows, report.solvers, ("pieces", claims))
    return names


def _draw_metrics(path: Path, rows: Sequence[Row], solvers: Sequence[str]) -> None:
    """A panel for every metric; over the share of a cell kept, gaps grow to the right."""
    section = SECTIONS[rows[0].condition.section]
    over_kept = section.chart == "kept"
    labels = list(dict.fromkeys(row.condition.label for row in rows))
    series = dict.fromkeys(row.condition.series for row in rows)
    marked = _marked([row.kept.value for row in rows if row.condition.label == AS_MADE])
    figure, axes = charts.empty_chart(1, len(MEASURED), (3.5 * len(MEASURED), 3.9))
    for axis, metric in zip(axes.flat, MEASURED, strict=True):
        for number, (solver, colour) in enumerate(charts.coloured(solvers)):
            aside = 0.3 * (number / len(solvers) - 0.5)
            for name, line in zip(series, charts.LINES, strict=False):
                found = [r for r in rows if (r.solver, r.condition.series) == (solver, name)]
                x = [
                    row.kept.value if over_kept else labels.index(row.condition.label) + aside
                    for row in found
                ]
                points = [
                    (x[k], r.metrics[metric]) for k, r in enumerate(found) if metric in r.metrics
                ]
                shown = " " if section.chart == "dots" else line
                label = f"{solver}, {name}" if name else solver
                charts.draw_estimates(axis, sorted(points, key=_first), colour, label, shown)
        charts.frame(axis, "", section.head, f"{metric}, %", (-3, 103))
        if over_kept:
            for kept, text in marked:
                axis.axvline(kept, color="#666666", lw=1, ls=":")
                axis.text(kept, 103.5, text, fontsize=7, ha="center", color="#444444")
            axis.set_xlabel("share of the cell kept, %")
            axis.invert_xaxis()
        else:
            turned = 40 if max(map(len, labels)) > 5 else 0
            axis.set_xticks(range(len(labels)), labels, fontsize=8, rotation=turned)
    charts.shared_legend(figure, axes.flat[0])
    charts.save_chart(figure, path)


def _marked(made: Sequence[float]) -> list[tuple[float, str]]:
    """Shares of a cell that are marked, and their names: one line where both nearly agree."""
    if made and abs(made[0] - PAPER_KEPT) < APART:
        return [(made[0], f"paper, {AS_MADE}")]
    return [(PAPER_KEPT, "paper"), *((kept, AS_MADE) for kept in made[:1])]


def _draw_claims(
    path: Path, rows: Sequence[Row], solvers: Sequence[str], claims: Sequence[str]
) -> None:
    """A panel for every claim (down) and condition (across): reliability, or coverage."""
    labels = list(dict.fromkeys(row.condition.label for row in rows))
    covers = "puzzles" in claims
    colours = dict(charts.coloured(solvers))
    figure, axes = charts.empty_chart(2, len(labels), (4.2 * len(labels), 7.0))
    for line, what in zip(axes, claims, strict=True):
        for axis, label in zip(line, labels, strict=True):
            for row in rows:
                if row.condition.label == label and what in row.calibrations:
                    found, colour = row.calibrations[what], colours[row.solver]
                    points = _coverage(found) if covers else _reliability(found)
                    charts.draw_estimates(axis, points, colour, row.solver)
                    if not covers:
                        areas = [8 + 150 * b.count / found.num_answers for b in found.bins]
                        places = [x for x, _ in points], [y.value for _, y in points]
                        axis.scatter(*places, s=areas, color=colour, alpha=0.45, lw=0)
            x = "answered, the surest first, %" if covers else "confidence, %"
            charts.frame(axis, f"{what}, {label}", x, "right, %", (-3, 103))
            if not covers:
                axis.plot([0, 100], [0, 100], color="#999999", lw=1, ls=":")
    charts.shared_legend(figure, axes.flat[0])
    charts.save_chart(figure, path)


def _reliability(found: Calibration) -> list[tuple[float, Estimate]]:
    return [(100 * b.confidence, percent(b.right)) for b in found.bins]


def _coverage(found: Calibration) -> list[tuple[float, Estimate]]:
    return [(100 * c.coverage, percent(c.right)) for c in found.curve if c.right]


def _first(point: tuple[float, Estimate]) -> float:
    return point[0]


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
