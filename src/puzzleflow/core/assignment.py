"""Piece → position arrays.

An *assignment* ``position_of[piece]`` may collide (the flow's x_t does);
a *permutation* is an assignment proven bijective. The plural forms check or
invert a whole set (M, N) at once, one puzzle per row.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.errors import InputError, NotAPermutation
from puzzleflow.core.types import IntArray


def as_assignment(position_of: ArrayLike, num_pieces: int) -> IntArray:
    """Checked int64 copy (N,): one position in ``[0, num_pieces)`` per piece."""
    array = whole_numbers(position_of)
    if array.shape != (num_pieces,):
        raise NotAPermutation(f"expected {num_pieces} positions, got shape {array.shape}")
    checked: IntArray = as_assignments(array[None], num_pieces)[0]
    return checked


def as_permutation(position_of: ArrayLike, num_pieces: int) -> IntArray:
    """Checked int64 copy (N,): every position is used by exactly one piece."""
    array = as_assignment(position_of, num_pieces)
    _check_no_collision(array[None])
    return array


def as_assignments(position_of: ArrayLike, num_pieces: int) -> IntArray:
    """Checked int64 copy (M, N) of one assignment per row."""
    array = whole_numbers(position_of)
    if array.ndim != 2 or array.shape[1] != num_pieces:
        raise NotAPermutation(f"expected shape (puzzles, {num_pieces}), got {array.shape}")
    outside = np.argwhere((array < 0) | (array >= num_pieces))
    if outside.size:
        row, piece = outside[0]
        raise NotAPermutation(
            f"{_in_puzzle(row, array)}piece {piece} has position {array[row, piece]}, "
            f"outside 0..{num_pieces - 1}"
        )
    return array.astype(np.int64)


def as_permutations(position_of: ArrayLike, num_pieces: int) -> IntArray:
    """Checked int64 copy (M, N) of one permutation per row."""
    array = as_assignments(position_of, num_pieces)
    _check_no_collision(array)
    return array


def invert(permutation: IntArray) -> IntArray:
    """``position_of`` ↔ ``piece_at``: each is the inverse of the other."""
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse


def invert_rows(permutations: IntArray) -> IntArray:
    """The inverse of every row of (M, N)."""
    inverse = np.empty_like(permutations)
    np.put_along_axis(inverse, permutations, np.arange(permutations.shape[1])[None], axis=1)
    return inverse


def check_pins(pinned: Mapping[int, int] | None, num_pieces: int) -> dict[int, int]:
    """Pins (piece → position) that lie in range and do not collide."""
    try:
        pins = {int(piece): int(position) for piece, position in (pinned or {}).items()}
    except (TypeError, ValueError) as error:
        raise InputError(f"a pin joins two whole numbers, piece and position ({error})") from error
    for piece, position in pins.items():
        if not (0 <= piece < num_pieces and 0 <= position < num_pieces):
            raise InputError(f"pin {piece}→{position} lies outside 0..{num_pieces - 1}")
    if len(set(pins.values())) < len(pins):
        raise NotAPermutation("two pieces are pinned to the same position")
    return pins


def whole_numbers(values: ArrayLike) -> IntArray:
    """The values as an array of whole numbers; floats such as 2.0 are taken for what they mean."""
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:  # ragged rows, numbers beyond 64 bits
        raise NotAPermutation(f"positions form no array ({error})") from error
    if np.issubdtype(array.dtype, np.floating) and (np.abs(array) < 1 << 53).all():
        whole = array.astype(np.int64)
        array = whole if (whole == array).all() else array
    if not np.issubdtype(array.dtype, np.integer):
        raise NotAPermutation(f"positions must be whole numbers, not {array.dtype}")
    return array


def _check_no_collision(array: IntArray) -> None:
    ordered = np.sort(array, axis=1)
    repeated = np.argwhere(ordered[:, 1:] == ordered[:, :-1])
    if repeated.size:
        row, index = repeated[0]
        position = ordered[row, index]
        first, second = np.flatnonzero(array[row] == position)[:2]
        raise NotAPermutation(
            f"{_in_puzzle(row, array)}position {position} used by pieces {first} and {second}"
        )


def _in_puzzle(row: int, array: IntArray) -> str:
    return f"puzzle {row}: " if len(array) > 1 else ""
