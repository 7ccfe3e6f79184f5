"""Figures on generated outlines: box plots, principal components, neighbours, samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.evaluation.charts import COLOURS, empty_chart, save_chart
from puzzleflow.generation.geometry import FEATURES
from puzzleflow.pictures import write_picture

if TYPE_CHECKING:
    from puzzleflow.evaluation.shape_report import ShapeReport

SHEET_COLUMNS = 12
SHEET_ROWS = 3
GUTTER_PX = 4


def draw_figures(folder: Path, report: ShapeReport, samples: Mapping[str, BoolArray]) -> list[str]:
    """Write every figure; their file names in the order of the report."""
    _box_plots(folder / "boxplots.png", report)
    _components(folder / "pca.png", report)
    _neighbours(folder / "memorisation.png", report)
    names = ["boxplots.png", "pca.png", "memorisation.png"]
    for name, masks in samples.items():
        figure = f"samples_{''.join(c if c.isalnum() else '_' for c in name)}.png"
        write_picture(folder / figure, sheet(masks))
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
        for box, colour in zip(boxes["boxes"], COLOURS * 4, strict=False):
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
    for (name, values), colour in zip(groups.items(), COLOURS * 4, strict=False):
        axis.hist(values, bins, density=True, histtype="step", label=name, color=colour)
    axis.set_xlabel("IoU with the nearest training mask")
    axis.set_ylabel("density")
    axis.legend()
    save_chart(figure, path)


def draw_losses(path: str | Path, history: Sequence[Mapping[str, float]]) -> None:
    """Training and validation loss by epoch."""
    figure, axes = empty_chart(1, 1, (6.5, 4))
    axis = axes.flat[0]
    epochs = [row["epoch"] for row in history]
    for part, colour in zip(("train", "validation"), COLOURS, strict=False):
        axis.plot(epochs, [row[f"{part}_loss"] for row in history], label=part, color=colour)
    axis.set_xlabel("epoch")
    axis.set_ylabel("BCE + KL per mask (nats)")
    axis.set_yscale("log")
    axis.legend()
    save_chart(figure, Path(path))


def sheet(masks: BoolArray) -> ByteArray:
    """The first masks side by side, white on black with grey between."""
    shown = masks[: SHEET_COLUMNS * SHEET_ROWS]
    height, width = masks.shape[1] + GUTTER_PX, masks.shape[2] + GUTTER_PX
    rows = -(-len(shown) // SHEET_COLUMNS)
    page = np.full((rows * height, SHEET_COLUMNS * width), 96, dtype=np.uint8)
    for index, mask in enumerate(shown):
        row, col = divmod(index, SHEET_COLUMNS)
        top, left = row * height, col * width
        page[top : top + mask.shape[0], left : left + mask.shape[1]] = mask * np.uint8(255)
    return page
