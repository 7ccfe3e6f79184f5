"""``puzzleflow limits``: how far solvers can be trusted, with curves."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from puzzleflow.cli._options import Cluster, fetched, sent

if TYPE_CHECKING:
    from puzzleflow.core.grid import Grid


def limits(
    context: typer.Context,
    out: Path = typer.Option(
        ..., callback=sent, help="Folder for limits.md, limits.json and images/."
    ),
    images: Path | None = typer.Option(
        None,
        callback=fetched,
        help="Pictures that no solver has seen in training; only `samples` needs none.",
    ),
    solvers: str = typer.Option(
        "relational,search-alpha",
        help="Names or groups as in `bench`, comma-separated; options as NAME:KEY=VALUE+KEY=VALUE.",
    ),
    sections: str | None = typer.Option(
        None,
        help="Of calibration,kind,gap,grid,samples; by default all that the pictures allow.",
    ),
    kinds: Path | None = typer.Option(
        None, help="CSV with columns file and kind; without it, subfolders are kinds."
    ),
    merge: list[str] = typer.Option([], help="NEW=OLD,OLD: kinds under one name; may be repeated."),
    puzzles: int = typer.Option(120, min=1, help="Puzzles of every point; fewer beyond 5x5."),
    base_grids: str = typer.Option(
        "3x3,5x5", help="Of calibration and samples; kind and gap take the first."
    ),
    grids: str = typer.Option("2,3,4,5,6,7,8,10", help="Of the sweep over grid sizes."),
    erosion: str = typer.Option("vae", help="Masks, as in `generate`."),
    piece_px: int = typer.Option(128, help="Pixels of a piece's side, on every grid."),
    work: Path | None = typer.Option(
        None, help="Folder of puzzles and results, for resuming.  [default: OUT/work]"
    ),
    seed: int = typer.Option(0, min=0, help="Of pictures, masks, permutations and solvers."),
    workers: int = typer.Option(1, help="Processes, one thread each; -1 takes every core."),
    cluster: Cluster = None,
    fresh: bool = typer.Option(False, "--fresh", help="Forget the results already there."),
) -> None:
    """Report calibration, and accuracy by kind of picture, gap, grid size and on the samples.

    All solvers get the same puzzles. Stopped at any moment, the same command goes on
    where it was.
    """
    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.core.errors import InputError
    from puzzleflow.evaluation.limits.conditions import Plan
    from puzzleflow.evaluation.limits.measure import measure_limits
    from puzzleflow.evaluation.limits.page import write_limits
    from puzzleflow.evaluation.spec import parse_solvers
    from puzzleflow.generation.survey import read_kinds
    from puzzleflow.lock import locked

    if merge and kinds is None:
        raise InputError("--merge needs the kinds of a table: --kinds CSV")
    plan = Plan(
        sections=None if sections is None else _parts(sections),
        num_puzzles=puzzles,
        base_grids=_grids(base_grids),
        grids=_grids(grids),
        erosion=erosion,
        piece_px=piece_px,
        seed=seed,
    )
    work = work or out / "work"
    apart = out.resolve() != work.resolve()
    with locked(out), locked(work) if apart else nullcontext(), stage_progress() as show:

        def on_progress(stage: str, done: int, total: int) -> None:
            show(stage, done, total)
            if done == total and not sys.stderr.isatty():
                typer.echo(f"{stage}: {total} answers", err=True)

        report = measure_limits(
            plan,
            parse_solvers(solvers, lambda why: typer.echo(f"left out: {why}", err=True)),
            work,
            images=images,
            kinds=None if kinds is None else read_kinds(kinds, merge),
            facts={"command": _command(context)},
            num_workers=workers,
            fresh=fresh,
            on_progress=on_progress,
        )
        written = write_limits(out, report)
    typer.echo(f"wrote {written[0]} and {len(written) - 1} more files")


def _parts(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _grids(text: str) -> tuple[Grid, ...]:
    from puzzleflow.core.grid import Grid

    return tuple(dict.fromkeys(Grid.parse(part) for part in _parts(text)))


def _command(context: typer.Context) -> str:
    """The command that gives these figures again; of paths only the last part."""
    words = ["puzzleflow", "limits"]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if option.name in ("work", "workers", "cluster", "fresh") or value in (
            None,
            option.default,
            [],
            (),
        ):
            continue
        for item in value if isinstance(value, list | tuple) else [value]:
            words += [option.opts[0], item.name if isinstance(item, Path) else str(item)]
    return f"`{shlex.join(words)}`"
