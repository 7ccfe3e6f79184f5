"""What the commands that train share: their options, puzzles and settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.options import options_of

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Data = Annotated[
    Path,
    typer.Option(help="A folder of pictures to cut fresh puzzles from, or stored puzzles."),
]
Masks = Annotated[
    list[str] | None,
    typer.Option(
        help="SOURCE=SHARE, several times: a generator's name, a folder of mask PNGs or a "
        "packed .npz. Default: vae, or what the preset draws."
    ),
]
Initial = Annotated[
    str | None,
    typer.Option(
        help="Weights to start from; 'bundled' takes packaged ones. flow-seams takes a flow model, "
        "or a relational network for its trunk."
    ),
]
Preset = Annotated[str, typer.Option(help="A configuration of the network by its name.")]
Rate = Annotated[float | None, typer.Option(help="Peak learning rate (default: the preset's).")]
BatchSize = Annotated[
    int | None,
    typer.Option(help="Puzzles in a batch of stored ones (default: the preset's).", min=1),
]
Grids = Annotated[str, typer.Option(help="GRID=SHARE, comma-separated.")]
PiecesPerBatch = Annotated[
    int | None,
    typer.Option(help="Pieces in a batch of fresh ones (default: the preset's).", min=1),
]
Accelerator = Annotated[
    str,
    typer.Option(
        "--device",
        "--accelerator",
        help="cpu, cuda, mps, or auto: a GPU, in FP16, if there is one.",
    ),
]
Threads = Annotated[int, typer.Option(help="Threads of PyTorch (0: as it likes).", min=0)]
Logger = Annotated[
    list[str] | None,
    typer.Option(
        help="Beside log.jsonl and TensorBoard, several times: csv:root_dir=FOLDER, "
        "wandb:project=NAME, or FILE.py:CLASS of a Fabric logger."
    ),
]
Seed = Annotated[int, typer.Option(help="Root seed of weights and puzzles.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for decoded pictures and masks (default: OUT/cache).")
]
Workers = Annotated[int, typer.Option(help="Processes that prepare puzzles.", min=0)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="NAME=VALUE of any setting of loop or puzzles, several times."),
]


def weights_to_start_from(initial: str | None, bundled: str | None) -> str | Path | None:
    """``--initial``: a file, a folder of one or an address; "bundled" is packaged weights."""
    from puzzleflow.models.checkpoint import bundled_weights
    from puzzleflow.models.pretrained import weights_at

    if initial != "bundled":
        return initial and weights_at(initial)
    if bundled is None:
        raise InputError("no weights for this network are bundled")
    return bundled_weights(bundled)


def fabric_for(
    accelerator: str,
    devices: int = 1,
    mixed: bool = True,
    threads: int = 0,
    loggers: Sequence[str] | None = None,
) -> Fabric:
    """Device, precision (``mixed`` on GPUs only), processes, threads and loggers.

    Below ``torchrun`` processes and machines are those that it says; they part at exit.
    """
    import atexit
    import os

    import torch
    from lightning_fabric import Fabric

    from puzzleflow.models.device import find_device
    from puzzleflow.training.log import load_loggers
    from puzzleflow.training.processes import leave_group

    atexit.register(leave_group)
    if threads:
        torch.set_num_threads(threads)
    where = find_device(accelerator)
    everywhere = int(os.environ.get("WORLD_SIZE", devices))
    here = int(os.environ.get("LOCAL_WORLD_SIZE", devices))
    return Fabric(
        accelerator=where.type,
        devices=here if where.index is None else [where.index],
        num_nodes=max(1, everywhere // here),
        strategy="ddp" if everywhere > 1 else "auto",
        precision="16-mixed" if mixed and where.type != "cpu" else "32-true",
        loggers=load_loggers(loggers or ()),
    )


def changed(changes: Iterable[str] | None, *groups: Any) -> list[Any]:
    """The dataclasses with NAME=VALUE changes, each of the type that the setting has."""
    known = [options_of(type(group)) for group in groups]
    values: list[dict[str, Any]] = [{} for _ in groups]
    for change in changes or ():
        name, _, text = change.partition("=")
        place = next((k for k, group in enumerate(known) if name in group), None)
        if place is None:
            raise UnknownName("setting", name, [n for group in known for n in group])
        if not known[place][name].kinds:
            raise InputError(f"{name} has an option of its own")
        values[place][name] = known[place][name].checked(text, "settings")
    return [replace(group, **new) for group, new in zip(groups, values, strict=True)]


def shares(entries: list[str]) -> dict[str, float]:
    """``["a=0.5", "b"]`` → {"a": 0.5, "b": 1.0}."""
    found = {}
    for entry in entries:
        name, _, share = entry.partition("=")
        try:
            found[name.strip()] = float(share or 1.0)
        except ValueError as error:
            raise InputError(f"{entry!r}: expected NAME=SHARE") from error
        if not 0 < found[name.strip()] < math.inf:
            raise InputError(f"{entry!r}: expected a share above 0")
    return found
