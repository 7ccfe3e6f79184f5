"""``puzzleflow train``: train a network on fresh or stored puzzles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from puzzleflow.cli._training import shares


class TrainGroup(TyperGroup):
    """``pack`` and ``held-out``, and a command for every trainable network, built when asked."""

    def list_commands(self, ctx: Any) -> list[str]:
        from puzzleflow.training.registry import TRAINABLES

        return sorted({*super().list_commands(ctx), *TRAINABLES.names()})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from puzzleflow.cli._trainable import command_of
        from puzzleflow.training.registry import TRAINABLES

        known = super().get_command(ctx, cmd_name)
        return command_of(cmd_name) if known is None and cmd_name in TRAINABLES.names() else known


def register(app: typer.Typer) -> None:
    """Add the ``train`` group."""
    group = typer.Typer(
        cls=TrainGroup, help="Train a network; stop with Ctrl-C, run again to go on."
    )
    group.command("pack")(pack)
    group.command("held-out")(held_out)
    group.command("seams")(seams)
    app.add_typer(group, name="train")


def pack(
    run: Annotated[
        Path,
        typer.Argument(help="Folder of a relational training run, or its weights to fit again."),
    ],
    data: Annotated[Path, typer.Option(help="Folder of pictures; the held-out part is used.")],
    out: Annotated[Path, typer.Option(help="Weights file to write (.safetensors).")],
    erosion: Annotated[
        list[str] | None,
        typer.Option(
            help="Erosion of validation puzzles, several times. Default: gap, vae, vae:shrink=4."
        ),
    ] = None,
    grids: Annotated[str, typer.Option(help="GRID=PUZZLES, comma-separated.")] = "3x3=300,5x5=100",
    seed: Annotated[int, typer.Option(help="Seed of the validation puzzles.")] = 0,
    mean_with: Annotated[
        Path | None,
        typer.Option(help="Weights of before: the mean of theirs and of the run's is taken."),
    ] = None,
    look_only: Annotated[
        bool,
        typer.Option("--look-only", help="Fit only what a second look counts beside the energy."),
    ] = False,
) -> None:
    """Turn a relational run into weights: average, fit the energy, evaluate on held-out puzzles.

    The fit of a run starts from the energy of the bundled weights, whose grids it keeps, but for
    those that are fitted.
    """
    from puzzleflow.core.errors import InputError
    from puzzleflow.core.grid import Grid
    from puzzleflow.models.checkpoint import bundled_weights, load_weights
    from puzzleflow.training.banks import split_pictures
    from puzzleflow.training.packing import (
        cut_puzzles,
        mean_of,
        pack_look,
        pack_relational,
        trained_network,
    )
    from puzzleflow.training.relational import RelationalTraining

    counts = {Grid.parse(text): int(num) for text, num in shares(grids.split(",")).items()}
    pictures = split_pictures(data, "val")
    if not pictures:
        raise InputError(f"{data}: no pictures of split 'val' to cut puzzles from")
    network, trained = trained_network(run)  # before puzzles are cut, which takes long
    if mean_with is not None:
        network = mean_of(network, trained_network(mean_with)[0])
    known = load_weights(bundled_weights(RelationalTraining.bundled))[1]["energy"]
    validation = {
        grid: cut_puzzles(pictures, grid, erosion or ["gap", "vae", "vae:shrink=4"], seed, num)
        for grid, num in counts.items()
    }
    fit = pack_look if look_only else pack_relational
    fit(network, {"energy": known} | trained, validation, out, typer.echo)
    typer.echo(out)


def held_out(
    data: Annotated[Path, typer.Argument(help="Folder of pictures that training used.")],
    out: Annotated[Path, typer.Option(help="Folder to fill with links.")],
    split: Annotated[str, typer.Option(help="test or val.")] = "test",
) -> None:
    """Link the pictures that training never saw, so that puzzles can be cut from them."""
    from puzzleflow.core.errors import InputError, OutputError, check_known
    from puzzleflow.training.banks import SPLITS, split_pictures

    check_known("split", split, SPLITS)
    pictures = split_pictures(data, split)
    if not pictures:
        raise InputError(f"{data}: no pictures of split {split!r}")
    links = [out / picture.name for picture in pictures]
    for link in links:
        if link.exists() and not link.is_symlink():
            raise OutputError(f"{link}: a file is in the way, and it is no link")
    out.mkdir(parents=True, exist_ok=True)
    for link, picture in zip(links, pictures, strict=True):
        link.unlink(missing_ok=True)
        link.symlink_to(picture.resolve())
    typer.echo(f"{out}: {len(pictures)} pictures of split {split}")


def seams(
    data: Annotated[Path, typer.Option(help="Folder of pictures; the training part is broken.")],
    out: Annotated[Path, typer.Option(help="Folder for state, log and weights; goes on there.")],
    sets: Annotated[int, typer.Option(help="Pictures that are broken.", min=20)] = 800,
    steps: Annotated[int, typer.Option(help="Length of the whole run.", min=1)] = 4000,
    seed: Annotated[int, typer.Option(help="Of the broken pictures and the network.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that break; -1: every core.")] = 1,
    scorer: Annotated[
        Path | None,
        typer.Option(help="Weights of an earlier scorer: wrong joins are those that it likes."),
    ] = None,
    initial: Annotated[
        Path | None, typer.Option(help="Weights of an earlier scorer to start from.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Highest learning rate.", min=0)] = 3e-3,
) -> None:
    """Train the seam scorer of `assemble` on fresh broken pictures."""
    from dataclasses import replace

    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.cli._trainable import saying_how_to_go_on
    from puzzleflow.core.errors import InputError
    from puzzleflow.lock import locked
    from puzzleflow.training.banks import split_pictures
    from puzzleflow.training.log import training_progress
    from puzzleflow.training.seam_examples import write_examples
    from puzzleflow.training.seams import KIND, SETTINGS, SeamRun

    pictures = split_pictures(data, "train")
    if not pictures:
        raise InputError(f"{data}: no pictures of split 'train' to break")
    with locked(out):
        with stage_progress() as on_progress:
            files = write_examples(
                pictures,
                out / "examples",
                sets=sets,
                seed=seed,
                scorer=scorer,
                num_workers=workers,
                on_progress=on_progress,
            )
        settings = replace(SETTINGS, steps=steps, seed=seed, learning_rate=rate)
        run = SeamRun(out, files, settings, initial=initial)
        with (
            saying_how_to_go_on(run.trainer),
            training_progress(run.trainer.step, steps) as report,
        ):
            run.trainer.fit(run.batches, report=report)
        typer.echo(f"{out / KIND}.safetensors: {run.save()['validation']}")
