"""What the commands that train share: their options, puzzles and settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from puzzleflow.core.errors import InputError, UnknownName

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from puzzleflow.models.puzzleflow import FlowConfig
    from puzzleflow.training.loop import LoopSettings
    from puzzleflow.training.stored import StoredBatches
    from puzzleflow.training.stream import Batch, PuzzleStream

    Batches = PuzzleStream | StoredBatches

Data = Annotated[
    Path,
    typer.Option(help="A folder of pictures to cut fresh puzzles from, or stored puzzles."),
]
Masks = Annotated[
    list[str] | None,
    typer.Option(
        help="SOURCE=SHARE, several times: a generator's name, a folder of mask PNGs or a "
        "packed .npz. Default: vae."
    ),
]
Initial = Annotated[
    str | None,
    typer.Option(
        help="Weights to start from: a flow model, or a relational network whose trunk is "
        "taken over; 'bundled' takes the packaged relational ones."
    ),
]
Vit = Annotated[str | None, typer.Option(help="ViT weights: a local folder or a hub name.")]
Preset = Annotated[str, typer.Option(help="paper, paper-supplement, small or tiny.")]
Rate = Annotated[float, typer.Option(help="Peak learning rate.")]
BatchSize = Annotated[int, typer.Option(help="Puzzles in a batch of stored puzzles.")]
Grids = Annotated[str, typer.Option(help="GRID=SHARE, comma-separated.")]
PiecesPerBatch = Annotated[int, typer.Option(help="Pieces in a batch of fresh ones.")]
States = Annotated[
    int, typer.Option(help="States of the flow asked of every puzzle, which is encoded once.")
]
Accelerator = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
Seed = Annotated[int, typer.Option(help="Root seed of weights and puzzles.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for decoded pictures (default: OUT/cache).")
]
Workers = Annotated[int, typer.Option(help="Processes that prepare puzzles.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="NAME=VALUE of any setting, several times.")
]

HELD_OUT_SEED = 7


def is_stored(data: Path) -> bool:
    """A GAP folder, recipe or other stored puzzles, not a folder of pictures."""
    if data.is_file():
        return True
    names = {"puzzles.h5", "recipe.json"}
    folders = (data, data / "train")
    return any((folder / name).is_file() for folder in folders for name in names)


def stored_puzzles(
    data: Path,
    piece_px: int,
    batch: int,
    seed: int,
    with_prior: bool = False,
    held_out: str = "val",
) -> tuple[StoredBatches, StoredBatches]:
    """The training split and a held-out split of stored puzzles."""
    from puzzleflow.formats.open import open_puzzles
    from puzzleflow.training.stored import StoredBatches

    train, other = (
        StoredBatches(
            open_puzzles(data, split=split),
            piece_px=piece_px,
            batch_size=batch,
            seed=seed,
            with_prior=with_prior,
        )
        for split in ("train", held_out)
    )
    return train, other


def fresh_puzzles(
    data: Path,
    cache: Path,
    masks: list[str] | None,
    grids: str,
    pieces_per_batch: int,
    seed: int,
    piece_px: int = 64,
    with_prior: bool = False,
    held_out: str = "val",
) -> tuple[PuzzleStream, PuzzleStream]:
    """Streams of fresh puzzles from the training and the held-out pictures."""
    from puzzleflow.training.banks import MaskBank, PictureBank, split_pictures
    from puzzleflow.training.stream import PuzzleStream, StreamConfig

    config = StreamConfig(
        grids=shares(grids.split(",")),
        pieces_per_batch=pieces_per_batch,
        piece_px=piece_px,
        with_prior=with_prior,
    )
    bank = MaskBank.read(shares(masks or ["vae"]))
    train, other = (
        PuzzleStream(
            PictureBank(split_pictures(data, split), cache), bank, config, seed=stream_seed
        )
        for split, stream_seed in (("train", seed), (held_out, HELD_OUT_SEED))
    )
    return train, other


def flow_puzzles(
    config: FlowConfig,
    data: Path,
    *,
    cache: Path,
    masks: list[str] | None,
    grids: str,
    pieces_per_batch: int,
    batch: int,
    seed: int,
    held_out: str = "val",
) -> tuple[FlowConfig, Batches, Batches]:
    """The preset fitted to the puzzles, training and held-out puzzles, fresh or stored."""
    train: Batches
    other: Batches
    if is_stored(data):
        train, other = stored_puzzles(data, config.piece_px, batch, seed, config.relates, held_out)
    else:
        train, other = fresh_puzzles(
            data, cache, masks, grids, pieces_per_batch, seed, config.piece_px, config.relates,
            held_out,
        )  # fmt: skip
    if config.num_positions is not None:
        sizes = {grid.num_pieces for grid in train.grids}
        if len(sizes) > 1:
            raise InputError("this preset has one output a position: train it on one grid")
        config = replace(config, num_positions=sizes.pop())
    return config, train, other


def held_out_batches(held_out: Batches, grids: Iterable[str], num_puzzles: int) -> list[Batch]:
    """The same puzzles every time, grid by grid."""
    from puzzleflow.core.grid import Grid

    return [batch for text in grids for batch in held_out.validation(Grid.parse(text), num_puzzles)]


def weights_to_start_from(initial: str | None) -> str | Path | None:
    """``--initial``: a path as it is, "bundled" as the packaged relational weights."""
    from puzzleflow.models.checkpoint import bundled_weights

    return bundled_weights("relational.safetensors") if initial == "bundled" else initial


def fabric_for(accelerator: str, devices: int = 1) -> Fabric:
    """Device, precision (mixed on GPUs) and processes."""
    from lightning_fabric import Fabric

    return Fabric(
        accelerator=accelerator,
        devices=devices,
        strategy="ddp" if devices > 1 else "auto",
        precision="16-mixed" if accelerator not in ("cpu", "auto") else "32-true",
    )


def changed(settings: LoopSettings, changes: list[str] | None) -> LoopSettings:
    """Settings with NAME=VALUE changes, each of the type that the setting has."""
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


def shares(entries: list[str]) -> dict[str, float]:
    """``["a=0.5", "b"]`` → {"a": 0.5, "b": 1.0}."""
    found = {}
    for entry in entries:
        name, _, share = entry.partition("=")
        try:
            found[name.strip()] = float(share or 1.0)
        except ValueError as error:
            raise InputError(f"{entry!r}: expected NAME=SHARE") from error
    return found
