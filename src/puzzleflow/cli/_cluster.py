"""``--cluster``, which every command that maps over many processes shares."""

from __future__ import annotations

from typing import Annotated

import typer


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
