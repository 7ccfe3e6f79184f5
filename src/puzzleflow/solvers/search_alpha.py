"""Colours along the outlines, exact search, no learning.

In the open world a seam is worth what its colours say more than chance would, a side
without a neighbour is worth nothing. Turned pieces are laid as candidates, four a piece;
which way up the whole is, colours do not say.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, all_turns
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search import minimise
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.base import Session
from puzzleflow.solvers.compatibility import seam_costs
from puzzleflow.solvers.energy_session import EnergySession, check_decoding
from puzzleflow.solvers.grids import grid_cost, num_empty, possible_grids, up_to_turning
from puzzleflow.solvers.open_session import Hypothesis, OpenSession
from puzzleflow.solvers.seam_prior import prior_of, seam_prior

ALONE = 0.8  # a side alone costs so much of what any neighbour would cost by chance


class SearchAlphaSolver:
    """The layout whose seams the alpha-aware compatibility finds likeliest.

    Nothing says where the picture begins, so whole layouts may come out shifted or turned.
    """

    name = "search-alpha"

    def __init__(self, decode: str = "layout") -> None:
        self.decode = check_decoding(decode)

    def prepare(self, puzzle: Puzzle) -> Session:
        started = time.perf_counter()
        if not puzzle.is_closed:
            return OpenSession(
                open_hypotheses(puzzle),
                self.name,
                num_pieces=puzzle.num_pieces,
                grid=puzzle.known_grid,
                turned=puzzle.conditions.turned,
                prepare_s=time.perf_counter() - started,
            )
        right, down = -seam_prior(puzzle.pieces)[..., :2].sum(axis=-1, dtype=np.float64)
        energy = Energy.of(puzzle.closed_grid, right=right, down=down)
        return EnergySession(energy, self.name, self.decode, time.perf_counter() - started)


def open_hypotheses(puzzle: Puzzle) -> list[Hypothesis]:
    """Every grid, with the best turns of the pieces, turned as a whole in every way that fits."""
    seams, grids = _open_seams(puzzle), possible_grids(puzzle)
    pieces = np.arange(puzzle.num_pieces)
    if not puzzle.conditions.turned:
        return [
            Hypothesis(grid, 0 * pieces, _energy(seams, grid, puzzle), grid_cost(grid, puzzle))
            for grid in grids
        ]
    found = []
    for flat in up_to_turning(grids):
        energy = _energy(seams, flat, puzzle, num_turns=4)
        (best,) = minimise(energy, seed=0)
        turns = best.position_of[: 4 * len(pieces)].reshape(-1, 4).argmax(axis=1)
        for turn in range(4):
            if (grid := flat.turned(turn)) in grids:
                ways: IntArray = (turns + turn) % 4
                chosen = 4 * pieces + ways
                fixed = _energy(seams[:, chosen[:, None], chosen], grid, puzzle)
                found.append(Hypothesis(grid, ways, fixed, grid_cost(grid, puzzle)))
    return found


def _open_seams(puzzle: Puzzle) -> FloatArray:
    """(2, M, M) costs of right and down seams of all candidates, less those of standing alone."""
    copies = 4 if puzzle.conditions.turned else 1
    pieces = all_turns(puzzle.pieces) if copies == 4 else puzzle.pieces
    costs = seam_costs("alpha", pieces).between_pieces(copies)
    seams = -prior_of(costs)[..., :2].sum(axis=-1, dtype=np.float64)
    return np.asarray(seams - 2 * ALONE * np.log(max(1, len(pieces) - copies)))


def _energy(seams: FloatArray, grid: Grid, puzzle: Puzzle, num_turns: int = 1) -> Energy:
    """Of candidates, so many a piece, and of empty places."""
    M, empty = seams.shape[1], num_empty(grid, puzzle)
    right, down = np.pad(seams, ((0, 0), (0, empty), (0, empty)))
    energy = Energy.of(grid, unary=np.zeros((M + empty, grid.num_pieces)), right=right, down=down)
    pieces = np.repeat(np.arange(puzzle.num_pieces), num_turns)
    return replace(energy, piece_of=np.concatenate([pieces, puzzle.num_pieces + np.arange(empty)]))
