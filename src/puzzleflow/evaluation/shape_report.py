"""The report on generated outlines: Markdown, JSON and figures in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.canvas import tile
from puzzleflow.core.types import BoolArray
from puzzleflow.evaluation.charts import COLOURS, coloured, empty_chart, save_chart
from puzzleflow.files import write_json, write_text
from puzzleflow.generation import fidelity
from puzzleflow.generation.geometry import EDGE_FEATURES, FEATURES, feature_table
from puzzleflow.pages import render
from puzzleflow.pictures import write_picture

SHEET_COLUMNS, SHEET_ROWS, GUTTER_PX = 12, 3, 4
GREY = (96, 96, 96)


@dataclass(frozen=True)
class Group:
    """One set of generated masks measured against the real ones."""

    table: fidelity.Table
    summary: dict[str, fidelity.Summary]
    distance: dict[str, fidelity.Distance]
    spread: fidelity.Spread
    projection: fidelity.Projection
    nearest: NDArray[np.float64]  # (N,) IoU with the nearest training mask


@dataclass(frozen=True)
class ShapeReport:
    """Everything that the report says."""

    real_name: str
    real_table: fidelity.Table
    real_summary: dict[str, fidelity.Summary]
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
            fidelity.summarise(table),
            fidelity.compare(real_table, table),
            fidelity.spread(real_table, table),
            fidelity.project(real_table, table),
            fidelity.nearest_iou(masks, training),
        )
    nearest = fidelity.nearest_iou(real, training) if held_out else None
    return ShapeReport(real_name, real_table, fidelity.summarise(real_table), nearest, groups)


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
        "paper": {
            name: {feature: asdict(row) for feature, row in rows.items()}
            for name, rows in (("real", fidelity.REAL), ("synthetic", fidelity.SYNTHETIC))
        },
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
                "loadings": group.projection.loadings.tolist(),  # component, feature
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


def paper_table(report: ShapeReport) -> list[list[str]]:
    """The paper's mean ± sd, real and synthetic, beside ours; the first row is the heading.

    A generated cell ends with its differences from the paper's synthetic mean and sd.
    """
    rows = [["feature", "paper real", "paper synthetic", "real", *report.groups]]
    for feature in FEATURES:
        wanted = fidelity.SYNTHETIC[feature]
        cells = [
            _spread_of(row)
            for row in (fidelity.REAL[feature], wanted, report.real_summary[feature])
        ]
        for group in report.groups.values():
            found = group.summary[feature]
            mean, sd = 100 * (found.mean / wanted.mean - 1), 100 * (found.sd / wanted.sd - 1)
            cells.append(f"{_spread_of(found)} ({mean:+.1f} %, {sd:+.0f} %)")
        rows.append([feature, *cells])
    return rows


def _spread_of(row: fidelity.Summary) -> str:
    return f"{_number(row.mean)} ± {_number(row.sd)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def as_markdown(report: ShapeReport, figures: list[str], notes: Mapping[str, Any]) -> str:
    """The paper's table, then what the paper lacks."""
    return render(
        "validation.md",
        report=report,
        notes=notes,
        features=FEATURES,
        edge_features=EDGE_FEATURES,
        number=_number,
        paper=paper_table(report),
        quantiles=_quantiles,
        figures={Path(figure).stem: figure for figure in figures},
    )


def draw_figures(folder: Path, report: ShapeReport, samples: Mapping[str, BoolArray]) -> list[str]:
    """Write every figure; their file names in the order of the report."""
    _box_plots(folder / "boxplots.png", report)
    _components(folder / "pca.png", report)
    _neighbours(folder / "memorisation.png", report)
    names = ["boxplots.png", "pca.png", "memorisation.png"]
    for name, masks in samples.items():
        figure = f"samples_{''.join(c if c.isalnum() else '_' for c in name)}.png"
        shown = masks[: SHEET_COLUMNS * SHEET_ROWS, ..., None] * np.full(3, 255, np.uint8)
        page = tile(list(shown), SHEET_COLUMNS, margin_px=GUTTER_PX, background=GREY)
        write_picture(folder / figure, page)
        names.append(figure)
    return names


def _box_plots(path: Path, report: ShapeReport) -> None:
    tables = [report.real_table, *(group.table for group in report.groups.values())]
    labels = ["real", *report.groups]
    figure, axes = empty_chart(2, 4, (13, 6.5))
    for j, (feature, axis) in enumerate(zip(FEATURES, axes.flat, strict=True)):
        boxes = axis.boxplot(
            [table[:, j] for table in tables], tick_labels=labels, patch_artist=True, widths=0.6
        )
        for box, (_, colour) in zip(boxes["boxes"], coloured(labels), strict=True):
            box.set_facecolor(colour)
            box.set_alpha(0.6)
        axis.set_title(feature)
    save_chart(figure, path)


def _components(path: Path, report: ShapeReport) -> None:
    figure, axes = empty_chart(1, len(report.groups), (5.2 * len(report.groups), 4.8))
    for k, (name, group) in enumerate(report.groups.items()):
        axis, projection = axes.flat[k], group.projection
        for scores, label, colour in (
            (projection.real, "real", COLOURS[0]),
            (projection.generated, name, COLOURS[(k + 1) % len(COLOURS)]),
        ):
            axis.scatter(scores[:, 0], scores[:, 1], s=7, alpha=0.5, label=label, color=colour)
        shares = 100 * projection.explained
        axis.set_xlabel(f"PC1 ({shares[0]:.1f} %)")
        axis.set_ylabel(f"PC2 ({shares[1]:.1f} %)")
        axis.set_title(f"{name}: PC1 + PC2 explain {shares[:2].sum():.1f} %")
        axis.legend()
    save_chart(figure, path)


def _neighbours(path: Path, report: ShapeReport) -> None:
    figure, axes = empty_chart(1, 1, (6.5, 4))
    axis = axes.flat[0]
    groups = {name: group.nearest for name, group in report.groups.items()}
    if report.real_nearest is not None:
        groups = {"real (held out)": report.real_nearest, **groups}
    bins = np.linspace(min(0.7, *(values.min() for values in groups.values())), 1, 61)
    for name, colour in coloured(list(groups)):
        axis.hist(groups[name], bins, density=True, histtype="step", label=name, color=colour)
    axis.set_xlabel("IoU with the nearest training mask")
    axis.set_ylabel("density")
    axis.legend()
    save_chart(figure, path)
