"""The table of an ablation: every variant beside the full model and the published row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.grid import Grid
from puzzleflow.core.intervals import Estimate, bootstrap_mean
from puzzleflow.core.metrics import score
from puzzleflow.core.types import FloatArray
from puzzleflow.evaluation.charts import COLOURS, empty_chart, save_chart
from puzzleflow.evaluation.comparison import is_clear
from puzzleflow.evaluation.published import ABLATIONS_PAPER, PUBLISHED_ABLATIONS, Published
from puzzleflow.evaluation.results import SHOWN
from puzzleflow.evaluation.tables import interval_text, markdown_table
from puzzleflow.files import write_json, write_text

FULL = "full"
NOTES = (
    "In brackets: 95 % bootstrap intervals over the held-out puzzles. Δ is variant minus full "
    "model on the same puzzles (paired); * marks an interval without zero. Every variant was "
    "trained **once**, with the same seed, puzzles and number of steps: the intervals say nothing "
    "about the luck of a training run.",
    f"*Paper*: {ABLATIONS_PAPER} (GAP-3, ViT-B/16, 30 epochs, single runs without intervals). "
    "**Other data and another budget**: it shows which way a change went there, and is no "
    "comparison of figures.",
    "*Frozen encoder* leaves the pretrained part of the piece encoder as it began: an ImageNet ViT "
    "in the paper, here what `initial` or `vit` names above (a relational trunk has already "
    "learned from puzzles), and random weights where nothing is named.",
    "*RGB slicing* discards alpha after training, as published, so it shows how a network takes "
    "input that it never saw, not whether shape helps. A ViT gets the first three channels in "
    "place of its learned projection; the convolutional encoder is told that all is material.",
    "*One step* asks the full model once about a random layout: at t = 0, where that is what it "
    "was trained on, and at t = 1, where the published clock puts a single step.",
)


@dataclass(frozen=True, eq=False)
class Row:
    """One variant on M puzzles: its shares PA, AA and SRA of every puzzle, (M,) in [0, 1].

    minutes, parameters  of its training; None where it took the full model's weights
    """

    name: str
    label: str
    group: str
    shares: dict[str, FloatArray]
    minutes: float | None = None
    parameters: int | None = None

    def estimate(self, metric: str, *, seed: int = 0) -> Estimate:
        """In percent."""
        return bootstrap_mean(100 * self.shares[metric], seed=seed)

    def delta(self, full: Row, metric: str, *, seed: int = 0) -> Estimate:
        """Points above the full model, puzzle by puzzle."""
        return bootstrap_mean(100 * (self.shares[metric] - full.shares[metric]), seed=seed)


def shares_of(position_of: ArrayLike, truth: ArrayLike, grid: Grid) -> dict[str, FloatArray]:
    """PA, AA and SRA of every puzzle from layouts (M, N) and their truth."""
    scores = score(np.asarray(position_of), np.asarray(truth), grid)
    return {metric: scores.per_puzzle(name) for metric, name in SHOWN.items()}


@dataclass(frozen=True, eq=False)
class AblationReport:
    """Rows in the order of the table, the full model among them."""

    facts: dict[str, str]
    rows: Sequence[Row]
    seed: int = 0

    @property
    def full(self) -> Row:
        return next(row for row in self.rows if row.name == FULL)


def ablation_table(report: AblationReport) -> list[list[str]]:
    """The paper's columns with intervals, and its figures beside them."""
    head = ["variant", *(f"{metric} %" for metric in SHOWN), *(f"Δ{metric}" for metric in SHOWN)]
    rows = [[*head, f"paper {' / '.join(SHOWN)}", "paper Δ", "minutes", "M parameters"]]
    group = ""
    for row in report.rows:
        if row.group != group:
            group = row.group
            if row.name != FULL:
                rows.append([f"*{group}*", *[""] * (len(rows[0]) - 1)])
        rows.append(_cells(row, report))
    return rows


