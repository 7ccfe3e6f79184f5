"""``puzzleflow publish``: puzzles or weights made ready for a hub, in a folder or sent there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def publish(
    source: Annotated[
        Path, typer.Argument(help="Puzzles in any format that `inspect` knows, or weights.")
    ],
    target: Annotated[str, typer.Argument(help="A folder, or hf://OWNER/NAME to send it there.")],
    split: Annotated[str | None, typer.Option(help="Only train, val or test.")] = None,
    as_it_is: Annotated[
        bool, typer.Option("--as-it-is", help="Send the files of a data set unchanged.")
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="A new repository is private.")
    ] = False,
) -> None:
    """Write Parquet tables and a card for puzzles, weights and a model card for weights.

    `datasets.load_dataset` reads the tables, and so do all commands here. Sending needs
    `hf auth login` once. Stopped at any moment, the same command goes on with the next table
    where the target is a folder; publish that folder then.
    """
    from tempfile import TemporaryDirectory

    from puzzleflow.addresses import address_of
    from puzzleflow.cli._talk import stage_progress
    from puzzleflow.core.errors import InputError
    from puzzleflow.formats.open import canonical_split, open_all
    from puzzleflow.formats.publishing import write_tables
    from puzzleflow.hub import send
    from puzzleflow.models.pretrained import SUFFIX, Pretrained, weights_at

    address = address_of(target)
    if source.suffix == SUFFIX or (source.is_dir() and weights_at(source).suffix == SUFFIX):
        model = Pretrained.from_pretrained(source)
        where = (
            model.push_to_hub(address, private=private)
            if address
            else model.save_pretrained(target)
        )
        typer.echo(f"{where}: weights of {model.kind}")
        return
    only = None if split is None else canonical_split(split)
    kinds = {each.kind for each in open_all(source).values()}
    if as_it_is or (address and kinds == {"parquet"}):
        if not address or only is not None:
            raise InputError("files as they are go to an address, all splits together")
        page = send(source, address, "dataset", message="Puzzles", private=private)
        typer.echo(f"{page}: the files of {source}")
        return
    with TemporaryDirectory() as folder, stage_progress() as report:
        out = Path(folder) if address else Path(target)
        counts = write_tables(source, out, only=only, report=report)
        where = target if address is None else send(
            out, address, "dataset", message="Puzzles", private=private
        )  # fmt: skip
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    typer.echo(f"{where}: {told} puzzles")
