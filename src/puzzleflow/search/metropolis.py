"""Metropolis moves, compiled. Import this module only to use it: it loads numba.

Three kinds of moves, all their own inverses' equals in probability, so that
the chain samples exp(−E / T): two pieces change places; a rectangle of pieces
moves elsewhere and what lay there fills the room it left; the pieces of a
rectangle (a line, a block, the whole layout) roll cyclically. When only a low
energy is sought, *guided* moves aim a piece beside one that it fits.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import numpy as np

from puzzleflow.core.cancelling import check_cancelled, stop_flag
from puzzleflow.core.types import FloatArray, IntArray
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
def _touching(cells, changed, num, mark, width, unary, right, down):
    """The terms of E that touch any of the first ``num`` cells in ``changed``."""
    total = 0.0
    for i in range(num):
        cell = changed[i]
        piece = cells[cell]
        total += unary[piece, cell] + right[piece, cells[cell + 1]]
        total += down[piece, cells[cell + width]]
        if not mark[cell - 1]:
            total += right[cells[cell - 1], piece]
        if not mark[cell - width]:
            total += down[cells[cell - width], piece]
    return total


@inner
def _plan_block(cells, top, left, height, wide, dy, dx, width, changed, pieces, inside):
    """A rectangle moves by (dy, dx); what it covers fills what it leaves. Returns the count."""
    num = 0
    for y in range(top, top + height):
        for x in range(left, left + wide):
            inside[y * width + x] = True
            changed[num] = (y + dy) * width + x + dx
            pieces[num] = cells[y * width + x]
            num += 1
    vacated = num
    for y in range(top, top + height):  # left by the rectangle
        for x in range(left, left + wide):
            if not (top + dy <= y < top + dy + height and left + dx <= x < left + dx + wide):
                changed[vacated] = y * width + x
                vacated += 1
    covered = num
    for y in range(top + dy, top + dy + height):  # covered by it
        for x in range(left + dx, left + dx + wide):
            if not inside[y * width + x]:
                pieces[covered] = cells[y * width + x]
                covered += 1
    for y in range(top, top + height):
        for x in range(left, left + wide):
            inside[y * width + x] = False
    return vacated


@inner
def _plan_roll(cells, top, left, height, wide, dy, dx, width, changed, pieces):
    """The pieces of a rectangle roll by (dy, dx) within it. Returns the count."""
    num = 0
    for y in range(height):
        for x in range(wide):
            changed[num] = (top + (y + dy) % height) * width + left + (x + dx) % wide
            pieces[num] = cells[(top + y) * width + left + x]
            num += 1
    return num


@inner
def _plan_random_block(cells, rng, rows, cols, changed, pieces, inside):
    height, wide = 1 + below(rng, rows), 1 + below(rng, cols)
    top, left = 1 + below(rng, rows - height + 1), 1 + below(rng, cols - wide + 1)
    dy = 1 + below(rng, rows - height + 1) - top
    dx = 1 + below(rng, cols - wide + 1) - left
    if dy == 0 and dx == 0:
        return 0
    return _plan_block(cells, top, left, height, wide, dy, dx, cols + 2, changed, pieces, inside)


@inner
def _plan_random_roll(cells, rng, rows, cols, changed, pieces):
    kind = below(rng, 4)  # the whole, a band of rows, a band of columns, a rectangle
    height = rows if kind == 0 or kind == 2 else 1 + below(rng, rows)
    wide = cols if kind == 0 or kind == 1 else 1 + below(rng, cols)
    top, left = 1 + below(rng, rows - height + 1), 1 + below(rng, cols - wide + 1)
    dy, dx = below(rng, height), below(rng, wide)
    if dy == 0 and dx == 0:
        return 0
    return _plan_roll(cells, top, left, height, wide, dy, dx, cols + 2, changed, pieces)


@inner
def _plan_guided_block(cells, rng, rows, cols, at, to, changed, pieces, inside):
    """A random rectangle around cell ``at`` moves so that its piece lands on cell ``to``."""
    width = cols + 2
    y, x = at // width, at % width
    ty, tx = to // width, to % width
    up = below(rng, min(min(y, ty), 4))
    left = below(rng, min(min(x, tx), 4))
    lower = below(rng, min(rows + 1 - max(y, ty), 4))
    beyond = below(rng, min(cols + 1 - max(x, tx), 4))
    return _plan_block(
        cells, y - up, x - left, up + lower + 1, left + beyond + 1, ty - y, tx - x,
        width, changed, pieces, inside,
    )  # fmt: skip


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
def _sweep(
    cells,
    where,
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
    """Metropolis proposals on one framed layout, in place; returns its energy and the best met."""
    unary, right, down, free, best, rows, cols = tables
    changed, pieces, old, mark, inside = room
    width = cols + 2
    nobody = len(where) - 1
    steps = (1, width, -1, -width)
    for _ in range(num_proposals):
        draw = uniform(rng)
        num = 0
        a = b = 0
        if draw < 0.97:
            a = free[below(rng, len(free))]
            b = free[below(rng, len(free))]
            if guided and draw < 0.7:
                direction = below(rng, 4)
                b = a + steps[direction]
                if cells[b] == nobody:
                    continue
                a = where[best[direction, cells[a], below(rng, best.shape[2])]]
                if draw < 0.06 and a != b:
                    num = _plan_guided_block(cells, rng, rows, cols, a, b, changed, pieces, inside)
            if a == b:
                continue
        else:
            if draw < 0.99:
                num = _plan_random_block(cells, rng, rows, cols, changed, pieces, inside)
            else:
                num = _plan_random_roll(cells, rng, rows, cols, changed, pieces)
            if num == 0:
                continue
        if num == 0:
            delta = _swap_delta(cells, a, b, width, unary, right, down)
            if delta <= 0.0 or uniform(rng) < np.exp(-delta / temperature):
                where[cells[a]], where[cells[b]] = a, b
                energy += delta
            else:
                cells[a], cells[b] = cells[b], cells[a]
        else:
            for i in range(num):
                mark[changed[i]] = True
                old[i] = cells[changed[i]]
            delta = -_touching(cells, changed, num, mark, width, unary, right, down)
            for i in range(num):
                cells[changed[i]] = pieces[i]
            delta += _touching(cells, changed, num, mark, width, unary, right, down)
            accepted = delta <= 0.0 or uniform(rng) < np.exp(-delta / temperature)
            for i in range(num):
                mark[changed[i]] = False
                if accepted:
                    where[pieces[i]] = changed[i]
                else:
                    cells[changed[i]] = old[i]
            if accepted:
                energy += delta
        if energy < best_energy - 1e-9:
            best_energy = energy
            for i in range(len(cells)):
                best_cells[i] = cells[i]
    return energy, best_energy


@compiled
def _anneal_all(stop, chains, temperatures, num_proposals, seeds, tables):
    """Cool every framed layout of ``chains`` (R, cells) through ``temperatures``.

    Each becomes the best layout it met; its energy is returned (R,).
    """
    unary, right, down, _, _, rows, cols = tables
    room = _make_room(chains.shape[1])
    where = np.zeros(unary.shape[0], np.int64)
    energies = np.empty(len(chains))
    rng = np.empty(1, np.uint64)
    for chain in range(len(chains)):
        rng[0] = seeds[chain]
        cells = chains[chain].copy()
        for cell in range(len(cells)):
            where[cells[cell]] = cell
        energy = _energy_of(cells, unary, right, down, rows, cols)
        lowest = energy
        for temperature in temperatures:
            if stop[0]:
                return energies
            energy, lowest = _sweep(
                cells, where, energy, chains[chain], lowest, temperature, num_proposals,
                True, rng, tables, room,
            )  # fmt: skip
        energies[chain] = lowest
    return energies


@compiled
def _temper_all(stop, chains, temperatures, num_rounds, num_proposals, rng, tables):
    """Sample at ``temperatures[0]`` by parallel tempering over rising temperatures.

    ``chains`` (R, cells) holds one framed layout for each temperature. After
    every round the coldest layout is counted. Returns how often each piece
    lay on each cell (N, cells), right and below of each other piece (N, N), and
    which row of ``chains``, changed in place, is at which temperature.
    """
    unary, right, down, _, _, rows, cols = tables
    room = _make_room(chains.shape[1])
    num, width = unary.shape[0] - 1, cols + 2
    where = np.zeros((len(chains), num + 1), np.int64)
    energies = np.empty(len(chains))
    spare = chains[0].copy()
    for chain in range(len(chains)):
        for cell in range(chains.shape[1]):
            where[chain, chains[chain, cell]] = cell
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
                chains[chain], where[chain], energies[chain], spare, -np.inf,
                temperatures[level], num_proposals, False, rng, tables, room,
            )  # fmt: skip
        for level in range(turn % 2, len(chains) - 1, 2):
            gain = energies[slot[level]] - energies[slot[level + 1]]
            gain *= 1.0 / temperatures[level] - 1.0 / temperatures[level + 1]
            if gain >= 0.0 or uniform(rng) < np.exp(gain):
                slot[level], slot[level + 1] = slot[level + 1], slot[level]
        cells = chains[slot[0]]
        for piece in range(num):
            cell = where[slot[0], piece]
            on_cell[piece, cell] += 1.0
            right_of[piece, cells[cell + 1]] += 1.0
            down_of[piece, cells[cell + width]] += 1.0
    return on_cell, right_of[:num, :num], down_of[:num, :num], slot


def _framed(
    tables: Tables,
) -> tuple[IntArray, tuple[FloatArray, FloatArray, FloatArray, IntArray, IntArray, int, int]]:
    """Costs over a grid with a frame of cells that hold "no piece" (N), which costs nothing.

    Returns the cell of every position, and what the compiled functions call ``tables``.
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
    """The best that each layout (R, N) meets while it cools through ``temperatures``."""
    cell, framed = _framed(tables)
    chains = _on_cells(layouts, cell, framed[0].shape[1])
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
) -> tuple[FloatArray, IntArray]:
    """Go on from one layout (R, N) for each of rising ``temperatures``, exchanging them.

    Returns counts (3, N, N) of positions, right and down neighbours at the first
    temperature, and the layouts to go on from.
    """
    cell, framed = _framed(tables)
    chains = _on_cells(layouts, cell, framed[0].shape[1])
    on_cell, right, down, slot = _temper_all(
        stop_flag(), chains, temperatures, num_rounds, num_proposals,
        random_state(seed, "temper", 0), framed,
    )  # fmt: skip
    check_cancelled()
    return np.stack([on_cell[:, cell], right, down]), chains[slot][:, cell]
