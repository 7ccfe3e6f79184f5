"""``puzzleflow train``: train a network on fresh puzzles cut from a picture folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the ``train`` group."""
    group = typer.Typer(help="Train a network; stop with Ctrl-C, run again to go on.")
    group.command("relational")(relational)
    app.add_typer(group, name="train")


def relational(
    data: Annotated[Path, typer.Option(help="Folder of pictures to cut puzzles from.")],
    out: Annotated[Path, typer.Option(help="Folder for state, log and weights; resumes there.")],
    masks: Annotated[
        list[str],
        typer.Option(
            help="SOURCE=SHARE, several times: a folder of mask PNGs, a packed .npz, "
            "or a generator's name (vae)."
        ),
    ] = ["vae=1"],  # noqa: B006
    initial: Annotated[
        Path | None, typer.Option(help="Weights to start from; 'bundled' takes the packaged ones.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Length of the whole run.")] = 60_000,
    minutes: Annotated[float, typer.Option(help="Stop after this long (0: never).")] = 0.0,
    rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-3,
    grids: Annotated[
        str, typer.Option(help="GRID=SHARE, comma-separated.")
    ] = "2x2=0.05,3x3=0.5,4x4=0.2,5x5=0.2,6x6=0.05",
    pieces_per_batch: Annotated[int, typer.Option(help="Pieces in a batch.")] = 144,
    validate_every: Annotated[int, typer.Option(help="Steps between validations.")] = 1000,
    validation_grids: Annotated[
        str, typer.Option(help="Grids to validate on, comma-separated.")
    ] = "3x3,5x5",
    num_validation: Annotated[int, typer.Option(help="Held-out puzzles of each grid.")] = 200,
    seed: Annotated[int, typer.Option(help="Root seed of weights and puzzles.")] = 0,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for decoded pictures (default: OUT/cache).")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that cut puzzles.")] = 1,
) -> None:
    """Train the relational network on fresh puzzles."""
    from puzzleflow.core.grid import Grid
    from puzzleflow.models.checkpoint import bundled_weights
    from puzzleflow.training.banks import MaskBank, PictureBank, split_pictures
    from puzzleflow.training.loop import LoopSettings
    from puzzleflow.training.progress import training_progress
    from puzzleflow.training.relational import batches_of, relational_trainer
    from puzzleflow.training.stream import PuzzleStream, StreamConfig

    config = StreamConfig(grids=_shares(grids.split(",")), pieces_per_batch=pieces_per_batch)
    bank = MaskBank.read(_shares(masks))
    train, held_out = (
        PuzzleStream(
            PictureBank(split_pictures(data, split), cache or out / "cache"),
            bank,
            config,
            seed=stream_seed,
        )
        for split, stream_seed in (("train", seed), ("val", 7))
    )
    if initial is not None and str(initial) == "bundled":
        initial = bundled_weights("relational.safetensors")
    trainer = relational_trainer(
        LoopSettings(steps=steps, learning_rate=rate, validate_every=validate_every, seed=seed),
        out,
        initial=initial,
        validation=[
            batch
            for text in validation_grids.split(",")
            for batch in held_out.validation(Grid.parse(text), num_validation)
        ],
    )
    with training_progress(trainer.step, steps) as progress:
        trainer.fit(batches_of(train, workers), minutes=minutes, report=progress)
    typer.echo(f"{out}: step {trainer.step}, {trainer.puzzles_seen} puzzles seen")


def _shares(entries: list[str]) -> dict[str, float]:
    """``["a=0.5", "b"]`` → {"a": 0.5, "b": 1.0}."""
    from puzzleflow.core.errors import InputError

    shares = {}
    for entry in entries:
        name, _, share = entry.partition("=")
        try:
            shares[name.strip()] = float(share or 1.0)
        except ValueError as error:
            raise InputError(f"{entry!r}: expected NAME=SHARE") from error
    return shares
