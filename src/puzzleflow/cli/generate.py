"""``puzzleflow generate`` and ``materialise``: pictures or recipes into a data set of puzzles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from puzzleflow.cli._options import Cluster, fetched, sent


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command("generate")(generate)
    app.command("materialise")(materialise)


def generate(
    images: Path = typer.Option(
        ..., callback=fetched, help="Folder of pictures, searched with its subfolders."
    ),
    out: Path = typer.Option(..., callback=sent, help="New folder for the data set."),
    preset: str = typer.Option("gap-3", help="gap-3 (3x3, 384 px) or gap-5 (5x5, 640 px)."),
    grid: str | None = typer.Option(None, metavar="RxC", help="Rows x columns, e.g. 4x6."),
    piece_px: int | None = typer.Option(None, help="Pixels of a piece's side.  [preset: 128]"),
    erosion: str | None = typer.Option(
        None,
        help="gap, vae, another fragment generator, outlines:PATH, fixed:PX, linear or none; "
        "NAME:shrink=K moves outlines inward by K % of the side.  [preset: gap]",
    ),
    seed: int = typer.Option(0, help="The same seed and pictures give the same files."),
    splits: str = typer.Option("70/15/15", help="Shares of train/val/test."),
    limit: int | None = typer.Option(None, help="Use at most so many pictures, drawn at random."),
    per_picture: int = typer.Option(1, help="Puzzles per picture."),
    reference: bool = typer.Option(False, help="Store the complete pictures too."),
    compression: str = typer.Option("gzip", help="gzip or none."),
    recipe: bool = typer.Option(False, "--recipe", help="Store recipes instead of pixels."),
    missing: float = typer.Option(0, min=0, max=1, help="Share of the cells without a piece."),
    foreign: float = typer.Option(
        0, min=0, max=1, help="So many pieces of another picture, as a share of the cells."
    ),
    foreign_kind: str = typer.Option(
        "any",
        help="The other picture's kind: any, same or other, told by images.csv (file, kind) in or "
        "beside the folder, else by subfolders.",
    ),
    turned: bool = typer.Option(False, "--turned", help="Turn every piece by quarter turns."),
    hide_grid: bool = typer.Option(False, "--hide-grid", help="Do not tell solvers the grid."),
    workers: int = typer.Option(-1, help="Processes; -1 takes every core."),
    cluster: Cluster = None,
) -> None:
    """Cut a folder of pictures into puzzles: train, val and test in official GAP files.

    With --missing, --foreign, --turned or --hide-grid the files follow GAP as far as that
    goes; labels of foreign pieces are -1, and labels_turns.h5 tells the turns.
    Killed at any moment, the same command goes on where it was.
    """
    from dataclasses import replace

    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.core.conditions import Conditions
    from puzzleflow.core.errors import check_known
    from puzzleflow.core.grid import Grid
    from puzzleflow.generation.dataset import generate_set
    from puzzleflow.generation.erosion import erosion_model
    from puzzleflow.generation.plan import PRESETS

    check_known("preset", preset, PRESETS)
    request = PRESETS[preset]
    if grid is not None:
        shape = Grid.parse(grid)
        request = replace(request, grid=shape, name=preset if shape == request.grid else str(shape))
    request = replace(
        request,
        piece_px=request.piece_px if piece_px is None else piece_px,
        erosion=erosion_model(request.erosion if erosion is None else erosion).name,
        seed=seed,
        splits=splits,
        limit=limit,
        per_picture=per_picture,
        reference=reference,
        compression=compression,
        recipe_only=recipe,
        conditions=Conditions(
            missing=round(missing * request.grid.num_pieces),
            foreign=round(foreign * request.grid.num_pieces),
            turned=turned,
            hidden=hide_grid,
        ),
        foreign_kind=foreign_kind,
    )
    with stage_progress() as on_progress:
        statistics = generate_set(
            images, out, request, num_workers=workers, on_progress=on_progress
        )
    for entry in statistics["unreadable"]:
        typer.echo(f"left out {entry['picture']}: {entry['problem']}", err=True)
    tell_set(out, statistics)
    if statistics["unreadable"]:
        typer.echo(f"{len(statistics['unreadable'])} pictures could not be read", err=True)


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
    tell_set(out, statistics)
    differing = statistics["differing_from_recipe"]
    if differing:
        told = (
            f"{recipe}: {len(differing)} puzzles, the first from {differing[0]}, differ in their "
            "pixels from where the recipe was made (other versions of Pillow or torch?)"
        )
        if strict:
            raise FormatError(told)
        typer.echo(told, err=True)


def tell_set(out: Path, statistics: dict[str, Any]) -> None:
    """How many puzzles of which split were made."""
    counts = ", ".join(f"{s['num_puzzles']} {name}" for name, s in statistics["splits"].items())
    typer.echo(f"{out}: {statistics['num_puzzles']} puzzles ({counts})")
