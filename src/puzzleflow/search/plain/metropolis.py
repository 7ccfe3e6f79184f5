"""Metropolis moves on many layouts at once.

Every move is a rearrangement of positions, ``new[j] = old[source[j]]``: a
swap, a rectangle that moves, or one that rolls; see the compiled twin. In one
step all layouts are offered a move, and each accepts or refuses for itself.
"""

from __future__ import annotations

import numpy as np

from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.tables import Tables


def _sources(tables: Tables, num_chains: int, rng: np.random.Generator) -> IntArray:
    """(R, N) one rearrangement for each chain."""
    source = np.repeat(np.arange(tables.num_pieces)[None], num_chains, axis=0)
    draw = rng.random()
    if draw < 0.8:
        chains = np.arange(num_chains)
        first, second = rng.choice(tables.free, size=(2, num_chains))
        source[chains, first], source[chains, second] = second, first
    elif draw < 0.92:
        source[:] = _moved_rectangle(tables, rng)
    else:
        source[:] = _rolled_rectangle(tables, rng)
    return source


def _rectangle(
    shape: tuple[int, int], limits: tuple[int, int], rng: np.random.Generator
) -> tuple[int, int]:
    """Top and left of a rectangle of ``shape`` within ``limits``."""
    return int(rng.integers(limits[0] - shape[0] + 1)), int(rng.integers(limits[1] - shape[1] + 1))


def _moved_rectangle(tables: Tables, rng: np.random.Generator) -> IntArray:
    """(N,) a rectangle moves; what it covers fills, in order, what it leaves."""
    rows, cols = tables.grid.shape
    height, width = int(rng.integers(1, rows + 1)), int(rng.integers(1, cols + 1))
    (y, x), (ty, tx) = (_rectangle((height, width), (rows, cols), rng) for _ in range(2))
    cells = np.arange(rows * cols).reshape(rows, cols)
    here = cells[y : y + height, x : x + width].ravel()
    there = cells[ty : ty + height, tx : tx + width].ravel()
    source = np.arange(rows * cols)
    source[here[~np.isin(here, there)]] = there[~np.isin(there, here)]
    source[there] = here
    return source


def _rolled_rectangle(tables: Tables, rng: np.random.Generator) -> IntArray:
    """(N,) the pieces of a rectangle, a band or the whole layout roll cyclically."""
    rows, cols = tables.grid.shape
    whole_height, whole_width = rng.random(2) < 0.5
    height = rows if whole_height else int(rng.integers(1, rows + 1))
    width = cols if whole_width else int(rng.integers(1, cols + 1))
    y, x = _rectangle((height, width), (rows, cols), rng)
    source = np.arange(rows * cols).reshape(rows, cols)
    block = source[y : y + height, x : x + width]
    block[:] = np.roll(block, (rng.integers(height), rng.integers(width)), axis=(0, 1))
    return source.ravel()


def _step(
    tables: Tables,
    chains: IntArray,
    energies: FloatArray,
    temperatures: FloatArray,
    rng: np.random.Generator,
) -> None:
    """One proposal to every chain, in place."""
    offered = np.take_along_axis(chains, _sources(tables, len(chains), rng), axis=1)
    values = tables.energy_of(offered)
    accepted = values - energies <= rng.exponential(size=len(chains)) * temperatures
    chains[accepted], energies[accepted] = offered[accepted], values[accepted]


def anneal(
    tables: Tables, layouts: IntArray, *, temperatures: FloatArray, num_proposals: int, seed: int
) -> tuple[IntArray, FloatArray]:
    """The best that each layout meets while it cools."""
    rng = child_rng(seed, "anneal")
    chains = layouts.copy()
    energies = tables.energy_of(chains)
    best, lowest = chains.copy(), energies.copy()
    for temperature in temperatures:
        warmth = np.full(len(chains), temperature)
        for _ in range(num_proposals):
            _step(tables, chains, energies, warmth, rng)
            better = energies < lowest
            best[better], lowest[better] = chains[better], energies[better]
    return best, lowest


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
    rng = child_rng(seed, "temper")
    chains = layouts.copy()
    energies = tables.energy_of(chains)
    num, shape = tables.num_pieces, tables.grid.shape
    position, right, down = counts = np.zeros((3, num, num))
    for turn in range(num_rounds):
        for _ in range(num_proposals):
            _step(tables, chains, energies, temperatures, rng)
        for level in range(turn % 2, len(chains) - 1, 2):
            gain = (energies[level] - energies[level + 1]) * (
                1 / temperatures[level] - 1 / temperatures[level + 1]
            )
            if -gain <= rng.exponential():
                pair, other = [level, level + 1], [level + 1, level]
                chains[pair], energies[pair] = chains[other], energies[other]
        cells = chains[0].reshape(shape)
        position[chains[0], np.arange(num)] += 1
        right[cells[:, :-1], cells[:, 1:]] += 1
        down[cells[:-1], cells[1:]] += 1
    return counts, chains
