"""How much memory the reading of one file may take: one ceiling for every reader.

Small files can claim gigabytes. A reader therefore works out from a header what it is about
to allocate and asks here first. The ceiling is 1 GiB; the environment variable
``PUZZLEFLOW_MAX_GIB`` sets another one, which worker processes inherit.
"""

from __future__ import annotations

import math
import os

from puzzleflow.core.errors import FormatError, InputError

VARIABLE = "PUZZLEFLOW_MAX_GIB"
DEFAULT_GIB = 1.0
GIB = 1 << 30
PUZZLE_COPIES = 4  # of its pieces while a puzzle is read, masked, laid out and looked at


def ceiling_bytes() -> int:
    """The bytes that one file may take."""
    text = os.environ.get(VARIABLE, "")
    try:
        gib = float(text) if text else DEFAULT_GIB
    except ValueError:
        gib = math.nan
    if not 0 < gib < 1e9:
        raise InputError(f"{VARIABLE}: expected a number of GiB above 0, found {text[:40]!r}")
    return int(gib * GIB)


def check_bytes(num_bytes: int, what: str) -> None:
    """Refuse before it is allocated what takes more than the ceiling."""
    ceiling = ceiling_bytes()
    if num_bytes > ceiling:
        raise FormatError(
            f"{what} would take {_gib(num_bytes)} of memory, more than the {_gib(ceiling)} "
            f"allowed for one file; {VARIABLE} sets another ceiling"
        )


def check_puzzle(num_pieces: int, height: int, width: int) -> None:
    """Refuse RGBA pieces that are too large to be worked with."""
    num_bytes = num_pieces * height * width * 4 * PUZZLE_COPIES
    check_bytes(num_bytes, f"a puzzle of {num_pieces:,} pieces of {width:,}x{height:,} pixels")


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / GIB:,.3g} GiB" if num_bytes < 1 << 60 else "over a billion GiB"
