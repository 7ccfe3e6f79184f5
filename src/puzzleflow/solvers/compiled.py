"""Compilation of inner loops; their random numbers are those of the search kernels.

Import only from modules that are loaded on demand: this loads numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.rng import child_seed
from puzzleflow.search.compiled.parts import below, uniform

__all__ = ["RandomState", "below", "compiled", "random_state", "shuffle", "uniform"]

Function = TypeVar("Function", bound=Callable[..., Any])
RandomState = NDArray[np.uint64]


def compiled(function: Function) -> Function:
    """``function`` in machine code, kept on disk between runs; the same results as in Python."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


def random_state(seed: int, *path: int | str) -> RandomState:
    """(1,) state of the generator behind ``uniform``, never zero."""
    return np.array([child_seed(seed, *path) | 1], dtype=np.uint64)


@compiled
def shuffle(values: NDArray[np.int64], first: int, last: int, state: RandomState) -> None:
    """Fisher-Yates on ``values[first:last]`` in place."""
    for index in range(last - 1, first, -1):
        other = first + below(state, index - first + 1)
        values[index], values[other] = values[other], values[index]
