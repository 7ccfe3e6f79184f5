"""``puzzleflow train``: train a network on fresh or stored puzzles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from puzzleflow.cli._training import (
    Accelerator,
    BatchSize,
    Cache,
    Data,
    Grids,
    Initial,
    Masks,
    PiecesPerBatch,
    Preset,
    Rate,
    Seed,
    Set,
    States,
    Vit,
    Workers,
    changed,
    fabric_for,
    flow_puzzles,
    fresh_puzzles,
    held_out_batches,
    shares,
    weights_to_start_from,
)

Out = Annotated[Path, typer.Option(help="Folder for state, log and weights; goes on there.")]
Minutes = Annotated[float, typer.Option(help="Stop after this long (0: never).")]
ValidationGrids = Annotated[str, typer.Option(help="Grids to validate on, comma-separated.")]
NumValidation = Annotated[int, typer.Option(help="Held-out puzzles of each grid.")]


def register(app: typer.Typer) -> None:
    """Add the ``train`` group."""
    group = typer.Typer(help="Train a network; stop with Ctrl-C, run again to go on.")
    group.command("relational")(relational)
    group.command("flow")(flow)
    group.command("edges")(edges)
    group.command("pack")(pack)
    group.command("held-out")(held_out)
    app.add_typer(group, name="train")


def relational(
    data: Data,
    out: Out,
    masks: Masks = None,
    initial: Annotated[
        str | None, typer.Option(help="Weights to start from; 'bundled' takes the packaged ones.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Length of the whole run.")] = 60_000,
    minutes: Minutes = 0.0,
    rate: Rate = 1e-3,
    grids: Grids = "2x2=0.05,3x3=0.5,4x4=0.2,5x5=0.2,6x6=0.05",
    pieces_per_batch: Annotated[int, typer.Option(help="Pieces in a batch.")] = 144,
    validation_grids: ValidationGrids = "3x3,5x5",
    num_validation: NumValidation = 200,
    seed: Seed = 0,
    cache: Cache = None,
    workers: Workers = 1,
    settings: Set = None,
) -> None:
    """Train the relational network."""
    from puzzleflow.training.loop import LoopSettings
    from puzzleflow.training.progress import training_progress
    from puzzleflow.training.relational import batches_of, relational_trainer

    loop = changed(LoopSettings(steps=steps, learning_rate=rate, seed=seed), settings)
    train, held_out = fresh_puzzles(
        data, cache or out / "cache", masks, grids, pieces_per_batch, seed, with_prior=True
    )
    trainer = relational_trainer(
        loop,
        out,
        initial=weights_to_start_from(initial),
        validation=held_out_batches(held_out, validation_grids.split(","), num_validation),
    )
    with training_progress(trainer.step, steps) as progress:
        trainer.fit(batches_of(train, workers), minutes=minutes, report=progress)
    typer.echo(f"{out}: step {trainer.step}, {trainer.puzzles_seen} puzzles seen")


def flow(
    data: Data,
    out: Out,
    preset: Preset = "small",
    masks: Masks = None,
    initial: Initial = None,
    vit: Vit = None,
    epochs: Annotated[int, typer.Option(help="Epochs of stored puzzles.")] = 30,
    steps: Annotated[int, typer.Option(help="Length of the whole run (0: from epochs).")] = 0,
    minutes: Minutes = 0.0,
    rate: Rate = 1e-5,
    batch: BatchSize = 8,
    grids: Grids = "3x3=0.7,5x5=0.3",
    pieces_per_batch: PiecesPerBatch = 144,
    validation_grids: ValidationGrids = "3x3,5x5",
    num_validation: NumValidation = 200,
    states: States = 1,
    frozen_encoder: Annotated[bool, typer.Option(help="Leave the piece encoder as it is.")] = False,
    checkpoint_gradients: Annotated[bool, typer.Option(help="Save memory, cost time.")] = False,
    devices: Annotated[int, typer.Option(help="Processes (CPU) or GPUs.")] = 1,
    accelerator: Accelerator = "cpu",
    seed: Seed = 0,
    cache: Cache = None,
    workers: Workers = 1,
    settings: Set = None,
) -> None:
    """Train PuzzleFlow as in the paper: AdamW 1e-5, weight decay 0.01, OneCycle, no clipping."""
    from puzzleflow.models.flow_path import FlowPath
    from puzzleflow.models.puzzleflow import flow_preset
    from puzzleflow.training.flow import (
        evaluate_and_save,
        flow_batches,
        flow_trainer,
        published_settings,
    )
    from puzzleflow.training.progress import training_progress
    from puzzleflow.training.stored import StoredBatches

    config, train, held_out = flow_puzzles(
        flow_preset(preset), data, cache=cache or out / "cache", masks=masks, grids=grids,
        pieces_per_batch=pieces_per_batch, batch=batch, seed=seed,
    )  # fmt: skip
    if isinstance(train, StoredBatches):
        steps = steps or epochs * train.batches_per_epoch
        validation_grids = str(train.grid)
    steps = steps or 60_000
    validation = held_out_batches(held_out, validation_grids.split(","), num_validation)
    fabric = fabric_for(accelerator, devices)
    fabric.launch()
    trainer = flow_trainer(
        changed(published_settings(steps, learning_rate=rate, seed=seed), settings),
        out,
        config,
        vit_weights=vit,
        initial=weights_to_start_from(initial),
        frozen_encoder=frozen_encoder,
        checkpoint_gradients=checkpoint_gradients,
        validation=validation,
        fabric=fabric,
    )
    batches = flow_batches(
        train, FlowPath(config.schedule), seed, states=states, num_workers=workers,
        rank=fabric.global_rank, world_size=fabric.world_size,
    )  # fmt: skip
    with training_progress(trainer.step, steps) as progress:
        trainer.fit(batches, minutes=minutes, report=progress)
    if fabric.is_global_zero:
        final = evaluate_and_save(trainer, validation)
        typer.echo(f"{out}: step {trainer.step}, with 20 steps of flow {final}")


def edges(
    data: Data,
    out: Out,
    masks: Masks = None,
    steps: Annotated[int, typer.Option(help="Length of the whole run.")] = 20_000,
    minutes: Minutes = 0.0,
    rate: Rate = 1e-3,
    grids: Grids = "2x2=0.05,3x3=0.5,4x4=0.2,5x5=0.2,6x6=0.05",
    pieces_per_batch: Annotated[int, typer.Option(help="Pieces in a batch.")] = 144,
    hard_from: Annotated[
        float, typer.Option(help="Share of the run after which triplets are hard.")
    ] = 0.75,
    validation_grids: ValidationGrids = "3x3,5x5",
    num_validation: NumValidation = 200,
    seed: Seed = 0,
    cache: Cache = None,
    workers: Workers = 1,
    settings: Set = None,
) -> None:
    """Train the side embedding of the solver rg-lns: hard triplets, from random weights."""
    from puzzleflow.training.edge_embedding import edge_trainer, save_edges
    from puzzleflow.training.loop import LoopSettings
    from puzzleflow.training.progress import training_progress
    from puzzleflow.training.relational import batches_of

    loop = changed(LoopSettings(steps=steps, learning_rate=rate, seed=seed), settings)
    train, held_out = fresh_puzzles(
        data, cache or out / "cache", masks, grids, pieces_per_batch, seed
    )
    validation = held_out_batches(held_out, validation_grids.split(","), num_validation)
    trainer = edge_trainer(loop, out, hard_from=hard_from, validation=validation)
    with training_progress(trainer.step, steps) as progress:
        trainer.fit(batches_of(train, workers), minutes=minutes, report=progress)
    described = save_edges(trainer, validation)
    typer.echo(f"{out}: step {trainer.step}, {described['validation']}")


def pack(
    run: Annotated[Path, typer.Argument(help="Folder of a relational training run.")],
    data: Annotated[Path, typer.Option(help="Folder of pictures; the held-out part is used.")],
    out: Annotated[Path, typer.Option(help="Weights file to write (.safetensors).")],
    erosion: Annotated[str, typer.Option(help="Erosion of the validation puzzles.")] = "vae",
    grids: Annotated[str, typer.Option(help="GRID=PUZZLES, comma-separated.")] = "3x3=300,5x5=100",
    seed: Annotated[int, typer.Option(help="Seed of the validation puzzles.")] = 0,
) -> None:
    """Turn a relational run into weights: average, calibrate and evaluate on held-out pictures."""
    from puzzleflow.core.grid import Grid
    from puzzleflow.training.banks import split_pictures
    from puzzleflow.training.packing import cut_puzzles, pack_relational

    pictures = split_pictures(data, "val")
    validation = {
        Grid.parse(text): cut_puzzles(pictures, Grid.parse(text), erosion, seed, int(num))
        for text, num in shares(grids.split(",")).items()
    }
    described = pack_relational(run / "state.safetensors", validation, out, typer.echo)
    typer.echo(f"{out}: {described['validation']}")


def held_out(
    data: Annotated[Path, typer.Argument(help="Folder of pictures that training used.")],
    out: Annotated[Path, typer.Option(help="Folder to fill with links.")],
    split: Annotated[str, typer.Option(help="test or val.")] = "test",
) -> None:
    """Link the pictures that training never saw, so that puzzles can be cut from them."""
    from puzzleflow.core.errors import UnknownName
    from puzzleflow.training.banks import SPLITS, split_pictures

    if split not in SPLITS:
        raise UnknownName("split", split, SPLITS)
    pictures = split_pictures(data, split)
    out.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        link = out / picture.name
        link.unlink(missing_ok=True)
        link.symlink_to(picture.resolve())
    typer.echo(f"{out}: {len(pictures)} pictures of split {split}")
