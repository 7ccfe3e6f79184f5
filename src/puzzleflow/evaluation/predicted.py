"""Predictions from a file, matched with the puzzles they were made for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from puzzleflow.core.errors import InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import Scores, official_result, score
from puzzleflow.core.open_facts import open_answer
from puzzleflow.core.open_metrics import OpenAnswer, OpenScores, score_open
from puzzleflow.core.puzzle import Layout, Puzzle
from puzzleflow.evaluation.results import read_truths
from puzzleflow.evaluation.runner import data_fingerprint
from puzzleflow.storage.layout import SavedLayout, default_names, read_layout
from puzzleflow.storage.predictions import Predictions, read_predictions
from puzzleflow.storage.solutions import SOLUTIONS, Solved, read_solutions
from puzzleflow.storage.source import PuzzleSource

Found = TypeVar("Found", Solved, SavedLayout)
FAR_BETTER = 0.1  # pieces in place that the other direction must gain to be worth a hint


def read_answers(
    path: Path, source: PuzzleSource | None = None, *, direction: str | None = None
) -> Predictions:
    """One layout for every puzzle of ``source``, from any file that holds layouts.

    path  an ``.npz`` or ``.npy`` of predictions; ``solutions.jsonl`` or the folder that
          holds it; one layout JSON, or a folder of ``*layout.json``
    """
    if path.is_dir() and (path / SOLUTIONS).is_file():
        path /= SOLUTIONS
    if not path.is_dir() and path.suffix not in (".json", ".jsonl"):
        return read_predictions(path, direction=direction)
    if direction is not None:
        raise InputError(f"{path}: layouts say themselves which piece lies where")
    if source is None:
        raise InputError(f"{path}: layouts come without the truth: give the puzzles too")
    if source.grid is None:
        raise InputError(f"{source.path}: cannot be scored, the puzzles differ in grid")
    layouts = read_layouts(path, source)
    return Predictions(np.stack([layout.position_of for layout in layouts]))


def read_layouts(path: Path, source: PuzzleSource) -> list[Solved] | list[SavedLayout]:
    """The layout of every puzzle of ``source``, from JSON lines or from layouts as JSON."""
    if path.suffix == ".jsonl":
        return _complete(_from_solutions(path, source), path, source)
    return _complete(_from_json(path, source), path, source)


def _complete(layouts: dict[int, Found], path: Path, source: PuzzleSource) -> list[Found]:
    missing = [index for index in range(len(source)) if index not in layouts]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{path}: no layout of puzzle {source.puzzle_id(missing[0])!r}{more} "
            f"of the {len(source)} in {source.path}"
        )
    return [layouts[index] for index in range(len(source))]


def _from_solutions(path: Path, source: PuzzleSource) -> dict[int, Solved]:
    heading, solved = read_solutions(path)
    if heading.get("data", data_fingerprint(source)) != data_fingerprint(source):
        raise InputError(f"{path}: the solutions were made for other puzzles than {source.path}")
    places = _Places(source)
    layouts: dict[int, Solved] = {}
    for one in solved:
        with naming(path):
            index = places.find(one.id, one.index)
            if Grid.parse(one.grid) != source.grid and not source.conditions.hidden:
                raise InputError(f"puzzle {one.id!r} is {one.grid}, not {source.grid}")
        layouts[index] = one
    return layouts


def _from_json(path: Path, source: PuzzleSource) -> dict[int, SavedLayout]:
    files = sorted(path.rglob("*layout.json")) if path.is_dir() else [path]
    places = _Places(source)
    layouts: dict[int, SavedLayout] = {}
    for file in files:
        saved = read_layout(file)
        with naming(file):
            index = 0 if len(source) == 1 else places.find(saved.puzzle_id)
            layouts[index] = matched(saved, source[index])
    return layouts


class _Places:
    """Where the puzzles of a source are, by their ids; each is found once."""

    def __init__(self, source: PuzzleSource) -> None:
        self.source = source
        self.ids = [source.puzzle_id(index) for index in range(len(source))]
        self.count = Counter(self.ids)
        self.found: set[int] = set()

    def find(self, puzzle_id: str, index: int | None = None) -> int:
        """The index of a puzzle; ids that repeat need it to be told."""
        if index is None and self.count[puzzle_id] == 1:
            index = self.ids.index(puzzle_id)
        if index is None or index >= len(self.ids) or puzzle_id not in ("", self.ids[index]):
            held = f"{self.count[puzzle_id]} puzzles" if self.count[puzzle_id] > 1 else "no puzzle"
            number = "" if index is None else f" as number {index}"
            raise InputError(f"{self.source.path} holds {held} called {puzzle_id!r}{number}")
        if index in self.found:
            raise InputError(f"a second layout of puzzle {self.ids[index]!r}")
        self.found.add(index)
        return index


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
    if predictions.told is not None:
        raise InputError("answers of the open world are scored with the open puzzles they are of")
    if source is None:
        if predictions.targets is None:
            raise InputError("no targets beside the predictions: give the puzzles too")
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


def better_turned(
    predictions: Predictions,
    scores: Scores,
    source: PuzzleSource | None = None,
    *,
    grid: Grid | None = None,
    count_given: bool = False,
) -> float | None:
    """AA of the predictions read in the other direction, if that is far better."""
    turned = score_predictions(predictions.turned(), source, grid=grid, count_given=count_given)
    ours, theirs = scores.absolute_accuracy, turned.absolute_accuracy
    return theirs if theirs > max(2 * ours, ours + FAR_BETTER) else None


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
    num_pieces = source.conditions.num_pieces(source.grid) if source.grid else None
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
    result["puzzleflow"] = _percentages(scores, seed)
    return result


def _percentages(scores: Scores | OpenScores, seed: int) -> dict[str, Any]:
    return {
        "metrics": {
            metric: {
                "percent": 100 * estimate.value,
                "interval_95": [100 * estimate.low, 100 * estimate.high],
            }
            for metric, estimate in scores.estimates(seed=seed).items()
        },
        "failures": scores.failure_counts(),
    }


def matched(saved: SavedLayout, puzzle: Puzzle) -> SavedLayout:
    """A saved layout with its pieces in the order of the puzzle's.

    Pieces are matched by name, or by their order where names repeat. A layout of another
    puzzle is refused: one of another grid, with other names, or with another id where
    the names are those that every puzzle without names has.
    """
    if not puzzle.conditions.hidden and puzzle.known_grid not in (None, saved.grid):
        raise InputError(f"a layout for a {saved.grid} grid does not fit a {puzzle.grid} puzzle")
    unnamed = default_names(puzzle.num_pieces)
    names = puzzle.names or unnamed
    strange = Counter(saved.names) - Counter(names)
    if strange:
        raise InputError(f"a layout of other pieces: none here is called {next(iter(strange))!r}")
    if len(saved.names) < len(names):
        raise InputError(f"a layout of {len(saved.names)} pieces, not of {len(names)}")
    ids = {puzzle.puzzle_id, saved.puzzle_id} - {""}
    if names == unnamed and len(ids) > 1:
        raise InputError(f"a layout of puzzle {saved.puzzle_id!r}, not of {puzzle.puzzle_id!r}")
    if len(set(names)) < len(names):
        return saved
    return saved.reordered([saved.names.index(name) for name in names])


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
        **_percentages(scores, seed),
    }
