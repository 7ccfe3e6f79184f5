"""How much memory and time the reading of one file may take: one ceiling for every reader.

Small files can claim gigabytes and hours. A reader therefore works out from a header what it is
about to allocate and asks here first, and asks again while it works. The ceilings are 1 GiB and
10 seconds of work (CPU time of the thread, so a busy machine costs nobody a file); the
environment variables ``PUZZLEFLOW_MAX_GIB`` and ``PUZZLEFLOW_MAX_SECONDS`` set others, which
worker processes inherit.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from puzzleflow.core.errors import FormatError, InputError

VARIABLE = "PUZZLEFLOW_MAX_GIB"
SECONDS_VARIABLE = "PUZZLEFLOW_MAX_SECONDS"
DEFAULT_GIB = 1.0
DEFAULT_S = 10.0
GIB = 1 << 30
PUZZLE_COPIES = 4  # of its pieces while a puzzle is read, masked, laid out and looked at

_reading: ContextVar[tuple[object, float] | None] = ContextVar("reading", default=None)


def ceiling_bytes() -> int:
    """The bytes that one file may take."""
    return int(_setting(VARIABLE, "GiB", DEFAULT_GIB) * GIB)


def ceiling_s() -> float:
    """The seconds of work that one file may take."""
    return _setting(SECONDS_VARIABLE, "seconds", DEFAULT_S)


def _setting(variable: str, unit: str, default: float) -> float:
    text = os.environ.get(variable, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = math.nan
    if not 0 < value < 1e9:
        raise InputError(f"{variable}: expected a number of {unit} above 0, found {text[:40]!r}")
    return value


@contextmanager
def reading(what: object) -> Iterator[None]:
    """Let :func:`check_time` refuse ``what`` once the block has worked on it for too long.

    A block within is another file: its time is its own and not that of the block around it.
    """
    around, started = _reading.get(), time.thread_time()
    _reading.set((what, started + ceiling_s()))
    try:
        yield
    finally:
        spent = time.thread_time() - started
        _reading.set(None if around is None else (around[0], around[1] + spent))


def check_time() -> None:
    """Refuse what is being read if it has taken longer than the ceiling; loops of readers ask."""
    now = _reading.get()
    if now is not None and time.thread_time() > now[1]:
        raise FormatError(
            f"{now[0]}: reading it takes more than the {ceiling_s():g} seconds of work "
            f"allowed for one file; {SECONDS_VARIABLE} sets another ceiling"
        )


def check_bytes(num_bytes: int, what: str) -> None:
    """Refuse before it is allocated what takes more than the ceiling."""
    check_time()
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
