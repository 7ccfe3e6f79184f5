"""Which code runs the inner loops: compiled by numba, or plain NumPy where numba is missing.

Both modules offer the functions of :class:`Backend`; neither is imported
before it is used. They draw different random numbers, so a seed gives the
same layouts only on the same backend.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from puzzleflow.core.errors import UnknownName
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.tables import Tables

BACKENDS = ("compiled", "plain")


class Backend(Protocol):
    """Layouts are ``piece_at`` rows (R, N); energies (R,) include penalties."""

    PACE: float
    """How many steps it can make, compared with the compiled one."""

    def grow(
        self, tables: Tables, seeds: IntArray, *, noise: float, seed: int
    ) -> tuple[IntArray, FloatArray]:
        """One layout grown from each piece of ``seeds``, the surest piece first."""

    def regrow(
        self, tables: Tables, layouts: IntArray, *, num_turns: int, noise: float, seed: int
    ) -> tuple[IntArray, FloatArray]:
        """Repair: parts of each layout are kept and the rest is grown anew, in turns."""

    def anneal(
        self,
        tables: Tables,
        layouts: IntArray,
        *,
        temperatures: FloatArray,
        num_proposals: int,
        seed: int,
    ) -> tuple[IntArray, FloatArray]:
        """The best that each layout meets while it cools through ``temperatures``."""

    def temper(
        self,
        tables: Tables,
        layouts: IntArray,
        *,
        temperatures: FloatArray,
        num_rounds: int,
        num_proposals: int,
        seed: int,
    ) -> tuple[FloatArray, IntArray]:
        """Go on from one layout a temperature, exchanging them.

        Returns counts (3, N, N) of positions, right and down neighbours at
        ``temperatures[0]``, and the layouts to go on from.
        """


@cache
def has_numba() -> bool:
    """Whether numba is installed; does not import it."""
    return find_spec("numba") is not None


def load_backend(name: str | None = None) -> Backend:
    """The backend called ``name``, or the fastest that is installed."""
    name = name or ("compiled" if has_numba() else "plain")
    if name not in BACKENDS:
        raise UnknownName("backend", name, BACKENDS)
    return cast(Backend, import_module(f"puzzleflow.search.{name}"))
