"""The report as Markdown and JSON: every figure with its interval, every caveat beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from puzzleflow.core.intervals import Estimate, percent
from puzzleflow.evaluation.limits.figures import PAPER_KEPT, draw_figures
from puzzleflow.evaluation.limits.reliability import NUM_BINS
from puzzleflow.evaluation.limits.scores import MEASURED, Calibration, LimitsReport, Row
from puzzleflow.evaluation.limits.summary import in_short
from puzzleflow.evaluation.tables import interval_text, markdown_table
from puzzleflow.files import write_json, write_text

INTRODUCTION = (
    "How far solvers can be trusted, measured by `puzzleflow limits` on puzzles cut from the "
    "pictures below. PA: puzzles solved, AA: pieces in place, SRA: relations kept, in percent; "
    "ECE: how far the confidence in a piece is off, explained below. "
    "In brackets: 95 % Wilson intervals over pictures (pieces of one puzzle, and puzzles of one "
    "picture, are right or wrong together, and count for less than as many single answers); for "
    "ECE by drawing puzzles anew. "
    "A puzzle that a solver refused counts as nothing right."
)
CALIBRATION_NOTE = (
    f"ECE: expected calibration error over {NUM_BINS} equal bins, the mean distance of "
    "confidence and share right; its 95 % interval comes from drawing puzzles anew: it reaches "
    "too high rather than too low, and shrinks to a point where all is sure and right. Chance "
    "alone: the ECE that a perfectly calibrated solver would show on as many independent "
    "answers. Excess: mean confidence - share right, positive where too sure. Brier: mean "
    "squared error, 0 best. A puzzle is taken to be as sure as its least sure piece, which is "
    "more than the probability that all are right."
)
RELIABILITY_NOTE = (
    "On the dotted line, confidence is the truth; below it the solver is too sure. The area of "
    "a mark is the share of answers in its bin, with the 95 % interval of its share right."
)
COVERAGE_NOTE = (
    "Answering only where sure: the share right among answers whose confidence reaches a "
    "threshold, and how many those are."
)
KIND_NOTE = "The same grid and masks on different kinds of pictures."
GAP_NOTE = (
    "The same pictures, permutations and outlines; only the outlines move inward (wider gaps) or "
    f"outward. Dotted: the masks as they are made, and the {PAPER_KEPT:g} % that the paper's "
    "fragments keep. *straight*: square pieces with straight gaps (`fixed:PX`) instead."
)
GRID_NOTE = (
    "Pieces have the same size in pixels on every grid, so pictures are enlarged for the larger "
    "ones. *Picture px* says how many of their own pixels lie behind the side of a piece (median): "
    "beyond it a piece is larger, not sharper. A gap is a share of the cell, so on a larger grid "
    "it hides fewer of the picture's own pixels: single seams become easier while there are more "
    "of them. Larger grids have fewer puzzles; chance puts one piece of each puzzle in its place."
)
SAMPLES_NOTE = (
    "The bundled pictures of the Met (several puzzles each; intervals over pictures) beside the "
    "pictures given."
)


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
        "rows": [asdict(row) | {"grid": str(row.grid)} for row in report.rows],
        "calibrations": [asdict(calibration) for calibration in report.calibrations],
    }


def as_markdown(report: LimitsReport, figures: Mapping[str, str]) -> str:
    """The whole page."""
    facts = "\n".join(f"- {name}: {value}" for name, value in report.facts.items())
    short = "\n".join(f"- {line}" for line in in_short(report))
    parts = ["# Honest limits", INTRODUCTION, facts, "## In short", short]
    makers: dict[str, Callable[[LimitsReport, Mapping[str, str]], list[str]]] = {
        "calibration": _calibration,
        "kind": _kinds,
        "gap": _gaps,
        "grid": _grids,
        "samples": _samples,
    }
    for section in report.sections:
        parts += makers[section](report, figures)
    return "\n\n".join(parts) + "\n"


def _calibration(report: LimitsReport, figures: Mapping[str, str]) -> list[str]:
    parts = ["## Can its confidence be trusted?", CALIBRATION_NOTE]
    silent = sorted(set(report.solvers) - {c.solver for c in report.calibrations})
    if silent:
        parts.append(f"No confidence to judge: {', '.join(silent)}.")
    if not report.calibrations:
        return parts
    head = ["grid", "solver", "of", "answers", "right %", "ECE %", "chance alone", "excess"]
    rows = [[*head, "Brier"]]
    for calibration in report.calibrations:
        found = calibration.reliability
        rows.append(
            [
                *_who(calibration),
                f"{found.num_answers:,} in {found.num_puzzles:,} puzzles",
                _percent(found.right),
                _percent(found.ece),
                f"{100 * found.floor:.1f}",
                _percent(found.excess, signed=True),
                _three(found.brier),
            ]
        )
    parts += [markdown_table(rows), RELIABILITY_NOTE, _image(figures, "calibration")]
    parts += [COVERAGE_NOTE, _coverage_table(report.calibrations), _image(figures, "coverage")]
    return parts


def _coverage_table(calibrations: Sequence[Calibration]) -> str:
    thresholds = [covered.threshold for covered in calibrations[0].thresholds]
    heads = [f"sure ≥ {100 * t:g} %" if t else "all" for t in thresholds]
    rows = [["grid", "solver", "of", *heads]]
    for calibration in calibrations:
        cells = [
            f"{_percent(c.right)} of {100 * c.coverage:.0f} %" if c.right else "none that sure"
            for c in calibration.thresholds
        ]
        rows.append([*_who(calibration), *cells])
    return markdown_table(rows)


def _who(calibration: Calibration) -> list[str]:
    return [calibration.label, calibration.solver, calibration.what]


def _kinds(report: LimitsReport, figures: Mapping[str, str]) -> list[str]:
    rows = report.of("kind")
    table = _table(rows, "kind", {})
    note = f"{KIND_NOTE} {rows[0].grid} pieces."
    return ["## By kind of picture", note, table, _image(figures, "kind")]


def _gaps(report: LimitsReport, figures: Mapping[str, str]) -> list[str]:
    rows = report.of("gap")
    more = {"masks": lambda row: row.series, "kept %": lambda row: interval_text(row.kept)}
    note = f"{GAP_NOTE} {rows[0].grid} pieces."
    table = _table(rows, "gap", more)
    return ["## By width of the gap", note, table, _image(figures, "gap")]


def _grids(report: LimitsReport, figures: Mapping[str, str]) -> list[str]:
    more = {"picture px": lambda row: f"{row.content_px:.0f}"}
    table = _table(report.of("grid"), "grid", more)
    return ["## By number of pieces", GRID_NOTE, table, _image(figures, "grid")]


def _samples(report: LimitsReport, figures: Mapping[str, str]) -> list[str]:
    table = _table(report.of("samples"), "pictures", {})
    return ["## On the Met sample pictures", SAMPLES_NOTE, table, _image(figures, "samples")]


def _table(rows: Sequence[Row], first: str, more: Mapping[str, Callable[[Row], str]]) -> str:
    """One line for every point and solver."""
    lines = [[first, *more, "solver", "puzzles", *(f"{metric} %" for metric in MEASURED)]]
    for row in rows:
        refused = f" ({row.num_refused} refused)" if row.num_refused else ""
        copies = f" of {row.num_pictures} pictures" if row.num_puzzles > row.num_pictures else ""
        lines.append(
            [
                row.label,
                *(show(row) for show in more.values()),
                row.solver,
                f"{row.num_puzzles}{copies}{refused}",
                *(
                    interval_text(row.metrics[metric]) if metric in row.metrics else "–"
                    for metric in MEASURED
                ),
            ]
        )
    return markdown_table(lines)


def _image(figures: Mapping[str, str], name: str) -> str:
    return f"![{name}](images/{figures[name]})"


def _percent(share: Estimate, *, signed: bool = False) -> str:
    return interval_text(percent(share), signed=signed)


def _three(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
