"""Piece → position arrays.

An *assignment* ``position_of[piece]`` may collide (the flow's x_t does);
a *permutation* is an assignment proven bijective. The plural forms check or
invert a whole set (M, N) at once, one puzzle per row.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.ceiling import check_bytes
from puzzleflow.core.errors import InputError, NotAPermutation
from puzzleflow.core.types import IntArray

_BYTES_PER_POSITION = 32  # as int64, as read, and while it is checked


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


def as_placement(position_of: ArrayLike, num_pieces: int, num_cells: int) -> IntArray:
    """Checked int64 copy (N,): a cell of its own for every piece, or -1 for none."""
    array = whole_numbers(position_of)
    if array.shape != (num_pieces,):
        raise NotAPermutation(f"expected {num_pieces} positions, got shape {array.shape}")
    outside = np.flatnonzero((array < -1) | (array >= num_cells))
    if outside.size:
        piece = outside[0]
        raise NotAPermutation(
            f"piece {piece} has position {array[piece]}, outside 0..{num_cells - 1}"
        )
    placed = np.flatnonzero(array >= 0)
    cells, first = np.unique(array[placed], return_index=True)
    if len(cells) < len(placed):
        again = np.setdiff1d(np.arange(len(placed)), first)[0]
        raise NotAPermutation(f"position {array[placed[again]]} is used by two pieces")
    return array.astype(np.int64)


def as_turns(turns: ArrayLike, num_pieces: int) -> IntArray:
    """Checked int64 copy (N,) of quarter turns 0..3."""
    array = whole_numbers(turns)
    if array.shape != (num_pieces,) or ((array < 0) | (array > 3)).any():
        raise NotAPermutation(f"expected {num_pieces} quarter turns from 0 to 3")
    return array.astype(np.int64)


def as_assignments(position_of: ArrayLike, num_pieces: int) -> IntArray:
    """Checked int64 copy (M, N) of one assignment per row."""
    array = whole_numbers(position_of)
    if array.ndim != 2 or array.shape[1] != num_pieces:
        raise NotAPermutation(f"expected shape (puzzles, {num_pieces}), got {array.shape}")
    check_bytes(array.size * _BYTES_PER_POSITION, f"{array.size:,} positions")
    outside = (array < 0) | (array >= num_pieces)
    if outside.any():
        row, piece = divmod(int(outside.argmax()), num_pieces)
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


def check_pins(
    pinned: Mapping[int, int] | None, num_pieces: int, num_cells: int | None = None
) -> dict[int, int]:
    """Pins (piece → position) that lie in range and do not collide."""
    num_cells = num_pieces if num_cells is None else num_cells
    try:
        pins = {int(piece): int(position) for piece, position in (pinned or {}).items()}
    except (TypeError, ValueError) as error:
        raise InputError(f"a pin joins two whole numbers, piece and position ({error})") from error
    for piece, position in pins.items():
        if not (0 <= piece < num_pieces and 0 <= position < num_cells):
            raise InputError(
                f"pin {piece}→{position} lies outside 0..{max(num_pieces, num_cells) - 1}"
            )
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
