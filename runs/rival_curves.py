"""Accuracy against training puzzles, for every run below a folder: one figure.

Usage: python runs/rival_curves.py RUNS FIGURE.png [GRID]
RUNS is the OUT of runs/train_rivals.sh, or any folder of training runs; every run that
validated layouts (AA and PA of GRID, 3x3 by default) becomes a curve.
Accuracy against the width of the gap is `puzzleflow limits --sections gap --solvers @learned`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from puzzleflow.core.errors import InputError
from puzzleflow.evaluation.charts import (
    LINES,
    coloured,
    empty_chart,
    frame,
    save_chart,
    shared_legend,
)

METRICS = ("AA", "PA")


def curves(runs: Path, grid: str) -> dict[str, list[tuple[int, dict[str, float]]]]:
    """Name of a run → (puzzles seen, metrics) of its validations, runs without any left out."""
    found = {}
    for log in sorted(runs.glob("**/log.jsonl")):
        if log.parent.parent.name == "tries":
            continue
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        told = [(row["puzzles"], row["val"].get(grid)) for row in rows if "val" in row]
        points = [(puzzles, figures) for puzzles, figures in told if figures and "AA" in figures]
        if points:
            name = log.parent.name
            found[log.parent.parent.name if name == "run" else name] = points
    return found


def main() -> None:
    """Read the logs, draw the figure."""
    runs, figure_path = Path(sys.argv[1]), Path(sys.argv[2])
    grid = sys.argv[3] if len(sys.argv) > 3 else "3x3"
    found = curves(runs, grid)
    if not found:
        raise InputError(f"{runs}: no run below it validated layouts of {grid}")
    figure, axes = empty_chart(1, len(METRICS), (9.0, 4.4))
    for axis, metric in zip(axes.flat, METRICS, strict=True):
        for number, (name, colour) in enumerate(coloured(list(found))):
            x = [puzzles for puzzles, _ in found[name]]
            y = [100 * figures[metric] for _, figures in found[name]]
            axis.plot(x, y, color=colour, ls=LINES[number // 12 % 4], marker="o", ms=3, label=name)
        top = max(5.0, *(line.get_ydata().max() for line in axis.get_lines()))
        frame(axis, f"{grid}, validation", "training puzzles", f"{metric}, %", (0, 1.1 * top))
    shared_legend(figure, axes.flat[0])
    save_chart(figure, figure_path)


if __name__ == "__main__":
    main()
