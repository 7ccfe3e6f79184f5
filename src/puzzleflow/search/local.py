"""Grids too large for exact search: grow, regrow, anneal or mend; and sample for marginals."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.puzzle import Layout
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search.beam import beam_layouts
from puzzleflow.search.energy import Energy
from puzzleflow.search.posterior import Posterior
from puzzleflow.search.tables import Tables

NUM_KEPT = 6  # layouts that are improved side by side
LARGE = 80  # cells; beyond, fewer layouts are grown and the best are improved again and again
LARGE_STARTS = 40
KEPT_AGAIN = (NUM_KEPT, 2, 2, 2)  # layouts of a large grid in every round, which takes
TURNS_A_CELL, TURNS = 5, 8e5  # of regrowing: so many for each cell, or divided by the cells,
MENDING = 20  # times as many of mending, which is so much quicker, and is the last if it
GAINED = 0.1  # times the warmth does not gain
NOISE = 0.25  # of the order in which pieces are laid
NOISE_AROUND_PINS = 1.0  # where all growth starts from the same settled pieces
EFFORT_AROUND_PINS = 3.0  # settled pieces stand in the way of moves
BEAM_ORDERS = (0, 3, 4, 7)  # two opposite corners, by rows and by columns
MAX_SWAPPED = 60  # weakest positions whose swaps are listed as alternatives
BLOCKS = 8  # of rounds of sampling at most, besides the first, which is not counted
SETTLED = 0.01  # a block within this of the mean so far is the last
TEMPERATURES = np.geomspace(1.0, 3.0, 12)  # of sampling; the first is what is asked for


def search(
    energy: Energy,
    *,
    seed: int,
    num_layouts: int = 1,
    effort: float = 1.0,
) -> list[Layout]:
    """The best ``num_layouts`` distinct layouts found, best first.

    Layouts are grown from every piece and laid by beam search; the best of
    them are regrown in parts and annealed, or mended if they are large. The work
    depends on the number of pieces and ``effort`` alone, never on the clock.
    """
    _check_feasible(energy)
    tables = Tables.of(energy)
    pool = _improved(energy, tables, seed, effort)
    listed = pool[:1] if num_layouts == 1 else islice(_best_first(tables, pool), num_layouts)
    found = [energy.layout(_position_of(p, energy.num_candidates)) for p in listed]
    found = [layout for layout in found if np.isfinite(layout.energy or 0.0)]
    if not found:
        raise CannotSolve("found no layout that honours the pinned and forbidden placements")
    return sorted(found, key=lambda layout: layout.energy or 0.0)


def _position_of(candidate_at: IntArray, num_candidates: int) -> IntArray:
    """(P,) candidates by position → (N,) positions of candidates, -1 for those not laid."""
    position_of = np.full(num_candidates, -1, dtype=np.int64)
    position_of[candidate_at] = np.arange(len(candidate_at))
    return position_of


def _check_feasible(energy: Energy) -> None:
    """Refuse unary costs whose infinite entries leave a cell without a piece of its own."""
    possible = np.isfinite(energy.unary)
    if possible.all():
        return
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    first = np.searchsorted(energy.pieces, np.arange(energy.num_pieces))
    by_piece = np.logical_or.reduceat(possible, first, axis=0)  # (K, P)
    if (maximum_bipartite_matching(csr_array(by_piece.T), perm_type="column") < 0).any():
        raise CannotSolve("no layout honours the pinned and forbidden placements together")


def _improved(energy: Energy, tables: Tables, seed: int, effort: float) -> IntArray:
    """(R, P) good layouts."""
    from puzzleflow.search.growth import grow, regrow
    from puzzleflow.search.mending import mend
    from puzzleflow.search.metropolis import anneal

    num, noise = tables.num_cells, 0.0
    is_large = num > LARGE
    if energy.piece_of is not None:  # copies of the same layout would all grow alike
        noise = NOISE
    if len(tables.free) < num:
        noise, effort = NOISE_AROUND_PINS, EFFORT_AROUND_PINS * effort
    starts = np.arange(tables.num_candidates)
    most = max(1.0, effort * (LARGE_STARTS if is_large else 100))
    if len(starts) > most:
        starts = starts[:: int(np.ceil(len(starts) / most))]
    layouts, _ = grow(tables, starts, noise=noise, seed=seed)
    if tables.has_unary and not is_large:
        beams = [beam_layouts(energy, width=16, order=order)[:1] for order in BEAM_ORDERS]
        layouts = np.concatenate([layouts, *beams])
    layouts = _sorted(tables, layouts)
    most_turns = min(TURNS_A_CELL * num, TURNS / num) if is_large else min(40 * num, 2e8 / num**2.5)
    turns = int(effort * most_turns)
    for again, kept in enumerate(KEPT_AGAIN if is_large else (NUM_KEPT,)):
        before = float(tables.energy_of(layouts[0]))
        layouts, _ = regrow(
            tables,
            layouts[:kept],
            num_turns=turns,
            noise=NOISE,
            seed=child_seed(seed, "regrow", *([again] if again else [])),
        )
        if is_large:
            mended, _ = mend(
                tables,
                layouts,
                num_turns=MENDING * turns,
                noise=NOISE,
                seed=child_seed(seed, "mend", again),
            )
            layouts = np.concatenate([layouts, mended])
        elif len(tables.free) > 1:
            cooled, _ = anneal(
                tables,
                layouts,
                temperatures=tables.warmth * np.geomspace(1.5, 0.3, 20),
                num_proposals=int(effort * 40 * num),
                seed=child_seed(seed, "anneal"),
            )
            layouts = np.concatenate([layouts, cooled])
        layouts = _sorted(tables, layouts)
        if float(tables.energy_of(layouts[0])) >= before - GAINED * tables.warmth:
            break
    return layouts


def _sorted(tables: Tables, layouts: IntArray) -> IntArray:
    """Distinct layouts, lowest energy first."""
    layouts = np.unique(layouts, axis=0)
    return layouts[np.argsort(tables.energy_of(layouts), kind="stable")]


def _best_first(tables: Tables, pool: IntArray) -> Iterator[IntArray]:
    """Layouts within swaps of ``pool``, best first as far as swaps lead there."""
    queue = [
        (float(e), tuple(p.tolist())) for e, p in zip(tables.energy_of(pool), pool, strict=True)
    ]
    heapq.heapify(queue)
    seen = {layout for _, layout in queue}
    while queue:
        check_cancelled()
        _, layout = heapq.heappop(queue)
        piece_at = np.array(layout)
        yield piece_at
        near = _swapped(tables, piece_at)
        for value, other in zip(tables.energy_of(near).tolist(), near.tolist(), strict=True):
            if (key := tuple(other)) not in seen:
                seen.add(key)
                heapq.heappush(queue, (value, key))


def _swapped(tables: Tables, piece_at: IntArray) -> IntArray:
    """(S, P) every layout one swap of two weak free positions away."""
    free = tables.free
    if len(free) > MAX_SWAPPED:
        free = free[np.argsort(-_local_cost(tables, piece_at)[free], kind="stable")[:MAX_SWAPPED]]
    first, second = np.triu_indices(len(free), k=1)
    near = np.repeat(piece_at[None], len(first), axis=0)
    rows = np.arange(len(first))
    near[rows, free[first]], near[rows, free[second]] = (
        piece_at[free[second]],
        piece_at[free[first]],
    )
    return near


def _local_cost(tables: Tables, piece_at: IntArray) -> FloatArray:
    """(P,) the terms of the energy that touch each position."""
    unary, right, down = tables.costs
    cells = piece_at.reshape(tables.grid.shape)
    cost: FloatArray = unary[cells, np.arange(tables.num_cells).reshape(cells.shape)]
    across, along = right[cells[:, :-1], cells[:, 1:]], down[cells[:-1], cells[1:]]
    cost[:, :-1] += across
    cost[:, 1:] += across
    cost[:-1] += along
    cost[1:] += along
    return cost.reshape(-1)


def sample_posterior(
    energy: Energy,
    *,
    seed: int,
    temperature: float = 1.0,
    start: Layout | None = None,
    effort: float = 1.0,
) -> Posterior:
    """Marginals of p(π) ∝ exp(−E(π) / temperature), estimated by parallel tempering.

    Chains at rising temperatures exchange their layouts; the coldest one is
    counted. All start from ``start``, by default the best that :func:`search` finds.
    Sampling ends when a further block of rounds tells nothing new, so that puzzles
    without doubt cost little.
    """
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, not {temperature}")
    from puzzleflow.search.metropolis import temper

    grid = energy.grid
    energy = replace(
        energy,
        unary=energy.unary / temperature,
        right=energy.right / temperature,
        down=energy.down / temperature,
    )
    tables = Tables.of(energy)
    if start is None:
        (start,) = search(energy, seed=seed, effort=effort)
    laid = np.flatnonzero(start.position_of >= 0)
    piece_at = laid[np.argsort(start.position_of[laid])]  # (P,) candidates by position
    if len(tables.free) < 2:
        return _counted(tables, piece_at)
    layouts = np.repeat(piece_at[None], len(TEMPERATURES), axis=0)
    rounds = int(max(20, effort * np.clip(7.5e4 / grid.num_pieces, 500, 3000) / BLOCKS))
    total = [np.zeros_like(term) for term in tables.costs]
    for block in range(BLOCKS + 1):
        *counts, layouts = temper(
            tables,
            layouts,
            temperatures=TEMPERATURES,
            num_rounds=rounds,
            num_proposals=2 * grid.num_pieces,
            seed=child_seed(seed, "temper", block),
        )
        if block == 0:  # the chains forget their common start
            continue
        news = 0.0
        for sums, count in zip(total, counts, strict=True):
            sums += count / rounds
            news = max(news, float(np.abs(sums / block - count / rounds).max()))
        if block > 1 and news < SETTLED:
            break
    position_prob, right_prob, down_prob = (sums / block for sums in total)
    return Posterior(grid, position_prob, right_prob, down_prob)


def _counted(tables: Tables, piece_at: IntArray) -> Posterior:
    """Certainty about a single layout."""
    cells = piece_at.reshape(tables.grid.shape)
    position, right, down = (np.zeros_like(term) for term in tables.costs)
    position[piece_at, np.arange(len(piece_at))] = 1.0
    right[cells[:, :-1], cells[:, 1:]] = 1.0
    down[cells[:-1], cells[1:]] = 1.0
    return Posterior(tables.grid, position, right, down)
