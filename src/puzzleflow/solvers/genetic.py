"""Genetic solver (Sholomon, David & Netanyahu, CVPR 2013), in two readings.

``pmx``     the paper's supplement: tournament of 3, partially mapped crossover
            (rate 0.8), swap, inversion and scramble mutations (rate 0.01 each),
            the best 10 % kept, at most 1000 generations, stop after 100 without
            progress
``kernel``  the crossover of the original publication: a child grows from one
            piece, first by neighbours on which both parents agree, then by best
            buddies that are neighbours in one of them, then by the best fit
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from puzzleflow.core.cancelling import check_cancelled, stop_flag
from puzzleflow.core.errors import check_known
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, IntArray
from puzzleflow.options import Within
from puzzleflow.search.compiling import random_state
from puzzleflow.solvers.base import nearest_allowed
from puzzleflow.solvers.classical import Found, SeamSolver
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.evolution import evolve
from puzzleflow.solvers.placer import EMPTY, Fits, Partial

CROSSOVERS = ("pmx", "kernel")


@dataclass(frozen=True)
class Evolution:
    """The parameters of the supplement."""

    crossover: str = "pmx"
    population: int = 100
    max_generations: int = 1000
    patience: int = 100
    tournament: int = 3
    crossover_rate: float = 0.8
    mutation_rate: float = 0.01
    elite: float = 0.1


@dataclass(frozen=True)
class GeneticSolver(SeamSolver):
    """Evolution of whole layouts.

    compatibility  "border" is the paper's reading, "alpha" the one for irregular pieces
    crossover      "pmx" or "kernel"
    mutation_rate  of each of the three mutations ("pmx" only)
    """

    crossover: str = "pmx"
    population: Annotated[int, Within(2)] = 100
    max_generations: Annotated[int, Within(0)] = 1000
    mutation_rate: Annotated[float, Within(0, 1)] = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        check_known("crossover", self.crossover, CROSSOVERS)

    @property
    def name(self) -> str:
        kernel = "" if self.crossover == "pmx" else f"-{self.crossover}"
        compatibility = "" if self.compatibility == "border" else f"-{self.compatibility}"
        return f"genetic{kernel}{compatibility}"

    def layout(self, costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        evolution = Evolution(
            self.crossover, self.population, self.max_generations, mutation_rate=self.mutation_rate
        )
        return genetic_layout(costs, grid, allowed, seed, evolution=evolution)


genetic_alpha = partial(GeneticSolver, compatibility="alpha")
genetic_kernel = partial(GeneticSolver, crossover="kernel")
genetic_kernel_alpha = partial(GeneticSolver, crossover="kernel", compatibility="alpha")


def genetic_layout(
    costs: SeamCosts,
    grid: Grid,
    allowed: BoolArray,
    seed: int = 0,
    *,
    evolution: Evolution | None = None,
) -> Found:
    """Evolve layouts towards the least sum of seam costs.

    Pinned pieces stay where they are in every individual; forbidden
    placements are made dear, and moved at the end if any is left.
    """
    evolution = evolution or Evolution()
    num_pieces = grid.num_pieces
    costs = costs.tamed()
    stacked = costs.stacked()
    stacked[np.isinf(stacked)] = 0.0  # the diagonal, which no layout uses
    dear = 1.0 + 4 * num_pieces * float(stacked.max())
    unary = np.where(allowed, 0.0, dear)
    pins = Partial.of_pins(grid, allowed)
    movable = np.ones(num_pieces, dtype=bool)  # by position
    movable[pins.cells[:, 0] * grid.cols + pins.cells[:, 1]] = False
    layouts = _first_population(grid, allowed, evolution.population, seed)
    trace = np.empty((evolution.max_generations + 1, num_pieces), dtype=np.int64)
    num_traced = evolve(
        stop_flag(),
        layouts,
        stacked,
        unary,
        Fits.of(costs).buddy,
        np.array(grid.shape),
        np.flatnonzero(movable),
        evolution.crossover == "kernel",
        evolution.max_generations,
        evolution.patience,
        evolution.tournament,
        evolution.crossover_rate,
        evolution.mutation_rate,
        max(1, int(evolution.elite * evolution.population)),
        random_state(seed, "genetic"),
        trace,
    )  # layouts are sorted now, best first
    check_cancelled()
    position_of = np.argsort(layouts, axis=1)  # (P, N)
    return Found(
        nearest_allowed(position_of[0], allowed),
        trace=np.argsort(trace[:num_traced], axis=1),
        others=tuple(p for p in position_of if allowed[np.arange(num_pieces), p].all()),
    )


def _first_population(grid: Grid, allowed: BoolArray, population: int, seed: int) -> IntArray:
    """(P, N) ``piece_at`` of random layouts with the pinned pieces in place."""
    pins = Partial.of_pins(grid, allowed)
    pinned_at = np.full(grid.num_pieces, EMPTY)
    pinned_at[pins.cells[:, 0] * grid.cols + pins.cells[:, 1]] = pins.pieces
    rest = np.setdiff1d(np.arange(grid.num_pieces), pins.pieces)
    rng = child_rng(seed, "genetic", "first population")
    layouts = np.tile(pinned_at, (population, 1))
    layouts[:, pinned_at == EMPTY] = rng.permuted(np.tile(rest, (population, 1)), axis=1)
    return layouts
