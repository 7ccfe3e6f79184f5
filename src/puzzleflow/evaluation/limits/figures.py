"""The curves of the report: reliability, coverage, and accuracy over gap, grid and kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.intervals import Estimate, percent
from puzzleflow.evaluation.charts import COLOURS, empty_chart, save_chart
from puzzleflow.evaluation.limits.scores import MEASURED, Calibration, LimitsReport, Row

PAPER_KEPT = 65.0  # percent of a cell that the paper's fragments keep
LINES = ("-", "--", ":", "-.")


def draw_figures(folder: Path, report: LimitsReport) -> dict[str, str]:
    """Write the figures that there are points for; figure → its file name."""
    makers: dict[str, Callable[[Path, LimitsReport], None]] = {
        "calibration": _reliability,
        "coverage": _coverage,
        "kind": _kinds,
        "gap": _gaps,
        "grid": _grids,
        "samples": _samples,
    }
    names = {}
    for name, draw in makers.items():
        known = report.calibrations if name in ("calibration", "coverage") else report.of(name)
        if known:
            names[name] = f"limits-{name}.png"
            draw(folder / names[name], report)
    return names


def _reliability(path: Path, report: LimitsReport) -> None:
    """Share right over confidence; the area of a mark is the share of answers it stands for."""
    labels = list(dict.fromkeys(c.label for c in report.calibrations))
    figure, axes = empty_chart(2, len(labels), (4.2 * len(labels), 7.6))
    for row, what in enumerate(("pieces", "seams")):
        for col, label in enumerate(labels):
            axis = axes[row, col]
            axis.plot([0, 100], [0, 100], color="#999999", lw=1, ls=":")
            for calibration, colour in _chosen(report, label, what):
                found = calibration.reliability
                x = [100 * b.confidence for b in found.bins]
                ece = f"{calibration.solver}, ECE {100 * found.ece.value:.1f} %"
                _errors(axis, x, [percent(b.right) for b in found.bins], colour, label=ece)
                areas = [8 + 150 * b.count / found.num_answers for b in found.bins]
                y = [100 * b.right.value for b in found.bins]
                axis.scatter(x, y, s=areas, color=colour, alpha=0.45, lw=0)
            _frame(axis, f"{what}, {label}", "confidence, %", "right, %", (-3, 103))
            axis.legend(fontsize=7, framealpha=0.6)
    save_chart(figure, path)


def _coverage(path: Path, report: LimitsReport) -> None:
    """Share right among the surest answers over how many those are."""
    labels = list(dict.fromkeys(c.label for c in report.calibrations))
    figure, axes = empty_chart(2, len(labels), (4.2 * len(labels), 6.4))
    for row, what in enumerate(("pieces", "puzzles")):
        for col, label in enumerate(labels):
            axis = axes[row, col]
            for calibration, colour in _chosen(report, label, what):
                curve = [point for point in calibration.curve if point.right is not None]
                x = [100 * point.coverage for point in curve]
                y = [percent(point.right) for point in curve if point.right is not None]
                _band(axis, x, y, colour, label=calibration.solver)
            _frame(axis, f"{what}, {label}", "answered, the surest first, %", "right, %", (0, 103))
    _legend(figure, axes.flat[0])
    save_chart(figure, path)


def _kinds(path: Path, report: LimitsReport) -> None:
    _dot_plot(path, report.of("kind"), report.solvers)


def _samples(path: Path, report: LimitsReport) -> None:
    _dot_plot(path, report.of("samples"), report.solvers)


def _gaps(path: Path, report: LimitsReport) -> None:
    """Metrics over the share of a cell kept, gaps growing to the right."""
    rows = report.of("gap")
    series = list(dict.fromkeys(row.series for row in rows))
    made = [row.kept.value for row in rows if row.label == "as made"]
    figure, axes = empty_chart(1, len(MEASURED), (3.5 * len(MEASURED), 3.9))
    for axis, metric in zip(axes.flat, MEASURED, strict=True):
        for solver, colour in _coloured(report.solvers):
            for name, line in zip(series, LINES, strict=False):
                found = _measured(rows, solver, metric, name)
                found.sort(key=lambda row: -row.kept.value)
                x = [row.kept.value for row in found]
                y = [row.metrics[metric] for row in found]
                _band(axis, x, y, colour, label=f"{solver}, {name}", line=line)
        _mark(axis, PAPER_KEPT, "paper", "left")
        for kept in made[:1]:
            _mark(axis, kept, "as made", "right")
        _frame(axis, "", "share of the cell kept, %", f"{metric}, %", (-2, 101))
        axis.invert_xaxis()
    _legend(figure, axes.flat[0])
    save_chart(figure, path)


def _grids(path: Path, report: LimitsReport) -> None:
    """Metrics over grids; a dotted line for what chance puts right."""
    rows = report.of("grid")
    labels = list(dict.fromkeys(row.label for row in rows))
    pieces = {row.label: row.grid.num_pieces for row in rows}
    figure, axes = empty_chart(1, len(MEASURED), (3.5 * len(MEASURED), 3.7))
    for axis, metric in zip(axes.flat, MEASURED, strict=True):
        for solver, colour in _coloured(report.solvers):
            found = _measured(rows, solver, metric)
            x = [float(labels.index(row.label)) for row in found]
            _band(axis, x, [row.metrics[metric] for row in found], colour, label=solver)
        if metric == "AA":
            chance = [100 / pieces[label] for label in labels]
            axis.plot(range(len(labels)), chance, color="#666666", lw=1, ls=":", label="chance")
        _frame(axis, "", "pieces", f"{metric}, %", (-2, 102))
        axis.set_xticks(range(len(labels)), labels, fontsize=8)
    _legend(figure, axes.flat[1])
    save_chart(figure, path)


def _dot_plot(path: Path, rows: Sequence[Row], solvers: Sequence[str]) -> None:
    """One line for every label, one mark with its interval for every solver."""
    labels = list(dict.fromkeys(row.label for row in rows))
    height = 1.2 + 0.22 * len(labels) * (len(solvers) + 0.6)
    figure, axes = empty_chart(1, len(MEASURED), (3.5 * len(MEASURED), height))
    for k, (axis, metric) in enumerate(zip(axes.flat, MEASURED, strict=True)):
        for number, (solver, colour) in enumerate(_coloured(solvers)):
            found = _measured(rows, solver, metric)
            step = (number - (len(solvers) - 1) / 2) * 0.7 / len(solvers)
            y = [labels.index(row.label) + step for row in found]
            values = [row.metrics[metric] for row in found]
            axis.errorbar(
                [value.value for value in values],
                y,
                xerr=_reach(values),
                fmt="o",
                ms=4,
                lw=1.2,
                color=colour,
                label=solver,
            )
        shown = [f"{label} (n = {_count(rows, label)})" for label in labels]
        axis.set_yticks(range(len(labels)), shown if k == 0 else [""] * len(labels), fontsize=8)
        axis.set_ylim(len(labels) - 0.4, -0.6)
        axis.set_xlim(-3, 103)
        axis.set_xlabel(f"{metric}, %")
        axis.grid(alpha=0.25)
    _legend(figure, axes.flat[0])
    save_chart(figure, path)


def _legend(figure: Any, axis: Any) -> None:
    """One legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)


