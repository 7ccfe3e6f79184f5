"""Colours along the outlines, exact search, no learning."""

from __future__ import annotations

import time

import numpy as np

from puzzleflow.core.puzzle import Puzzle
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.energy_session import EnergySession, check_decoding
from puzzleflow.solvers.seam_prior import seam_prior


class SearchAlphaSolver:
    """The layout whose seams the alpha-aware compatibility finds likeliest.

    Nothing says where the picture begins, so whole layouts may come out shifted.
    """

    name = "search-alpha"

    def __init__(self, decode: str = "layout") -> None:
        self.decode = check_decoding(decode)

    def prepare(self, puzzle: Puzzle) -> EnergySession:
        started, grid = time.perf_counter(), puzzle.closed_grid
        right, down = -seam_prior(puzzle.pieces)[..., :2].sum(axis=-1, dtype=np.float64)
        energy = Energy.of(grid, right=right, down=down)
        return EnergySession(energy, self.name, self.decode, time.perf_counter() - started)
