"""Work that can be given up: whoever starts it holds a token, and long loops look at it.

Python loops call :func:`check_cancelled`. Compiled loops are handed
:func:`stop_flag`, return early when it is set, and their caller then calls
:func:`check_cancelled`. The token belongs to the context (here: the thread) that
works, so no signature has to carry it; without one, nothing is ever cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

StopFlag = NDArray[np.uint8]


class Cancelled(Exception):
    """Raised inside work that nobody waits for any more."""


class CancelToken:
    """``flag`` (1,) is 0 until the work is to stop."""

    def __init__(self) -> None:
        self.flag: StopFlag = np.zeros(1, dtype=np.uint8)

    def cancel(self) -> None:
        """Ask the work to stop; may be called from any thread."""
        self.flag[0] = 1


_token: ContextVar[CancelToken | None] = ContextVar("cancel token", default=None)


@contextmanager
def cancelled_by(token: CancelToken) -> Iterator[None]:
    """Let ``token`` cancel the work inside the block."""
    before = _token.set(token)
    try:
        yield
    finally:
        _token.reset(before)


def stop_flag() -> StopFlag:
    """(1,) what a compiled loop looks at; never set where nobody can cancel."""
    token = _token.get()
    return np.zeros(1, dtype=np.uint8) if token is None else token.flag


def check_cancelled() -> None:
    """Raise :class:`Cancelled` if the work that runs here is to stop."""
    if stop_flag()[0]:
        raise Cancelled
