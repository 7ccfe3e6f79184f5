"""The table of an ablation: every variant beside the full model and the published row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.intervals import Estimate
from puzzleflow.evaluation.charts import COLOURS, empty_chart, reach, save_chart
from puzzleflow.evaluation.published import ABLATIONS_PAPER, PUBLISHED_ABLATIONS
from puzzleflow.evaluation.results import SHOWN, Results, compare
from puzzleflow.evaluation.tables import delta_text, interval_text, markdown_table
from puzzleflow.files import write_json, write_text
from puzzleflow.pages import render

FULL = "full"


@dataclass(frozen=True, eq=False)
class Row:
    """One variant and what ``bench`` found of it.

    minutes, parameters  of its training; None where it took the full model's weights
    """

    name: str
    label: str
    group: str
    results: Results
    minutes: float | None = None
    parameters: int | None = None

    @property
    def published(self) -> list[float]:
        """PA, AA and SRA as published; empty where there is no such row."""
        row = PUBLISHED_ABLATIONS.get(self.name)
        return [v for v in (row.pa, row.aa, row.sra) if v is not None] if row else []


@dataclass(frozen=True, eq=False)
class AblationReport:
    """Rows in the order of the table, the full model among them."""

    facts: dict[str, str]
    rows: Sequence[Row]

    @property
    def full(self) -> Row:
        return next(row for row in self.rows if row.name == FULL)

    def deltas(self, row: Row) -> dict[str, Estimate]:
        """Points above the full model, puzzle by puzzle; nothing for the full model itself."""
        return {} if row.name == FULL else compare(row.results, self.full.results).differences


def ablation_table(report: AblationReport) -> list[list[str]]:
    """The paper's columns with intervals, and its figures beside them."""
    head = ["variant", *(f"{metric} %" for metric in SHOWN), *(f"Δ{metric}" for metric in SHOWN)]
    rows = [[*head, f"paper {' / '.join(SHOWN)}", "paper Δ", "minutes", "M parameters"]]
    group = ""
    for row in report.rows:
        is_full = row.name == FULL
        if row.group != group and not is_full:
            rows.append([f"*{row.group}*", *[""] * (len(rows[0]) - 1)])
        group = row.group
        deltas = [delta_text(delta) for delta in report.deltas(row).values()]
        rows.append(
            [
                f"**{row.label}**" if is_full else row.label,
                *(interval_text(row.results.estimate(metric)) for metric in SHOWN),
                *(deltas or ["–"] * len(SHOWN)),
                " / ".join(f"{value:.1f}" for value in row.published) or "–",
                " / ".join(f"{value:+.1f}" for value in published_deltas(row)) or "–",
                "–" if row.minutes is None else f"{row.minutes:.1f}",
                "–" if row.parameters is None else f"{row.parameters / 1e6:.2f}",
            ]
        )
    return rows


def published_deltas(row: Row) -> list[float]:
    """Published row minus published full model; empty where there is none."""
    full = PUBLISHED_ABLATIONS[FULL]
    if row.name == FULL:
        return []
    return [
        round(figure - (whole or 0), 1)
        for figure, whole in zip(row.published, (full.pa, full.aa, full.sra), strict=False)
    ]


def as_json(report: AblationReport) -> dict[str, Any]:
    """Every figure; percentages in 0..100, deltas in points."""
    return {
        "facts": report.facts,
        "variants": [
            {
                "variant": row.name,
                "label": row.label,
                "group": row.group,
                "metrics": {m: asdict(row.results.estimate(m)) for m in SHOWN},
                "deltas": {m: asdict(d) for m, d in report.deltas(row).items()} or None,
                "minutes": row.minutes,
                "parameters": row.parameters,
                "published": asdict(PUBLISHED_ABLATIONS[row.name]) if row.published else None,
            }
            for row in report.rows
        ],
    }


def write_ablation(folder: Path, report: AblationReport) -> list[Path]:
    """``ablation.md``, ``ablation.json`` and ``ablation.png``."""
    paths = [folder / f"ablation.{suffix}" for suffix in ("md", "json", "png")]
    _draw(paths[2], report)
    write_json(paths[1], as_json(report))
    table = markdown_table(ablation_table(report))
    write_text(paths[0], render("ablation.md", report=report, table=table, paper=ABLATIONS_PAPER))
    return paths


def _draw(path: Path, report: AblationReport) -> None:
    """A panel for each metric: bars with intervals, published figures as diamonds."""
    figure, axes = empty_chart(1, len(SHOWN), (13, 0.9 + 0.42 * len(report.rows)))
    places = np.arange(len(report.rows))[::-1]
    colours = [COLOURS[1] if row.name == FULL else COLOURS[0] for row in report.rows]
    for column, (metric, axis) in enumerate(zip(SHOWN, axes.flat, strict=True)):
        found = [row.results.estimate(metric) for row in report.rows]
        values = [estimate.value for estimate in found]
        axis.barh(places, values, 0.7, xerr=reach(found), color=colours, ecolor="#333333")
        for place, row in zip(places, report.rows, strict=True):
            if row.published:
                axis.plot(row.published[column], place, "D", color="black", mfc="white", ms=6)
        axis.set_xlim(0, 100)
        axis.set_xlabel(f"{metric} %")
        axis.set_yticks(places, [row.label for row in report.rows] if column == 0 else [])
    figure.suptitle("bars: this run, 95 % intervals over puzzles; diamonds: the paper, other data")
    save_chart(figure, path)
