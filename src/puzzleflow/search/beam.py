"""Beam construction: lay the pieces in scan order, keeping the cheapest beginnings."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.energy import Energy


def beam_layouts(energy: Energy, *, width: int, order: int = 0) -> IntArray:
    """(≤ width, N) ``piece_at`` of complete layouts, cheapest first.

    Pieces are laid cell by cell; after each the ``width`` cheapest beginnings
    survive. A beginning is judged by what it has cost plus the least that the
    unused pieces can still cost. ``order`` in 0..7 picks the corner and axis
    of the scan; a mistake that one order makes early, another makes late or
    not at all.
    """
    rows, cols = energy.grid.shape
    cells = np.arange(rows * cols).reshape(rows, cols)
    across, along = energy.right, energy.down
    if order & 1:
        cells, across = cells[:, ::-1], across.T
    if order & 2:
        cells, along = cells[::-1], along.T
    if order & 4:
        cells, across, along = cells.T, along, across
    laid = _beam(energy.unary[:, cells.ravel()], across, along, cells.shape[1], width)
    piece_at = np.empty_like(laid)
    piece_at[:, cells.ravel()] = laid
    return piece_at


def _beam(
    unary: FloatArray, across: FloatArray, along: FloatArray, num_cols: int, width: int
) -> IntArray:
    """(≤ width, N) pieces in the order of laying; ``unary`` (N, N) piece, cell of the scan."""
    num = len(unary)
    unary = unary - _floor(across)[:, None] - _floor(along)[:, None]
    unary = unary - _floor(unary.T)[:, None]
    laid = np.zeros((1, 0), dtype=np.int64)  # (B, k)
    used = np.zeros((1, num), dtype=bool)  # (B, N)
    spent = np.zeros(1)  # (B,)
    for cell in range(num):
        check_cancelled()
        cost = spent[:, None] + unary[:, cell]  # (B, N)
        if cell % num_cols:
            cost += across[laid[:, -1]]
        if cell >= num_cols:
            cost += along[laid[:, -num_cols]]
        cost[used] = np.inf
        flat = cost.ravel()
        if flat.size > width:
            keep = np.sort(np.argpartition(flat, width - 1)[:width])
        else:
            keep = np.arange(flat.size)
        keep = keep[np.isfinite(flat[keep])]
        before, piece = np.divmod(keep, num)
        laid = np.concatenate([laid[before], piece[:, None]], axis=1)
        used = used[before]
        used[np.arange(len(piece)), piece] = True
        spent = flat[keep]
    return laid[np.argsort(spent, kind="stable")]


def _floor(cost: FloatArray) -> FloatArray:
    """(N,) the least finite cost in each column, 0 where there is none."""
    floor = np.where(np.isfinite(cost), cost, np.inf).min(axis=0)
    return np.where(np.isfinite(floor), floor, 0.0)
