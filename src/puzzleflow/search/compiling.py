"""How inner loops are compiled, and their random numbers; the one place that imports numba.

Import this only from modules that are loaded on demand. The generator's whole
state is one array that is passed along.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeVar, cast

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from puzzleflow.core.rng import child_seed

Function = TypeVar("Function", bound=Callable[..., Any])
RandomState = NDArray[np.uint64]


def compiled(function: Function) -> Function:
    """``function`` in machine code, kept on disk between runs; the same results as in Python."""
    return _compiled(function)


def inner(function: Function) -> Function:
    """The same for what only compiled functions call, which is quicker to compile."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compiled(function: Function, **options: Any) -> Function:
    options["nogil"] = True
    with suppress(RuntimeError):
        return cast(Function, njit(function, cache=True, **options))
    # numba may not write where it keeps machine code
    config.CACHE_DIR = _private_folder()  # type: ignore[attr-defined]
    with suppress(RuntimeError):
        return cast(Function, njit(function, cache=True, **options))
    return cast(Function, njit(function, **options))  # compiled anew in every process


def _private_folder() -> str:
    """A temporary folder that nobody else can write to, for code from it is run; "" if none."""
    user = getattr(os, "getuid", int)()
    with suppress(OSError):
        folder = Path(gettempdir()) / f"puzzleflow-numba-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077:
            return str(folder)
    return ""


def random_state(seed: int, *path: int | str) -> RandomState:
    """(1,) state of the generator behind :func:`uniform`, odd, hence never zero."""
    return np.array([child_seed(seed, *path) | 1], dtype=np.uint64)


@compiled
def uniform(state: RandomState) -> float:
    """xorshift64*: the next number in [0, 1)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * 2.0**-53


@compiled
def below(state: RandomState, limit: int) -> int:
    """A random integer in [0, limit)."""
    return int(uniform(state) * limit)


@compiled
def shuffle(values: NDArray[np.int64], first: int, last: int, state: RandomState) -> None:
    """Fisher-Yates on ``values[first:last]`` in place."""
    for index in range(last - 1, first, -1):
        other = first + below(state, index - first + 1)
        values[index], values[other] = values[other], values[index]
