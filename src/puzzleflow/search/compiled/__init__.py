"""The search loops compiled by numba; import this only to use it, for it loads numba.

The functions are those of :class:`puzzleflow.search.backend.Backend`.
"""

from __future__ import annotations

import numpy as np

from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.compiled import growth, metropolis
from puzzleflow.search.tables import Tables

PACE = 1.0


def _seeds(seed: int, name: str, num: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """(num,) odd, hence never 0."""
    return np.array([child_seed(seed, name, i) | 1 for i in range(num)], dtype=np.uint64)


def _relative(tables: Tables) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    """Relative costs as the kernels want them, the unary ones by position and piece."""
    unary, right, down = tables.relative
    return np.ascontiguousarray(unary.T), right, down, tables.has_unary


def grow(
    tables: Tables, seeds: IntArray, *, noise: float, seed: int
) -> tuple[IntArray, FloatArray]:
    """One layout grown from each piece of ``seeds``."""
    layouts = np.empty((len(seeds), tables.num_pieces), dtype=np.int64)
    energies = np.empty(len(seeds))
    growth.grow_all(
        seeds,
        layouts,
        energies,
        tables.settled,
        noise,
        tables.warmth,
        _seeds(seed, "grow", 1),
        _relative(tables),
        tables.costs,
        *tables.grid.shape,
    )
    return layouts, energies


def regrow(
    tables: Tables, layouts: IntArray, *, num_turns: int, noise: float, seed: int
) -> tuple[IntArray, FloatArray]:
    """Keep parts of each layout and grow the rest anew, in turns."""
    layouts = layouts.copy()
    energies = tables.energy_of(layouts)
    growth.regrow(
        layouts,
        energies,
        tables.settled,
        num_turns,
        noise,
        tables.warmth,
        _seeds(seed, "regrow", 1),
        _relative(tables),
        tables.costs,
        *tables.grid.shape,
    )
    return layouts, energies


def _framed(
    tables: Tables,
) -> tuple[IntArray, tuple[FloatArray, FloatArray, FloatArray, IntArray, IntArray, int, int]]:
    """Costs over a grid with a frame of cells that hold "no piece" (N), which costs nothing.

    Returns the cell of every position, and what the kernels call ``tables``.
    """
    (rows, cols), num = tables.grid.shape, tables.num_pieces
    cells = np.arange((rows + 2) * (cols + 2)).reshape(rows + 2, cols + 2)
    cell = cells[1:-1, 1:-1].ravel()  # (N,)
    unary = np.zeros((num + 1, cells.size))
    unary[:num, cell] = tables.costs[0]
    right, down = np.zeros((2, num + 1, num + 1))
    right[:num, :num], down[:num, :num] = tables.costs[1:]
    return cell, (unary, right, down, cell[tables.free], tables.best, rows, cols)


def _on_cells(layouts: IntArray, cell: IntArray, num_cells: int) -> IntArray:
    """(R, N) pieces by position → (R, cells) framed by "no piece"."""
    framed = np.full((len(layouts), num_cells), layouts.shape[1])
    framed[:, cell] = layouts
    return framed


def anneal(
    tables: Tables, layouts: IntArray, *, temperatures: FloatArray, num_proposals: int, seed: int
) -> tuple[IntArray, FloatArray]:
    """The best that each layout meets while it cools."""
    cell, framed = _framed(tables)
    chains = _on_cells(layouts, cell, framed[0].shape[1])
    seeds = _seeds(seed, "anneal", len(chains))
    energies = metropolis.anneal(chains, temperatures, num_proposals, seeds, framed)
    return chains[:, cell], energies


def temper(
    tables: Tables,
    layouts: IntArray,
    *,
    temperatures: FloatArray,
    num_rounds: int,
    num_proposals: int,
    seed: int,
) -> tuple[FloatArray, IntArray]:
    """Counts at the first temperature, by parallel tempering, and the layouts at its end."""
    cell, framed = _framed(tables)
    chains = _on_cells(layouts, cell, framed[0].shape[1])
    on_cell, right, down, slot = metropolis.temper(
        chains, temperatures, num_rounds, num_proposals, _seeds(seed, "temper", 1), framed
    )
    return np.stack([on_cell[:, cell], right, down]), chains[slot][:, cell]
