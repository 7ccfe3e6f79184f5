"""Metropolis moves, compiled. Import this module only to use it: it loads numba.

Three kinds of moves, each as probable as its inverse, so that the chain
samples exp(−E / T): two pieces change places; a rectangle of pieces moves
elsewhere and what lay there fills the room it left; the pieces of a rectangle
(a line, a block, the whole layout) roll cyclically. In the open world a piece may
also turn, and one that lies aside may come in for another. When only a low energy
is sought, *guided* moves aim a piece beside one that it fits.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np

from puzzleflow.core.cancelling import check_cancelled, stop_flag
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.block_moves import (
    plan_guided_block,
    plan_random_block,
    plan_random_roll,
    touching,
)
from puzzleflow.search.compiling import below, compiled, inner, random_state, uniform
from puzzleflow.search.tables import Tables


@inner
def _energy_of(cells, unary, right, down, rows, cols):
    """E of a framed layout."""
    width = cols + 2
    total = 0.0
    for row in range(1, rows + 1):
        for cell in range(row * width + 1, row * width + cols + 1):
            piece = cells[cell]
            total += unary[piece, cell] + right[piece, cells[cell + 1]]
            total += down[piece, cells[cell + width]]
    return total


@inner
def _around(cells, cell, width, unary, right, down):
    """The terms of E that touch one cell."""
    piece = cells[cell]
    return (
        unary[piece, cell]
        + right[cells[cell - 1], piece]
        + right[piece, cells[cell + 1]]
        + down[cells[cell - width], piece]
        + down[piece, cells[cell + width]]
    )


@inner
def _swap_delta(cells, a, b, width, unary, right, down):
    """Change of E when the pieces at cells a and b change places (they have, on return)."""
    if a > b:
        a, b = b, a
    before = _around(cells, a, width, unary, right, down)
    before += _around(cells, b, width, unary, right, down)
    p, q = cells[a], cells[b]
    if b == a + 1:
        before += right[q, p] - right[p, q]
    elif b == a + width:
        before += down[q, p] - down[p, q]
    cells[a], cells[b] = q, p
    after = _around(cells, a, width, unary, right, down)
    after += _around(cells, b, width, unary, right, down)
    return after - before


@inner
def _make_room(num_cells):
    """Scratch arrays of one chain: changed cells, new and old pieces, two flags per cell."""
    return (
        np.empty(2 * num_cells, np.int64),
        np.empty(2 * num_cells, np.int64),
        np.empty(2 * num_cells, np.int64),
        np.zeros(num_cells, np.bool_),
        np.zeros(num_cells, np.bool_),
    )


@inner
def _variants(tables, candidate):
    """The first candidate of the same piece, and how many there are."""
    piece_of, first_of = tables[7], tables[8]
    first = first_of[piece_of[candidate]]
    return first, first_of[piece_of[candidate] + 1] - first


@inner
def _replace_delta(cells, cell, candidate, width, unary, right, down):
    """Change of E when ``candidate`` takes the place of what lies at ``cell`` (it has)."""
    before = _around(cells, cell, width, unary, right, down)
    cells[cell] = candidate
    return _around(cells, cell, width, unary, right, down) - before


@inner
def _propose_open(cells, where, aside, temperature, guided, rng, tables):
    """One move of the open world, made if it is accepted: change of E, or 0.

    A piece that lies aside comes in for one that goes out, or a piece turns where it
    lies. ``aside`` (A,) holds the pieces that lie nowhere.
    """
    unary, right, down, free, best, _, cols, piece_of, first_of = tables
    width = cols + 2
    cell = free[below(rng, len(free))]
    old = cells[cell]
    place = -1
    if len(aside) and uniform(rng) < 0.5:
        place = below(rng, len(aside))
        piece = aside[place]
        new = first_of[piece] + below(rng, first_of[piece + 1] - first_of[piece])
        if guided and uniform(rng) < 0.7:  # one that fits a neighbour of the cell
            direction = below(rng, 4)
            beside = cells[cell - (1, width, -1, -width)[direction]]
            if beside < len(piece_of):
                new = best[direction, beside, below(rng, best.shape[2])]
                place = -1
                for i in range(len(aside)):
                    if aside[i] == piece_of[new]:
                        place = i
                if place < 0:
                    return 0.0
        bias = np.log(_variants(tables, new)[1] / _variants(tables, old)[1])
    else:
        first, count = _variants(tables, old)
        new = first + below(rng, count)
        bias = 0.0
        if new == old:
            return 0.0
    delta = _replace_delta(cells, cell, new, width, unary, right, down)
    if delta <= temperature * bias or uniform(rng) < np.exp(bias - delta / temperature):
        if place >= 0:
            aside[place] = piece_of[old]
            where[piece_of[old]] = -1
            where[piece_of[new]] = cell
        return delta
    cells[cell] = old
    return 0.0


@inner
def _sweep(
    cells,
    where,
    aside,
    energy,
    best_cells,
    best_energy,
    temperature,
    num_proposals,
    guided,
    rng,
    tables,
    room,
):
    """Metropolis proposals on one framed layout, in place; returns its energy and the best met.

    where  (K + 1,) the cell of every piece, -1 for one that lies aside
    """
    unary, right, down, free, best, rows, cols, piece_of, _ = tables
    changed, pieces, old, mark, inside = room
    width = cols + 2
    nobody = len(piece_of)
    is_open = len(aside) > 0 or nobody > len(where) - 1
    steps = (1, width, -1, -width)
    for _ in range(num_proposals):
        if is_open and uniform(rng) < 0.4:
            energy += _propose_open(cells, where, aside, temperature, guided, rng, tables)
            if energy < best_energy - 1e-9:
                best_energy = energy
                for i in range(len(cells)):
                    best_cells[i] = cells[i]
            continue
        draw = uniform(rng)
        num = 0
        a = b = 0
        wanted = -1  # the candidate that is to lie at b, where a guided move knows
        if draw < 0.97:
            a = free[below(rng, len(free))]
            b = free[below(rng, len(free))]
            if guided and draw < 0.7:
                direction = below(rng, 4)
                b = a + steps[direction]
                if cells[b] == nobody:
                    continue
                wanted = best[direction, cells[a], below(rng, best.shape[2])]
                a = where[piece_of[wanted]]
                if a < 0:
                    continue
                if draw < 0.06 and a != b:
                    num = plan_guided_block(cells, rng, rows, cols, a, b, changed, pieces, inside)
            if a == b:
                continue
        else:
            if draw < 0.99:
                num = plan_random_block(cells, rng, rows, cols, changed, pieces, inside)
            else:
                num = plan_random_roll(cells, rng, rows, cols, changed, pieces)
            if num == 0:
                continue
        if num == 0:
            was_a, was_b = cells[a], cells[b]
            delta = _swap_delta(cells, a, b, width, unary, right, down)
            if wanted >= 0 and cells[b] != wanted:
                delta += _replace_delta(cells, b, wanted, width, unary, right, down)
            elif not guided and nobody > len(where) - 1 and uniform(rng) < 0.5:
                for cell in (a, b):  # and both turn anyhow
                    first, count = _variants(tables, cells[cell])
                    turned = first + below(rng, count)
                    delta += _replace_delta(cells, cell, turned, width, unary, right, down)
            if delta <= 0.0 or uniform(rng) < np.exp(-delta / temperature):
                where[piece_of[cells[a]]], where[piece_of[cells[b]]] = a, b
                energy += delta
            else:
                cells[a], cells[b] = was_a, was_b
        else:
            for i in range(num):
                mark[changed[i]] = True
                old[i] = cells[changed[i]]
            delta = -touching(cells, changed, num, mark, width, unary, right, down)
            for i in range(num):
                cells[changed[i]] = pieces[i]
            delta += touching(cells, changed, num, mark, width, unary, right, down)
            accepted = delta <= 0.0 or uniform(rng) < np.exp(-delta / temperature)
            for i in range(num):
                mark[changed[i]] = False
                if accepted:
                    where[piece_of[pieces[i]]] = changed[i]
                else:
                    cells[changed[i]] = old[i]
            if accepted:
                energy += delta
        if energy < best_energy - 1e-9:
            best_energy = energy
            for i in range(len(cells)):
                best_cells[i] = cells[i]
    return energy, best_energy


@inner
def _locate(cells, where, aside, piece_of):
    """Fill ``where`` and ``aside`` from the framed layout."""
    for piece in range(len(where)):
        where[piece] = -1
    for cell in range(len(cells)):
        if cells[cell] < len(piece_of):
            where[piece_of[cells[cell]]] = cell
    num = 0
    for piece in range(len(where) - 1):
        if where[piece] < 0:
            aside[num] = piece
            num += 1


@compiled
def _anneal_all(stop, chains, temperatures, num_proposals, seeds, tables):
    """Cool every framed layout of ``chains`` (R, cells) through ``temperatures``.

    Each becomes the best layout it met; its energy is returned (R,).
    """
    unary, right, down, _, _, rows, cols, piece_of, first_of = tables
    room = _make_room(chains.shape[1])
    where = np.zeros(len(first_of), np.int64)
    aside = np.zeros(len(first_of) - 1 - rows * cols, np.int64)
    energies = np.empty(len(chains))
    rng = np.empty(1, np.uint64)
    for chain in range(len(chains)):
        rng[0] = seeds[chain]
        cells = chains[chain].copy()
        _locate(cells, where, aside, piece_of)
        energy = _energy_of(cells, unary, right, down, rows, cols)
        lowest = energy
        for temperature in temperatures:
            if stop[0]:
                return energies
            energy, lowest = _sweep(
                cells, where, aside, energy, chains[chain], lowest, temperature, num_proposals,
                True, rng, tables, room,
            )  # fmt: skip
        energies[chain] = lowest
    return energies


@compiled
def _temper_all(stop, chains, temperatures, num_rounds, num_proposals, rng, tables):
    """Sample at ``temperatures[0]`` by parallel tempering over rising temperatures.

    ``chains`` (R, cells) holds one framed layout for each temperature. After
    every round the coldest layout is counted. Returns how often each candidate
    lay on each cell (N, cells), right and below of each other one (N, N), and
    which row of ``chains``, changed in place, is at which temperature.
    """
    unary, right, down, _, _, rows, cols, piece_of, first_of = tables
    room = _make_room(chains.shape[1])
    num, width = len(piece_of), cols + 2
    where = np.zeros((len(chains), len(first_of)), np.int64)
    aside = np.zeros((len(chains), len(first_of) - 1 - rows * cols), np.int64)
    energies = np.empty(len(chains))
    spare = chains[0].copy()
    for chain in range(len(chains)):
        _locate(chains[chain], where[chain], aside[chain], piece_of)
        energies[chain] = _energy_of(chains[chain], unary, right, down, rows, cols)
    on_cell = np.zeros((num, chains.shape[1]))
    right_of, down_of = np.zeros((num + 1, num + 1)), np.zeros((num + 1, num + 1))
    slot = np.arange(len(chains))  # which chain is at which temperature
    for turn in range(num_rounds):
        if stop[0]:
            break
        for level in range(len(chains)):
            chain = slot[level]
            energies[chain], _ = _sweep(
                chains[chain], where[chain], aside[chain], energies[chain], spare, -np.inf,
                temperatures[level], num_proposals, False, rng, tables, room,
            )  # fmt: skip
        for level in range(turn % 2, len(chains) - 1, 2):
            gain = energies[slot[level]] - energies[slot[level + 1]]
            gain *= 1.0 / temperatures[level] - 1.0 / temperatures[level + 1]
            if gain >= 0.0 or uniform(rng) < np.exp(gain):
                slot[level], slot[level + 1] = slot[level + 1], slot[level]
        cells = chains[slot[0]]
        for row in range(1, rows + 1):
            for cell in range(row * width + 1, row * width + cols + 1):
                on_cell[cells[cell], cell] += 1.0
                right_of[cells[cell], cells[cell + 1]] += 1.0
                down_of[cells[cell], cells[cell + width]] += 1.0
    return on_cell, right_of[:num, :num], down_of[:num, :num], slot


_Framed = tuple[
    FloatArray, FloatArray, FloatArray, IntArray, IntArray, int, int, IntArray, IntArray
]


def _framed(tables: Tables) -> tuple[IntArray, _Framed]:
    """Costs over a grid with a frame of cells that hold "nobody" (N), which costs nothing.

    Returns the cell of every position, and what the compiled functions call ``tables``.
    """
    (rows, cols), num = tables.grid.shape, tables.num_candidates
    cells = np.arange((rows + 2) * (cols + 2)).reshape(rows + 2, cols + 2)
    cell = cells[1:-1, 1:-1].ravel()  # (P,)
    unary = np.zeros((num + 1, cells.size))
    unary[:num, cell] = tables.unary
    right, down = np.zeros((2, num + 1, num + 1))
    right[:num, :num], down[:num, :num] = tables.right, tables.down
    return cell, (
        unary, right, down, cell[tables.free], tables.best, rows, cols,
        tables.piece_of, tables.first_of,
    )  # fmt: skip


def _on_cells(layouts: IntArray, cell: IntArray, unary: FloatArray) -> IntArray:
    """(R, P) candidates by position → (R, cells) framed by "nobody"."""
    framed = np.full((len(layouts), unary.shape[1]), len(unary) - 1)
    framed[:, cell] = layouts
    return framed


def anneal(
    tables: Tables, layouts: IntArray, *, temperatures: FloatArray, num_proposals: int, seed: int
) -> tuple[IntArray, FloatArray]:
    """The best that each layout (R, P) meets while it cools through ``temperatures``."""
    cell, framed = _framed(tables)
    chains = _on_cells(layouts, cell, framed[0])
    seeds = np.concatenate([random_state(seed, "anneal", i) for i in range(len(chains))])  # (R,)
    energies = _anneal_all(stop_flag(), chains, temperatures, num_proposals, seeds, framed)
    check_cancelled()
    return chains[:, cell], energies


def temper(
    tables: Tables,
    layouts: IntArray,
    *,
    temperatures: FloatArray,
    num_rounds: int,
    num_proposals: int,
    seed: int,
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Go on from one layout (R, P) for each of rising ``temperatures``, exchanging them.

    Returns how often each candidate lay at each position (N, P), right and below of
    each other one (N, N) at the first temperature, and the layouts to go on from.
    """
    cell, framed = _framed(tables)
    chains = _on_cells(layouts, cell, framed[0])
    on_cell, right, down, slot = _temper_all(
        stop_flag(), chains, temperatures, num_rounds, num_proposals,
        random_state(seed, "temper", 0), framed,
    )  # fmt: skip
    check_cancelled()
    return on_cell[:, cell], right, down, chains[slot][:, cell]
