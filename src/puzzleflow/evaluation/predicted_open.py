"""Answers to puzzles of the open world from a file, scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from puzzleflow.core.errors import InputError
from puzzleflow.core.open_facts import open_answer
from puzzleflow.core.open_metrics import OpenAnswer, OpenScores, score_open
from puzzleflow.core.puzzle import Layout
from puzzleflow.evaluation.predicted import check_fits, read_layouts
from puzzleflow.evaluation.results import read_truths
from puzzleflow.storage.predictions import read_predictions
from puzzleflow.storage.solutions import SOLUTIONS, Solved
from puzzleflow.storage.source import PuzzleSource


def read_open_answers(path: Path, source: PuzzleSource) -> list[OpenAnswer]:
    """One answer for every puzzle of ``source``, from any file that holds layouts."""
    grid = source.grid
    if grid is None:
        raise InputError(f"{source.path}: cannot be scored, the puzzles differ in grid")
    if path.is_dir() and (path / SOLUTIONS).is_file():
        path /= SOLUTIONS
    if not path.is_dir() and path.suffix not in (".json", ".jsonl"):
        return _from_predictions(path, source)
    answers = []
    for one in read_layouts(path, source):
        sure = one.sure if isinstance(one, Solved) else one.confidence
        aside = None if one.open is None else one.open.aside
        answers.append(open_answer(one.whole, grid, aside, sure))
    return answers


def _from_predictions(path: Path, source: PuzzleSource) -> list[OpenAnswer]:
    rows = read_predictions(path)
    check_fits(rows, source)
    told = rows.told or {}
    answers = []
    for index, position_of in enumerate(rows.position_of):
        row = {name: array[index] for name, array in told.items()}
        layout = Layout(position_of, grid=rows.grid_of(index), turns=row.get("turns"))
        aside, sure = row.get("aside_prob"), row.get("confidence")
        answers.append(open_answer(layout, rows.grid_of(index), aside, sure))
    return answers


def score_open_file(path: Path, source: PuzzleSource) -> OpenScores:
    """The answers of a file, scored against the puzzles they were made for."""
    if not source.has_truth:
        raise InputError(f"{source.path}: cannot be scored, the truth is not known")
    return score_open(read_open_answers(path, source), read_truths(source, len(source)))


def open_record(scores: OpenScores, *, seed: int = 0) -> dict[str, Any]:
    """Every metric in percent with its 95 % interval, and the classes of failure, as JSON."""
    return {
        "num_puzzles": len(scores),
        "conditions": str(scores.conditions),
        "metrics": {
            metric: {
                "percent": 100 * estimate.value,
                "interval_95": [100 * estimate.low, 100 * estimate.high],
            }
            for metric, estimate in scores.estimates(seed=seed).items()
        },
        "failures": scores.failure_counts(),
    }