def _mark(axis: Any, x: float, text: str, side: str) -> None:
    axis.axvline(x, color="#666666", lw=1, ls=":")
    axis.text(x, 101.5, text, fontsize=7, ha=side, va="bottom", color="#444444")


def _measured(rows: Sequence[Row], solver: str, metric: str, series: str = "") -> list[Row]:
    """The rows of one curve."""
    return [
        row
        for row in rows
        if row.solver == solver and metric in row.metrics and series in ("", row.series)
    ]


def _count(rows: Sequence[Row], label: str) -> int:
    return next(row.num_puzzles for row in rows if row.label == label)


def _chosen(report: LimitsReport, label: str, what: str) -> list[tuple[Calibration, str]]:
    """Calibrations of one panel with the colour of their solver."""
    return [
        (calibration, colour)
        for solver, colour in _coloured(report.solvers)
        for calibration in report.calibrations
        if (calibration.label, calibration.what, calibration.solver) == (label, what, solver)
    ]


def _coloured(solvers: Sequence[str]) -> list[tuple[str, str]]:
    return [(solver, COLOURS[k % len(COLOURS)]) for k, solver in enumerate(solvers)]


def _reach(values: Sequence[Estimate]) -> Any:
    """(2, K) how far intervals reach below and above."""
    below = [value.value - value.low for value in values]
    return np.array([below, [value.high - value.value for value in values]])


def _errors(
    axis: Any, x: Sequence[float], y: Sequence[Estimate], colour: str, *, label: str
) -> None:
    values = [value.value for value in y]
    axis.errorbar(
        x, values, yerr=_reach(y), color=colour, lw=1.2, elinewidth=0.8, capsize=2, label=label
    )


def _band(
    axis: Any,
    x: Sequence[float],
    y: Sequence[Estimate],
    colour: str,
    *,
    label: str,
    line: str = "-",
) -> None:
    values = [value.value for value in y]
    axis.plot(x, values, color=colour, lw=1.4, ls=line, marker="o", ms=3, label=label)
    low, high = [value.low for value in y], [value.high for value in y]
    axis.fill_between(x, low, high, color=colour, alpha=0.1, lw=0)


def _frame(axis: Any, title: str, x: str, y: str, limits: tuple[float, float]) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.set_ylim(*limits)
    axis.grid(alpha=0.25)