def _cells(row: Row, report: AblationReport) -> list[str]:
    is_full = row.name == FULL
    deltas = ["–"] * len(SHOWN)
    if not is_full:
        found = [row.delta(report.full, metric, seed=report.seed) for metric in SHOWN]
        deltas = [interval_text(d, signed=True) + (" *" if is_clear(d) else "") for d in found]
    published = PUBLISHED_ABLATIONS.get(row.name)
    return [
        f"**{row.label}**" if is_full else row.label,
        *(interval_text(row.estimate(metric, seed=report.seed)) for metric in SHOWN),
        *deltas,
        " / ".join(f"{value:.1f}" for value in _figures(published)) or "–",
        " / ".join(f"{value:+.1f}" for value in published_deltas(row.name)) or "–",
        "–" if row.minutes is None else f"{row.minutes:.1f}",
        "–" if row.parameters is None else f"{row.parameters / 1e6:.2f}",
    ]


def published_deltas(name: str) -> list[float]:
    """Published row minus published full model; empty where there is none."""
    if name == FULL or name not in PUBLISHED_ABLATIONS:
        return []
    figures, full = _figures(PUBLISHED_ABLATIONS[name]), _figures(PUBLISHED_ABLATIONS[FULL])
    return [round(figure - whole, 1) for figure, whole in zip(figures, full, strict=True)]


def _figures(row: Published | None) -> list[float]:
    return [value for value in (row.pa, row.aa, row.sra) if value is not None] if row else []


def as_json(report: AblationReport) -> dict[str, Any]:
    """Every figure; percentages in 0..100, deltas in points."""
    return {
        "facts": report.facts,
        "variants": [
            {
                "variant": row.name,
                "label": row.label,
                "group": row.group,
                "metrics": {m: asdict(row.estimate(m, seed=report.seed)) for m in SHOWN},
                "deltas": None
                if row.name == FULL
                else {m: asdict(row.delta(report.full, m, seed=report.seed)) for m in SHOWN},
                "minutes": row.minutes,
                "parameters": row.parameters,
                "published": asdict(PUBLISHED_ABLATIONS[row.name])
                if row.name in PUBLISHED_ABLATIONS
                else None,
            }
            for row in report.rows
        ],
    }


def as_markdown(report: AblationReport) -> str:
    """The page: facts, table, notes, figure."""
    facts = "\n".join(f"- {name}: {value}" for name, value in report.facts.items())
    parts = ["# Ablations", facts, markdown_table(ablation_table(report)), *NOTES]
    return "\n\n".join([*parts, "![bars](ablation.png)"]) + "\n"


def write_ablation(folder: Path, report: AblationReport) -> list[Path]:
    """``ablation.md``, ``ablation.json`` and ``ablation.png``."""
    paths = [folder / f"ablation.{suffix}" for suffix in ("md", "json", "png")]
    _draw(paths[2], report)
    write_json(paths[1], as_json(report))
    write_text(paths[0], as_markdown(report))
    return paths


def _draw(path: Path, report: AblationReport) -> None:
    """A panel for each metric: bars with intervals, published figures as diamonds."""
    figure, axes = empty_chart(1, len(SHOWN), (13, 0.9 + 0.42 * len(report.rows)))
    places = np.arange(len(report.rows))[::-1]
    for column, (metric, axis) in enumerate(zip(SHOWN, axes.flat, strict=True)):
        estimates = [row.estimate(metric, seed=report.seed) for row in report.rows]
        values = np.array([e.value for e in estimates])
        spread = np.array(
            [[e.value - e.low for e in estimates], [e.high - e.value for e in estimates]]
        )
        colours = [COLOURS[1] if row.name == FULL else COLOURS[0] for row in report.rows]
        axis.barh(places, values, 0.7, xerr=spread.clip(0), color=colours, ecolor="#333333")
        for place, row in zip(places, report.rows, strict=True):
            if published := _figures(PUBLISHED_ABLATIONS.get(row.name)):
                axis.plot(published[column], place, "D", color="black", mfc="white", ms=6)
        axis.set_xlim(0, 100)
        axis.set_xlabel(f"{metric} %")
        axis.set_yticks(places, [row.label for row in report.rows] if column == 0 else [])
    figure.suptitle("bars: this run, 95 % intervals over puzzles; diamonds: the paper, other data")
    save_chart(figure, path)
