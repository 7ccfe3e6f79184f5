"""How a layout is wrong: a taxonomy from the offsets of its pieces.

The *offset* of a piece is how far it was put from its true cell, counted
round the edges: ((row - true row) mod rows, (col - true col) mod cols). The
*bulk* is the largest group of pieces with one common offset (of equally large
groups, the one at offset zero, else the one at the smallest offset). Let b be
its size among N pieces:

solved       b = N, offset zero: every piece lies right
exact shift  b = N, another offset: the whole picture, rolled round the edges
local swap   b < N but large, offset zero: a few pieces changed places
near shift   b < N but large, another offset: rolled, and a few pieces besides
lost         no large bulk

*Large* means at least two thirds of the pieces, or all but two of them (a
2x2 puzzle with two pieces exchanged is a local swap). Every layout falls in
exactly one class. On a grid of one row and two columns the only mistake is an
exact shift.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import IntArray


class Failure(IntEnum):
    """The classes, from the best to the worst layout."""

    SOLVED = 0
    LOCAL_SWAP = 1
    EXACT_SHIFT = 2
    NEAR_SHIFT = 3
    LOST = 4

    @property
    def label(self) -> str:
        """For tables and files: ``"exact shift"``."""
        return self.name.lower().replace("_", " ")


def cyclic_offsets(put_at: IntArray, grid: Grid) -> IntArray:
    """(M, N) offset of the piece that belongs at each position, ``rows_off * cols + cols_off``.

    put_at  (M, N) where the piece that belongs at position j was put
    """
    rows, cols = grid.coordinates.T
    rows_off = rows[put_at] - rows
    cols_off = cols[put_at] - cols
    rows_off += grid.rows * (rows_off < 0)  # a modulo, four times as fast
    cols_off += grid.cols * (cols_off < 0)
    offsets: IntArray = rows_off * grid.cols + cols_off
    return offsets


def classify(put_at: IntArray, grid: Grid) -> IntArray:
    """(M,) :class:`Failure` of every layout; see :func:`cyclic_offsets` for ``put_at``."""
    num_puzzles, n = put_at.shape
    flat = cyclic_offsets(put_at, grid) + n * np.arange(num_puzzles)[:, None]
    sizes = np.bincount(flat.ravel(), minlength=num_puzzles * n).reshape(num_puzzles, n)
    bulk_offset = sizes.argmax(axis=1)  # (M,) the first of equals, so zero wins
    bulk = sizes.max(axis=1)
    large = (3 * bulk >= 2 * n) | (bulk >= n - 2)
    at_zero = bulk_offset == 0
    return np.select(
        [(bulk == n) & at_zero, bulk == n, large & at_zero, large],
        [Failure.SOLVED, Failure.EXACT_SHIFT, Failure.LOCAL_SWAP, Failure.NEAR_SHIFT],
        default=Failure.LOST,
    ).astype(np.int64)
