"""``puzzleflow materialise``: recipes into HDF5 files, and back."""

from __future__ import annotations

from pathlib import Path

import typer

from puzzleflow.cli._options import Cluster, fetched, sent


def materialise(
    recipe: Path = typer.Argument(
        ..., callback=fetched, help="Recipe folder, its splits, or a generated data set."
    ),
    out: Path = typer.Option(..., callback=sent, help="New folder for the data set."),
    images: Path | None = typer.Option(
        None, callback=fetched, help="Where the pictures are, if they moved."
    ),
    outlines: Path | None = typer.Option(None, help="Where the outlines are, if they moved."),
    reference: bool = typer.Option(False, help="Store the complete pictures too."),
    compression: str = typer.Option("gzip", help="gzip or none."),
    to_recipe: bool = typer.Option(
        False, "--recipe", help="Write recipes instead: checks that every puzzle can be made."
    ),
    strict: bool = typer.Option(False, help="Fail if a puzzle differs from its recipe."),
    workers: int = typer.Option(-1, help="Processes; -1 takes every core."),
    cluster: Cluster = None,
) -> None:
    """Render a recipe into official GAP files, pixel for pixel, or extract one with --recipe."""
    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.core.errors import FormatError
    from puzzleflow.generation.dataset import materialise_set, recipe_folders

    with stage_progress() as on_progress:
        statistics = materialise_set(
            recipe_folders(recipe),
            out,
            compression=compression,
            reference=reference,
            recipe_only=to_recipe,
            images=images,
            outlines=outlines,
            num_workers=workers,
            on_progress=on_progress,
        )
    counts = ", ".join(f"{s['num_puzzles']} {name}" for name, s in statistics["splits"].items())
    typer.echo(f"{out}: {statistics['num_puzzles']} puzzles ({counts})")
    differing = statistics["differing_from_recipe"]
    if differing:
        told = (
            f"{recipe}: {len(differing)} puzzles, the first from {differing[0]}, differ in their "
            "pixels from where the recipe was made (other versions of Pillow or torch?)"
        )
        if strict:
            raise FormatError(told)
        typer.echo(told, err=True)
