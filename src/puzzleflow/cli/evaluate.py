"""``puzzleflow evaluate``: score predictions or layouts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puzzleflow.cli._options import Centre, Protocol
from puzzleflow.cli._talk import STDOUT, put_json

if TYPE_CHECKING:
    from rich.table import Table

    from puzzleflow.core.metrics import Scores
    from puzzleflow.core.open_metrics import OpenScores
    from puzzleflow.storage.source import PuzzleSource

NAMES = {
    "perfect": "PA   puzzles solved",
    "absolute": "AA   pieces in place",
    "relations": "SRA  relations kept",
    "horizontal": "HA   right and left",
    "vertical": "VA   down and up",
    "neighbours": "     neighbours, any side",
}


def evaluate(
    predictions: Annotated[
        Path,
        typer.Option(
            help="Official .npz (piece to position), baseline .npy (position to piece), "
            "solutions.jsonl of `solve`, a layout JSON, or a folder of these layouts; for "
            "free-form fragments an assembly.json or a folder of them."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="The puzzles; without it the targets inside the predictions count."),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option(help="piece-to-position or position-to-piece, if not as the kind of file."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="train, val or test.")] = None,
    grid: Annotated[str | None, typer.Option(help="ROWSxCOLS, where no file says it.")] = None,
    centre: Centre = Protocol.GIVEN,
    json: Annotated[
        Path | None,
        typer.Option(help="Write the official evaluation result here; - prints it, and only it."),
    ] = None,
    count_given: Annotated[
        bool, typer.Option("--count-given", help="Count pieces that the protocol gives away.")
    ] = False,
    repair_legacy: Annotated[
        bool,
        typer.Option("--repair-legacy", help="Add the published RePAIR scores, faults included."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
) -> None:
    """Score predictions or layouts: PA, AA, SRA with 95 % intervals, and how puzzles fail.

    Free-form fragments: shared area, poses, neighbours, overlap, foreign fragments.
    """
    from rich.console import Console

    from puzzleflow.core.errors import InputError, naming
    from puzzleflow.core.grid import Grid
    from puzzleflow.evaluation.predicted import (
        better_turned,
        read_answers,
        result_record,
        score_predictions,
    )
    from puzzleflow.formats.open import is_free_form, open_puzzles

    if data is not None and is_free_form(data):
        _evaluate_assemblies(predictions, data, json, repair_legacy, seed)
        return
    lattice = Grid.parse(grid) if grid else None
    free = centre is Protocol.FREE
    source = open_puzzles(data, split=split, grid=lattice, centre_free=free) if data else None
    if source is not None and not source.conditions.is_closed:
        if direction is not None or count_given:
            raise InputError("--direction and --count-given speak of closed puzzles")
        _evaluate_open(predictions, source, json, seed)
        return
    answers = read_answers(predictions, source, direction=direction)
    with naming(predictions):
        scores = score_predictions(answers, source, grid=lattice, count_given=count_given)
        better = better_turned(answers, scores, source, grid=lattice, count_given=count_given)
    if json is not None:
        put_json(json, result_record(scores, seed=seed))
    console = Console(stderr=json == STDOUT)
    console.print(f"{len(scores):,} puzzles of {scores.grid} pieces")
    console.print(_metric_table(scores, seed))
    console.print(_failure_table(scores))
    if better is not None:
        console.print(
            f"hint: read in the other direction, {better:.1%} of the pieces would lie in place; "
            "see --direction"
        )


def _evaluate_open(predictions: Path, source: PuzzleSource, json: Path | None, seed: int) -> None:
    from rich.console import Console

    from puzzleflow.core.errors import naming
    from puzzleflow.evaluation.predicted import open_record, score_open_file

    with naming(predictions):
        scores = score_open_file(predictions, source)
    if json is not None:
        put_json(json, open_record(scores, seed=seed))
    console = Console(stderr=json == STDOUT)
    console.print(f"{len(scores):,} puzzles of {source.grid} cells: {scores.conditions}")
    console.print(_metric_table(scores, seed))
    console.print(_failure_table(scores))


def _evaluate_assemblies(
    answers: Path, data: Path, json: Path | None, legacy: bool, seed: int
) -> None:
    from rich.console import Console
    from rich.table import Table

    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.evaluation.assemblies import score_answers
    from puzzleflow.formats.open import open_fragments

    source = open_fragments(data)
    with stage_progress() as progress:
        scored = score_answers(answers, source, legacy=legacy, on_progress=progress)
    if json is not None:
        put_json(json, scored.record(seed=seed))
    table = Table("metric", "mean", "95 % interval")
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, each in scored.estimates(seed=seed).items():
        table.add_row(name, f"{each.value:.4f}", f"{each.low:.4f} to {each.high:.4f}")
    console = Console(stderr=json == STDOUT)
    console.print(f"{len(scored.scores):,} of {len(source):,} sets of fragments answered")
    console.print(table)


def _metric_table(scores: Scores | OpenScores, seed: int) -> Table:
    from rich.table import Table

    from puzzleflow.evaluation.tables import open_name

    table = Table("metric", "%", "95 % interval")
    table.columns[1].justify = table.columns[2].justify = "right"
    for metric, estimate in scores.estimates(seed=seed).items():
        low, high = 100 * estimate.low, 100 * estimate.high
        name = NAMES.get(metric) or open_name(metric)
        table.add_row(name, f"{100 * estimate.value:.2f}", f"{low:.2f} to {high:.2f}")
    return table


def _failure_table(scores: Scores | OpenScores) -> Table:
    from rich.table import Table

    table = Table("layout", "puzzles", "%")
    table.columns[1].justify = table.columns[2].justify = "right"
    for label, count in scores.failure_counts().items():
        table.add_row(label, f"{count:,}", f"{100 * count / len(scores):.1f}")
    return table
