"""What the commands that read puzzles share: which protocol a benchmark's files are read by."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Protocol(StrEnum):
    """Of JPwLEG files: whether the centre piece is told."""

    GIVEN = "given"
    FREE = "free"


Centre = Annotated[
    Protocol, typer.Option(help="JPwLEG files: the centre piece is given, or free like the others.")
]
