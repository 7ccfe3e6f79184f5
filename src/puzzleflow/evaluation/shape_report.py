"""The report on generated outlines: Markdown, JSON and figures in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.types import BoolArray
from puzzleflow.evaluation.shape_figures import draw_figures
from puzzleflow.files import write_json, write_text
from puzzleflow.generation.fidelity import (
    Distance,
    Projection,
    Spread,
    Summary,
    Table,
    compare,
    nearest_iou,
    project,
    spread,
    summarise,
)
from puzzleflow.generation.geometry import EDGE_FEATURES, FEATURES, feature_table


@dataclass(frozen=True)
class Group:
    """One set of generated masks measured against the real ones."""

    table: Table
    summary: dict[str, Summary]
    distance: dict[str, Distance]
    spread: Spread
    projection: Projection
    nearest: NDArray[np.float64]  # (N,) IoU with the nearest training mask


@dataclass(frozen=True)
class ShapeReport:
    """Everything that the report says."""

    real_name: str
    real_table: Table
    real_summary: dict[str, Summary]
    real_nearest: NDArray[np.float64] | None  # None: compared masks are the training masks
    groups: dict[str, Group]


def validate_shapes(
    real: BoolArray,
    generated: Mapping[str, BoolArray],
    training: BoolArray,
    *,
    real_name: str,
    held_out: bool,
) -> ShapeReport:
    """Measure each generated set against ``real``; memorisation against ``training``."""
    real_table = feature_table(real)
    groups = {}
    for name, masks in generated.items():
        table = feature_table(masks)
        groups[name] = Group(
            table,
            summarise(table),
            compare(real_table, table),
            spread(real_table, table),
            project(real_table, table),
            nearest_iou(masks, training),
        )
    nearest = nearest_iou(real, training) if held_out else None
    return ShapeReport(real_name, real_table, summarise(real_table), nearest, groups)


def write_shape_report(
    folder: str | Path,
    report: ShapeReport,
    samples: Mapping[str, BoolArray],
    notes: Mapping[str, Any],
) -> None:
    """``validation.md``, ``validation.json`` and the figures it shows."""
    folder = Path(folder)
    figures = draw_figures(folder, report, samples)
    write_json(folder / "validation.json", as_json(report) | {"notes": dict(notes)})
    write_text(folder / "validation.md", as_markdown(report, figures, notes))


def as_json(report: ShapeReport) -> dict[str, Any]:
    """Plain numbers only."""
    return {
        "real": {
            "name": report.real_name,
            "count": len(report.real_table),
            "features": {name: asdict(row) for name, row in report.real_summary.items()},
            "nearest_training_iou": _quantiles(report.real_nearest),
        },
        "generated": {
            name: {
                "count": len(group.table),
                "features": {
                    feature: asdict(group.summary[feature]) | asdict(group.distance[feature])
                    for feature in FEATURES
                },
                "precision": group.spread.precision,
                "coverage": group.spread.coverage,
                "explained_variance": group.projection.explained.tolist(),
                "nearest_training_iou": _quantiles(group.nearest),
            }
            for name, group in report.groups.items()
        },
    }


def _quantiles(values: NDArray[np.float64] | None) -> dict[str, float] | None:
    if values is None:
        return None
    marks = {"median": 50, "p95": 95, "p99": 99, "max": 100}
    return {name: float(np.percentile(values, mark)) for name, mark in marks.items()}


def as_markdown(report: ShapeReport, figures: list[str], notes: Mapping[str, Any]) -> str:
    """The paper's table, then what the paper lacks."""
    lines = [
        "# Generated fragments against real ones",
        "",
        f"Real: {len(report.real_table)} masks ({report.real_name}). "
        + "; ".join(f"{name}: {len(group.table)} masks" for name, group in report.groups.items())
        + ".",
        "",
        *(f"- {key}: {value}" for key, value in notes.items()),
        "",
        "## Features",
        "",
        "| feature | group | mean ± sd | median | min–max | IQR | difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for feature in FEATURES:
        lines.append(_row(feature, "real", report.real_summary[feature], ""))
        for name, group in report.groups.items():
            percent = f"{group.distance[feature].difference_percent:+.1f} %"
            lines.append(_row("", name, group.summary[feature], percent))
    names = list(report.groups)
    lines += [
        "",
        "## Two-sample distances",
        "",
        "KS: largest gap between the two distribution functions (0 same, 1 disjoint). "
        "W: Wasserstein distance in the feature's own unit. Edge features are marked *.",
        "",
        "| feature | " + " | ".join(f"KS {name} | W {name}" for name in names) + " |",
        "|---|" + "---|---|" * len(names),
    ]
    for feature in FEATURES:
        cells = [
            f"{group.distance[feature].ks:.3f} | {group.distance[feature].wasserstein:.3g}"
            for group in report.groups.values()
        ]
        star = "*" if feature in EDGE_FEATURES else ""
        lines.append(f"| {feature}{star} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "## Spread and memorisation",
        "",
        "Precision: share of generated masks inside the real ones' 5-neighbour balls; "
        "coverage: share of those balls with a generated mask inside. Memorisation: IoU with "
        "the nearest training mask over the eight flips and quarter turns.",
        "",
        "| group | precision | coverage | PC1 + PC2 | IoU median | 95 % | 99 % | max |",
        "|---|---|---|---|---|---|---|---|",
    ]
    if report.real_nearest is not None:
        lines.append(f"| real (held out) | | | | {_iou_cells(report.real_nearest)} |")
    for name, group in report.groups.items():
        variance = 100 * group.projection.explained[:2].sum()
        lines.append(
            f"| {name} | {group.spread.precision:.3f} | {group.spread.coverage:.3f} "
            f"| {variance:.1f} % | {_iou_cells(group.nearest)} |"
        )
    lines += ["", "## Figures", ""]
    lines += [f"![{Path(figure).stem}]({figure})" for figure in figures]
    return "\n".join(lines) + "\n"


def _row(feature: str, group: str, row: Summary, percent: str) -> str:
    def number(value: float) -> str:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

    return (
        f"| {feature} | {group} | {number(row.mean)} ± {number(row.sd)} | {number(row.median)} "
        f"| {number(row.minimum)}–{number(row.maximum)} | {number(row.iqr)} | {percent} |"
    )


def _iou_cells(values: NDArray[np.float64]) -> str:
    return " | ".join(f"{value:.3f}" for value in (_quantiles(values) or {}).values())
