"""Options that commands share: a cluster, a protocol, and paths that may be addresses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from puzzleflow.cli._talk import note


def fetched(path: Path | None) -> Path | None:
    """Callback of an option that is read: the path, or where all files of an address lie now."""
    from puzzleflow.addresses import located

    return None if path is None else located(path)


def sent(context: typer.Context, out: Path) -> Path:
    """Callback of an output folder: the path, or a local folder that is sent when all is well."""
    return context.with_resource(_sending(out))


@contextmanager
def _sending(out: Path) -> Iterator[Path]:
    from puzzleflow.remote import outbox

    folder, send = outbox(out)
    try:
        yield folder
    except typer.Exit:  # a report of failures is a report
        _tell(send())
        raise
    _tell(send())


def _tell(address: str | None) -> None:
    if address is not None:
        note(f"sent to {address}")


def _join(context: typer.Context, where: str | None) -> str | None:
    """Work on the cluster until the command ends."""
    if where is not None:
        from puzzleflow.cluster import on_cluster

        context.with_resource(on_cluster(where))
    return where


Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="dask://HOST:PORT",
        callback=_join,
        help="Work on this Dask cluster, or that of a scheduler file, instead of --workers.",
    ),
]


class Protocol(StrEnum):
    """Of JPwLEG files: whether the centre piece is told."""

    GIVEN = "given"
    FREE = "free"


Centre = Annotated[
    Protocol, typer.Option(help="JPwLEG files: the centre piece is given, or free like the others.")
]
