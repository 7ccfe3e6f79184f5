"""``puzzleflow train``: train a network on fresh or stored puzzles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from puzzleflow.training.stored import StoredBatches
    from puzzleflow.training.stream import PuzzleStream

    Batches = PuzzleStream | StoredBatches

Data = Annotated[
    Path,
    typer.Option(help="A folder of pictures to cut fresh puzzles from, or stored puzzles."),
]
Out = Annotated[Path, typer.Option(help="Folder for state, log and weights; goes on there.")]
Masks = Annotated[
    list[str] | None,
    typer.Option(
        help="SOURCE=SHARE, several times: a generator's name, a folder of mask PNGs or a "
        "packed .npz. Default: vae."
    ),
]
Minutes = Annotated[float, typer.Option(help="Stop after this long (0: never).")]
Grids = Annotated[str, typer.Option(help="GRID=SHARE, comma-separated.")]
ValidationGrids = Annotated[str, typer.Option(help="Grids to validate on, comma-separated.")]
NumValidation = Annotated[int, typer.Option(help="Held-out puzzles of each grid.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for decoded pictures (default: OUT/cache).")
]
Workers = Annotated[int, typer.Option(help="Processes that prepare puzzles.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="NAME=VALUE of any setting, several times.")
]


def register(app: typer.Typer) -> None:
    """Add the ``train`` group."""
    group = typer.Typer(help="Train a network; stop with Ctrl-C, run again to go on.")
    group.command("relational")(relational)
    group.command("flow")(flow)
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
    rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-3,
    grids: Grids = "2x2=0.05,3x3=0.5,4x4=0.2,5x5=0.2,6x6=0.05",
    pieces_per_batch: Annotated[int, typer.Option(help="Pieces in a batch.")] = 144,
    validation_grids: ValidationGrids = "3x3,5x5",
    num_validation: NumValidation = 200,
    seed: Annotated[int, typer.Option(help="Root seed of weights and puzzles.")] = 0,
    cache: Cache = None,
    workers: Workers = 1,
    settings: Set = None,
) -> None:
    """Train the relational network."""
    from puzzleflow.models.checkpoint import bundled_weights
    from puzzleflow.training.loop import LoopSettings
    from puzzleflow.training.progress import training_progress
    from puzzleflow.training.relational import batches_of, relational_trainer

    loop = _changed(LoopSettings(steps=steps, learning_rate=rate, seed=seed), settings)
    train, held_out = _fresh(
        data, cache or out / "cache", masks, grids, pieces_per_batch, seed, with_prior=True
    )
    trainer = relational_trainer(
        loop,
        out,
        initial=bundled_weights("relational.safetensors") if initial == "bundled" else initial,
        validation=_validation(held_out, validation_grids, num_validation),
    )
    with training_progress(trainer.step, steps) as progress:
        trainer.fit(batches_of(train, workers), minutes=minutes, report=progress)
    typer.echo(f"{out}: step {trainer.step}, {trainer.puzzles_seen} puzzles seen")


def flow(
    data: Data,
    out: Out,
    preset: Annotated[str, typer.Option(help="paper, paper-supplement, small or tiny.")] = "small",
    masks: Masks = None,
    initial: Annotated[
        str | None,
        typer.Option(
            help="Weights to start from: a flow model, or a relational network whose trunk is "
            "taken over; 'bundled' takes the packaged relational ones."
        ),
    ] = None,
    vit: Annotated[
        str | None, typer.Option(help="ViT weights: a local folder or a hub name.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Epochs of stored puzzles.")] = 30,
    steps: Annotated[int, typer.Option(help="Length of the whole run (0: from epochs).")] = 0,
    minutes: Minutes = 0.0,
    rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-5,
    batch: Annotated[int, typer.Option(help="Puzzles in a batch of stored puzzles.")] = 8,
    grids: Grids = "3x3=0.7,5x5=0.3",
    pieces_per_batch: Annotated[int, typer.Option(help="Pieces in a batch of fresh ones.")] = 144,
    validation_grids: ValidationGrids = "3x3,5x5",
    num_validation: NumValidation = 200,
    states: Annotated[
        int, typer.Option(help="States of the flow asked of every puzzle, which is encoded once.")
    ] = 1,
    frozen_encoder: Annotated[bool, typer.Option(help="Leave the piece encoder as it is.")] = False,
    checkpoint_gradients: Annotated[bool, typer.Option(help="Save memory, cost time.")] = False,
    devices: Annotated[int, typer.Option(help="Processes (CPU) or GPUs.")] = 1,
    accelerator: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Root seed of weights and puzzles.")] = 0,
    cache: Cache = None,
    workers: Workers = 1,
    settings: Set = None,
) -> None:
    """Train PuzzleFlow as in the paper: AdamW 1e-5, weight decay 0.01, OneCycle, no clipping."""
    from lightning_fabric import Fabric

    from puzzleflow.models.checkpoint import bundled_weights
    from puzzleflow.models.flow_path import FlowPath
    from puzzleflow.models.puzzleflow import flow_preset
    from puzzleflow.training.flow import evaluate_and_save, flow_batches, flow_trainer
    from puzzleflow.training.loop import LoopSettings
    from puzzleflow.training.progress import training_progress

    config = flow_preset(preset)
    if _is_stored(data):
        train, held_out = _stored(data, config.piece_px, batch, seed)
        steps = steps or epochs * train.batches_per_epoch
        validation_grids = str(train.grid)
        config = _with_positions(config, train.grid.num_pieces)
    else:
        train, held_out = _fresh(
            data, cache or out / "cache", masks, grids, pieces_per_batch, seed, config.piece_px
        )
        steps = steps or 60_000
        if config.num_positions is not None:
            sizes = {grid.num_pieces for grid in train.grids}
            config = _with_positions(config, sizes.pop() if len(sizes) == 1 else None)
    published = LoopSettings(
        steps=steps, learning_rate=rate, schedule="one-cycle", warmup=0.1, weight_decay=0.01,
        decay_all=True, clip=0.0, ema_decay=0.0, seed=seed,
    )  # fmt: skip
    fabric = Fabric(
        accelerator=accelerator,
        devices=devices,
        strategy="ddp" if devices > 1 else "auto",
        precision="16-mixed" if accelerator not in ("cpu", "auto") else "32-true",
    )
    fabric.launch()
    trainer = flow_trainer(
        _changed(published, settings),
        out,
        config,
        vit_weights=vit,
        initial=bundled_weights("relational.safetensors") if initial == "bundled" else initial,
        frozen_encoder=frozen_encoder,
        checkpoint_gradients=checkpoint_gradients,
        validation=_validation(held_out, validation_grids, num_validation),
        fabric=fabric,
    )
    batches = flow_batches(
        train, FlowPath(config.schedule), seed, states=states, num_workers=workers,
        rank=fabric.global_rank, world_size=fabric.world_size,
    )  # fmt: skip
    with training_progress(trainer.step, steps) as progress:
        trainer.fit(batches, minutes=minutes, report=progress)
    if fabric.is_global_zero:
        final = evaluate_and_save(trainer, _validation(held_out, validation_grids, num_validation))
        typer.echo(f"{out}: step {trainer.step}, with 20 steps of flow {final}")


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
        for text, num in _shares(grids.split(",")).items()
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


def _is_stored(data: Path) -> bool:
    """A GAP folder, recipe or other stored puzzles, not a folder of pictures."""
    if data.is_file():
        return True
    names = {"puzzles.h5", "recipe.json"}
    folders = (data, data / "train")
    return any((folder / name).is_file() for folder in folders for name in names)


def _stored(data: Path, piece_px: int, batch: int, seed: int) -> tuple[Any, Any]:
    """Training and validation split of stored puzzles."""
    from puzzleflow.storage.open import open_puzzles
    from puzzleflow.training.stored import StoredBatches

    return tuple(
        StoredBatches(
            open_puzzles(data, split=split), piece_px=piece_px, batch_size=batch, seed=seed
        )
        for split in ("train", "val")
    )  # type: ignore[return-value]


def _fresh(
    data: Path,
    cache: Path,
    masks: list[str] | None,
    grids: str,
    pieces_per_batch: int,
    seed: int,
    piece_px: int = 64,
    with_prior: bool = False,
) -> tuple[PuzzleStream, PuzzleStream]:
    """Streams of fresh puzzles from the training and the held-out pictures."""
    from puzzleflow.training.banks import MaskBank, PictureBank, split_pictures
    from puzzleflow.training.stream import PuzzleStream, StreamConfig

    config = StreamConfig(
        grids=_shares(grids.split(",")),
        pieces_per_batch=pieces_per_batch,
        piece_px=piece_px,
        with_prior=with_prior,
    )
    bank = MaskBank.read(_shares(masks or ["vae"]))
    train, held_out = (
        PuzzleStream(
            PictureBank(split_pictures(data, split), cache), bank, config, seed=stream_seed
        )
        for split, stream_seed in (("train", seed), ("val", 7))
    )
    return train, held_out


def _validation(held_out: Batches, grids: str, num_puzzles: int) -> list[Any]:
    from puzzleflow.core.grid import Grid

    return [
        batch
        for text in grids.split(",")
        for batch in held_out.validation(Grid.parse(text), num_puzzles)
    ]


def _with_positions(config: Any, num_positions: int | None) -> Any:
    """The preset for another number of positions; a table needs one."""
    from dataclasses import replace

    from puzzleflow.core.errors import InputError

    if config.num_positions is None:
        return config
    if num_positions is None:
        raise InputError("this preset has one output a position: train it on one grid")
    return replace(config, num_positions=num_positions)


def _changed(settings: Any, changes: list[str] | None) -> Any:
    """Settings with NAME=VALUE changes, each of the type that the setting has."""
    from dataclasses import asdict, replace

    from puzzleflow.core.errors import InputError, UnknownName

    known = asdict(settings)
    values: dict[str, Any] = {}
    for change in changes or ():
        name, _, text = change.partition("=")
        if name not in known:
            raise UnknownName("setting", name, known)
        kind = type(known[name])
        try:
            values[name] = text.lower() in ("1", "true", "yes") if kind is bool else kind(text)
        except ValueError as error:
            raise InputError(f"{change!r}: expected {kind.__name__}") from error
    return replace(settings, **values)


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
