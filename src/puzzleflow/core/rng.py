"""Seeds: one root seed, one independent child per puzzle, picture or mask."""

from __future__ import annotations

import hashlib
import operator

import numpy as np


def child_seed(seed: int, *path: int | str) -> int:
    """A 64-bit seed that depends on ``seed`` and ``path`` alone.

    The same path always yields the same child, whatever the order of the
    calls or the number of workers.
    """
    text = "/".join([str(int(seed)), *map(_segment, path)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _segment(part: int | str) -> str:
    """Unambiguous text: 1 and "1", or ("a/b",) and ("a", "b"), never look the same."""
    if isinstance(part, str):
        return f"s{len(part)}:{part}"
    return f"i:{operator.index(part)}"


def child_rng(seed: int, *path: int | str) -> np.random.Generator:
    """A generator of its own for ``path`` below ``seed``."""
    return np.random.default_rng(child_seed(seed, *path))
