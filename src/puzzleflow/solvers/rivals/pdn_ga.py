"""PDN-GA (Song et al.): a genetic algorithm whose fitness is a learned judge of puzzlets.

A puzzlet is a block of 2×2 or 3×3 cells. A network per size says whether the pieces of a block
lie rightly to each other; the fitness of a layout is the sum of its log-probabilities over all
blocks. Children take a rectangle from one parent and the rest, as far as it is free, from the
other; some cells are swapped. Grids of at least two rows and columns; every individual honours
the pins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.assignment import invert_rows
from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.solvers.base import nearest_allowed
from puzzleflow.solvers.classical import Found
from puzzleflow.solvers.rivals.base import (
    Rival,
    RivalConfig,
    RivalSolver,
    any_layout,
    any_pairs,
    swapped,
)
from puzzleflow.solvers.rivals.encoder import Pieces

SIZES = (2, 3)  # of puzzlets
MUTATED = 0.3  # share of children with two cells swapped
ELITE = 4  # individuals that live on


@dataclass(frozen=True)
class PdnGaConfig(RivalConfig):
    """hidden: of the judges; population, generations: of the genetic algorithm."""

    hidden: int = 256
    population: int = 48
    generations: int = 30


class PdnGa(Rival):
    """Judges of puzzlets, and evolution by their verdict."""

    presets: ClassVar = {
        "small": PdnGaConfig(),
        "paper": PdnGaConfig(
            piece_px=96, widths=(64, 128, 256, 512), blocks=(1, 1, 1, 1), dim=512, hidden=1024,
            population=1000, generations=100,
        ),
    }  # fmt: skip
    config: PdnGaConfig

    def __init__(self, config: PdnGaConfig) -> None:
        super().__init__(config)
        self.pieces = Pieces(config)
        self.judges = nn.ModuleDict(
            {str(size): nn.Sequential(
                nn.Linear(size * size * config.dim, config.hidden), nn.ReLU(),
                nn.Linear(config.hidden, config.hidden), nn.ReLU(), nn.Linear(config.hidden, 1),
            ) for size in SIZES}
        )  # fmt: skip

    def check(self, grid: Grid) -> None:
        if min(grid.shape) < min(SIZES):
            raise CannotSolve(f"{grid} has no block of 2x2 cells to judge")

    def judged(self, vectors: Tensor, piece_at: Tensor, size: int, grid: Grid) -> Tensor:
        """Vectors (M, N, dim), layouts (M, P) → (M, W) logits that each block is right."""
        blocks = piece_at[:, puzzlets(grid, size)]  # (M, W, size²)
        row = torch.arange(len(piece_at), device=piece_at.device)[:, None, None]
        return self.judges[str(size)](vectors[row, blocks].flatten(2)).squeeze(2)  # type: ignore[no-any-return]

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        """True layouts against layouts with few or many pieces exchanged."""
        vectors, true = self(pixels, grid), position_of.argsort(dim=1)  # (B, N, dim), (B, P)
        terms = {}
        for size in (s for s in SIZES if s <= min(grid.shape)):
            laid = torch.cat([true, scrambled(true, 1), scrambled(true, 2), scrambled(true, 8)])
            logits = self.judged(vectors.repeat(4, 1, 1), laid, size, grid)  # (4B, W)
            blocks = puzzlets(grid, size)
            right = (laid == true.repeat(4, 1))[:, blocks].all(dim=2).float()
            rare = (1 - right).sum() / right.sum().clamp_min(1)
            terms[f"puzzlets {size}"] = F.binary_cross_entropy_with_logits(
                logits, right, pos_weight=rare
            )
        return {"loss": torch.stack(list(terms.values())).mean(), **terms}

    def fitness(self, vectors: Tensor, piece_at: IntArray, grid: Grid) -> FloatArray:
        """(M,) of layouts (M, P)."""
        laid = torch.from_numpy(piece_at)
        many = vectors.expand(len(laid), -1, -1)
        total = torch.zeros(len(laid))
        for size in (s for s in SIZES if s <= min(grid.shape)):
            total += F.logsigmoid(self.judged(many, laid, size, grid)).sum(dim=1)
        return total.double().numpy()

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        rng, M = child_rng(seed, "pdn-ga"), self.config.population
        people = invert_rows(np.stack([any_layout(allowed, rng) for _ in range(M)]))  # piece_at
        fit = self.fitness(encoded, people, grid)
        trace = [people[fit.argmax()]]
        for _ in range(self.config.generations):
            order = np.argsort(-fit, kind="stable")
            people, fit = people[order], fit[order]
            mothers, fathers = (rng.integers(M, size=(2, M - ELITE)).min(axis=0) for _ in "mf")
            children = crossed(people[mothers], people[fathers], grid, rng)
            mutate(children, rng)
            if not allowed.all():
                mended = [nearest_allowed(p, allowed) for p in invert_rows(children)]
                children = invert_rows(np.stack(mended))
            people = np.concatenate([people[:ELITE], children])
            fit = np.concatenate([fit[:ELITE], self.fitness(encoded, children, grid)])
            trace.append(people[fit.argmax()])
        laid = invert_rows(np.stack(trace))
        return Found(laid[-1], trace=laid)


def puzzlets(grid: Grid, size: int) -> Tensor:
    """(W, size²) the positions of every block of ``size`` × ``size`` cells."""
    number = torch.arange(grid.num_pieces).view(grid.shape)
    return number.unfold(0, size, 1).unfold(1, size, 1).flatten(2).flatten(0, 1)


def scrambled(piece_at: Tensor, swaps: int) -> Tensor:
    """Layouts (B, P) after so many random swaps."""
    for _ in range(swaps if piece_at.shape[1] > 1 else 0):
        piece_at = swapped(piece_at, any_pairs(piece_at))
    return piece_at


def crossed(mothers: IntArray, fathers: IntArray, grid: Grid, rng: np.random.Generator) -> IntArray:
    """(M, P) children: a rectangle of the mother, the father where his piece is free, the rest."""
    M, P = mothers.shape
    tall, wide = (np.sort(rng.integers(0, n + 1, size=(2, M)), axis=0) for n in grid.shape)
    row, col = np.divmod(np.arange(P), grid.cols)
    kept = (row >= tall[0, :, None]) & (row < tall[1, :, None])
    kept &= (col >= wide[0, :, None]) & (col < wide[1, :, None])  # (M, P)
    children = np.where(kept, mothers, -1)
    for child, father, inside in zip(children, fathers, kept, strict=True):
        free = np.ones(P, dtype=bool)
        free[child[inside]] = False
        his = ~inside & free[father]
        child[his] = father[his]
        free[father[his]] = False
        child[child < 0] = rng.permutation(np.flatnonzero(free))
    return children


def mutate(children: IntArray, rng: np.random.Generator) -> None:
    """Swap two cells of some children, in place."""
    chosen = np.flatnonzero(rng.random(len(children)) < MUTATED)
    one, two = rng.integers(children.shape[1], size=(2, len(chosen)))
    children[chosen, one], children[chosen, two] = children[chosen, two], children[chosen, one]


class PdnGaSolver(RivalSolver, name="pdn-ga", rival=PdnGa):
    """PDN-GA."""
