"""The reports of runs/conditions.sh as one table, condition by condition.

``python runs/conditions_table.py OUT`` prints PA, AA and SRA with their intervals and, over all
pieces of a set, the expected calibration error in ten bins and the share of pieces that are
wrong though the solver was at least 95 % sure. A piece is right in its cell, on the true grid,
with its true turn; a foreign one is right if it was left aside.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np

from puzzleflow import open_puzzles

BINS, SURE = 10, 0.95


def answers(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(pieces,) confidence and whether it was right."""
    source = open_puzzles(folder / "sets" / name, split="test")
    truths, turns = source.truths(), source.turns()
    (journal,) = (folder / "reports" / name / "journal").glob("*.jsonl")
    sure, right = [], []
    for line in journal.read_text().splitlines()[1:]:
        record = json.loads(line)
        if record["confidence"] is None:
            continue
        truth = truths[record["index"]]
        hit = np.array(record["position_of"]) == truth
        told = record.get("open") or {}
        if source.conditions.hidden and told["grid"] != str(source.grid):
            hit[:] = False
        if turns is not None:
            hit &= (np.array(told["turns"]) == turns[record["index"]]) | (truth < 0)
        sure += record["confidence"]
        right += hit.tolist()
    return np.array(sure), np.array(right)


ALSO = {
    "perfect_aligned": "PA aligned",
    "absolute_aligned": "AA aligned",
    "relations_aligned": "SRA aligned",
    "foreign_f1": "foreign F1",
    "foreign_auroc": "foreign AUROC",
    "grids": "grids found",
}


def shown(line: dict[str, str], metric: str) -> str:
    """A share of bench.csv in percent with its interval."""
    value, low, high = (float(line[metric + end]) for end in ("", "_low", "_high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def main(folder: Path) -> None:
    """One row for every report below ``folder``."""
    print("| puzzles | number | PA % | AA % | SRA % | ECE % | wrong and ≥ 95 % sure, % | also |")
    print("|---|---|---|---|---|---|---|---|")
    for report in sorted((folder / "reports").iterdir()):
        sure, right = answers(folder, report.name)
        bins = np.minimum((sure * BINS).astype(int), BINS - 1)
        error = sum(
            abs(sure[bins == k].mean() - right[bins == k].mean()) * (bins == k).mean()
            for k in np.unique(bins)
        )
        wrong = ((sure >= SURE) & ~right).mean()
        with (report / "bench.csv").open() as stream:
            (line,) = csv.DictReader(stream)
        also = [f"{told} {shown(line, name)}" for name, told in ALSO.items() if line.get(name)]
        cells = [report.name, line["puzzles"], *(shown(line, name) for name in ("pa", "aa", "sra"))]
        cells += [f"{100 * error:.1f}", f"{100 * wrong:.1f}", ", ".join(also) or "—"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
