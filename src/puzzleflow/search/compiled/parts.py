"""How kernels are compiled, and a small random generator for them.

The generator's whole state is one array that is passed along.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit

kernel = njit(cache=True, nogil=True)
_CALLED_BY_KERNELS_ONLY = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner = njit(cache=True, nogil=True, **_CALLED_BY_KERNELS_ONLY)  # type: ignore[call-overload]


@kernel
def uniform(rng):
    """xorshift64*: the next number in [0, 1); ``rng`` is (1,) uint64, not 0."""
    x = rng[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    rng[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * 2.0**-53


@kernel
def below(rng, limit):
    """A random integer in [0, limit)."""
    return int(uniform(rng) * limit)
