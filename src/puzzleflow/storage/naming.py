"""Errors name the file they are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from puzzleflow.core.errors import PuzzleFlowError


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Put ``path`` before the message of our errors where it is not in it already."""
    try:
        yield
    except PuzzleFlowError as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error
