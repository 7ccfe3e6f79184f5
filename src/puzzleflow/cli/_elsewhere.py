"""Paths of commands that may be addresses: what is read is fetched, what is written is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
