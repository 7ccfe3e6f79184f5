"""Seeds: one root seed, one independent child per puzzle, picture or mask."""

from __future__ import annotations

import hashlib

import numpy as np


def child_seed(seed: int, *path: int | str) -> int:
    """A 64-bit seed that depends on ``seed`` and ``path`` alone.

    The same path always yields the same child, whatever the order of the
    calls or the number of workers.
    """
    text = "/".join([str(int(seed)), *(f"{type(p).__name__[0]}:{p}" for p in path)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def child_rng(seed: int, *path: int | str) -> np.random.Generator:
    """A generator of its own for ``path`` below ``seed``."""
    return np.random.default_rng(child_seed(seed, *path))
