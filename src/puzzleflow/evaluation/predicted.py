"""Predictions from a file, matched with the puzzles they were made for."""

from __future__ import annotations

from typing import Any

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import Scores, official_result, score
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import IntArray
from puzzleflow.storage.layout import SavedLayout
from puzzleflow.storage.predictions import Predictions
from puzzleflow.storage.source import PuzzleSource


def score_predictions(
    predictions: Predictions,
    source: PuzzleSource | None = None,
    *,
    grid: Grid | None = None,
    count_given: bool = False,
) -> Scores:
    """Score predictions against the puzzles of ``source``, or else their own targets.

    Pieces that the protocol gives away (see :func:`given_positions`) do not count
    in AA unless ``count_given``. Targets that differ from the truth of the source are an
    error: the predictions belong to other puzzles.
    """
    if source is None:
        if predictions.targets is None:
            raise InputError("no targets beside the predictions: give the puzzles too (--data)")
        return score(
            predictions.position_of,
            predictions.targets,
            grid or predictions.grid or Grid.square(predictions.num_pieces),
        )
    truth = source.truths()
    if truth is None:
        why = "the truth is not known" if not source.has_truth else "the puzzles differ in grid"
        raise InputError(f"{source.path}: cannot be scored, {why}")
    check_fits(predictions, source)
    if predictions.targets is not None and not np.array_equal(predictions.targets, truth):
        raise InputError(f"the predictions were made for other puzzles than {source.path}")
    given = () if count_given else given_positions(source)
    assert source.grid is not None, "one array of truths means one grid"
    return score(predictions.position_of, truth, source.grid, given=given)


def given_positions(source: PuzzleSource) -> tuple[int, ...]:
    """Positions whose pieces are given away in every puzzle, such as the centre in JPwLEG."""
    shared = set(source.pins(0).values())
    for index in range(1, len(source)):
        if not shared:
            break
        shared &= set(source.pins(index).values())
    return tuple(sorted(shared))


def check_fits(predictions: Predictions, source: PuzzleSource) -> None:
    """Raise unless there is one prediction of the right size for every puzzle."""
    num_pieces = source.grid.num_pieces if source.grid else None
    if len(predictions) != len(source) or num_pieces not in (None, predictions.num_pieces):
        held = f"{len(source)} puzzles" + (f" of {num_pieces} pieces" if num_pieces else "")
        raise InputError(
            f"{len(predictions)} predictions of {predictions.num_pieces} pieces, "
            f"but {source.path} holds {held}"
        )


def result_record(scores: Scores, *, seed: int = 0) -> dict[str, Any]:
    """The official evaluation result, with what it lacks under a key of its own.

    ``legacy_format`` is what the official baselines add; ``puzzleflow`` holds
    every metric in percent with its 95 % interval, and the classes of failure.
    """
    result = official_result(scores)
    metrics = result["metrics"]
    result["legacy_format"] = {
        "perfect_rate": metrics["perfect_accuracy"] / 100,
        "piece_accuracy": metrics["absolute_accuracy"] / 100,
        "neighbor_accuracy": metrics["spatial_relationship_accuracy"] / 100,
        "per_sample_piece_acc": scores.per_puzzle("absolute"),
        "per_sample_perfect": scores.is_perfect,
    }
    result["puzzleflow"] = {
        "metrics": {
            metric: {
                "percent": 100 * estimate.value,
                "interval_95": [100 * estimate.low, 100 * estimate.high],
            }
            for metric, estimate in scores.estimates(seed=seed).items()
        },
        "failures": scores.failure_counts(),
    }
    return result


def layout_of(saved: SavedLayout, puzzle: Puzzle) -> IntArray:
    """(N,) positions of a saved layout in the order of the puzzle's pieces; -1 is nowhere.

    Pieces are matched by name where both sides have the same names, and by
    their order otherwise.
    """
    if saved.grid != puzzle.grid:
        raise InputError(f"a layout for a {saved.grid} grid does not fit a {puzzle.grid} puzzle")
    names = puzzle.names
    if names is None or sorted(names) != sorted(saved.names) or len(set(names)) < len(names):
        return saved.position_of
    where = dict(zip(saved.names, saved.position_of, strict=True))
    return np.array([where[name] for name in names], dtype=np.int64)
