"""Calibration of confidence in the reports of runs/conditions.sh, condition by condition.

``python runs/calibration_error.py OUT`` prints, over all pieces of a set, the expected
calibration error in ten bins and the share of pieces that are wrong though the solver was
at least 95 % sure. A piece is right in its cell, on the true grid, with its true turn; a foreign
one is right if it was left aside.
"""

from __future__ import annotations

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


def main(folder: Path) -> None:
    """One line for every report below ``folder``."""
    for report in sorted((folder / "reports").iterdir()):
        sure, right = answers(folder, report.name)
        bins = np.minimum((sure * BINS).astype(int), BINS - 1)
        error = sum(
            abs(sure[bins == k].mean() - right[bins == k].mean()) * (bins == k).mean()
            for k in np.unique(bins)
        )
        wrong = ((sure >= SURE) & ~right).mean()
        print(f"{report.name}: ECE {error:.1%}, wrong and at least 95 % sure {wrong:.1%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
