"""Piece → position arrays.

An *assignment* ``position_of[piece]`` may collide (the flow's x_t does);
a *permutation* is an assignment proven bijective.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.errors import InputError, NotAPermutation
from puzzleflow.core.types import IntArray


def as_assignment(position_of: ArrayLike, num_pieces: int) -> IntArray:
    """Checked int64 copy: one position in ``[0, num_pieces)`` per piece."""
    array = np.asarray(position_of)
    if array.shape != (num_pieces,):
        raise NotAPermutation(f"expected {num_pieces} positions, got shape {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        raise NotAPermutation(f"positions must be whole numbers, not {array.dtype}")
    outside = np.flatnonzero((array < 0) | (array >= num_pieces))
    if outside.size:
        piece = outside[0]
        raise NotAPermutation(
            f"piece {piece} has position {array[piece]}, outside 0..{num_pieces - 1}"
        )
    return array.astype(np.int64)


def as_permutation(position_of: ArrayLike, num_pieces: int) -> IntArray:
    """Checked int64 copy: every position is used by exactly one piece."""
    array = as_assignment(position_of, num_pieces)
    order = np.argsort(array, kind="stable")
    repeated = np.flatnonzero(np.diff(array[order]) == 0)
    if repeated.size:
        first, second = order[repeated[0]], order[repeated[0] + 1]
        raise NotAPermutation(f"position {array[first]} used by pieces {first} and {second}")
    return array


def is_permutation(position_of: ArrayLike) -> bool:
    array = np.asarray(position_of)
    return array.ndim == 1 and bool(np.array_equal(np.sort(array), np.arange(len(array))))


def invert(permutation: IntArray) -> IntArray:
    """``position_of`` ↔ ``piece_at``: each is the inverse of the other."""
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse


def compose(outer: IntArray, inner: IntArray) -> IntArray:
    """``(outer ∘ inner)[i] = outer[inner[i]]``."""
    return outer[inner]


def check_pins(pinned: dict[int, int] | None, num_pieces: int) -> dict[int, int]:
    """Pins (piece → position) that lie in range and do not collide."""
    pinned = {int(piece): int(position) for piece, position in (pinned or {}).items()}
    for piece, position in pinned.items():
        if not (0 <= piece < num_pieces and 0 <= position < num_pieces):
            raise InputError(f"pin {piece}→{position} lies outside 0..{num_pieces - 1}")
    if len(set(pinned.values())) < len(pinned):
        raise NotAPermutation("two pieces are pinned to the same position")
    return pinned
