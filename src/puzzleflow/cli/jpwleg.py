"""``puzzleflow jpwleg``: sets like JPwLEG from any pictures, and the supplement's table on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from puzzleflow.cli._options import Centre, Protocol

if TYPE_CHECKING:
    from puzzleflow.evaluation.results import Results


def jpwleg(
    out: Annotated[Path, typer.Option(help="Folder of sets, results and table; goes on there.")],
    images: Annotated[
        Path | None,
        typer.Option(help="Pictures to cut; each stays in the split that training gives it."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Instead: a folder with jpwleg-3 and jpwleg-5, the original files."),
    ] = None,
    held_out: Annotated[
        bool,
        typer.Option("--held-out", help="No network was trained on IMAGES: all are for testing."),
    ] = False,
    sizes: Annotated[str, typer.Option(help="Puzzles to train, to validate, to test.")] = (
        "9000/1000/2000"
    ),
    solvers: Annotated[
        str, typer.Option(help="As in `bench`; empty writes the sets only.")
    ] = "@jpwleg",
    limit: Annotated[int | None, typer.Option(min=1, help="Test puzzles of each set.")] = None,
    centre: Centre = Protocol.GIVEN,
    seed: Annotated[int, typer.Option(help="Root seed of puzzles and solvers.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 1,
) -> None:
    """Cut pictures into sets like JPwLEG-3 and JPwLEG-5 and rebuild the supplement's table.

    OUT/jpwleg-3 and OUT/jpwleg-5 hold the .npy pairs, for `train` and `bench`; OUT/jpwleg.md is
    the table, with published rows marked as other data. Stopped at any moment, the same command
    goes on where it was.
    """
    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.core.errors import InputError
    from puzzleflow.evaluation.runner import Bench
    from puzzleflow.evaluation.spec import parse_solvers
    from puzzleflow.evaluation.tables import write_validation
    from puzzleflow.formats.open import open_puzzles
    from puzzleflow.generation.jpwleg_sets import SETS, write_sets
    from puzzleflow.lock import locked
    from puzzleflow.pictures import list_pictures
    from puzzleflow.training.banks import SPLITS, split_pictures

    if (images is None) == (data is None):
        raise InputError("give either --images to cut or --data to read")
    specs = (
        parse_solvers(solvers, lambda why: typer.echo(f"left out: {why}", err=True))
        if solvers
        else []
    )
    with stage_progress() as progress:
        if images is not None:
            counts = dict(zip(SPLITS, _counts(sizes), strict=True))
            pictures = (
                {"test": list_pictures(images)}
                if held_out
                else {split: split_pictures(images, split) for split in SPLITS}
            )
            with locked(out):
                folders = write_sets(pictures, out, sizes=counts, seed=seed, report=progress)
        else:
            folders = {name: Path(data or ".") / name for name in SETS}
        results: dict[str, list[Results]] = {}
        sources = {}
        for name, folder in folders.items():
            free = centre is Protocol.FREE
            sources[name] = open_puzzles(folder, split="test", centre_free=free)
            if not specs:
                continue
            run = Bench(sources[name], specs, out / f"bench-{name}", seed=seed, limit=limit)
            run.check()
            total = run.num_puzzles * len(specs)
            for done, _ in enumerate(run.stream(num_workers=workers), start=1):
                progress(f"solving {name}", done, total)
            results[name] = run.results()
    if specs:
        numbers = {f"puzzles of {n}": str(limit or len(source)) for n, source in sources.items()}
        shown = {"pictures": str(images or data), **numbers, "centre": centre.value}
        for path in write_validation(out, shown, results):
            typer.echo(path)
    else:
        typer.echo(f"{out}: {', '.join(f'{n}: {len(s)} to test' for n, s in sources.items())}")


def _counts(text: str) -> list[int]:
    from puzzleflow.core.errors import InputError

    parts = text.split("/")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise InputError(f"--sizes {text}: expected three numbers such as 9000/1000/2000")
    return [int(part) for part in parts]
