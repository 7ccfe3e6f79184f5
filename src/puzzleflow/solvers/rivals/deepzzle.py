"""Deepzzle (Paumard, Picard & Tabia, TIP 2020): every piece is placed relative to the central one.

A Siamese network sees the central piece and another one; the Kronecker product of the two
vectors is classified into the other cells, or "not from this picture". The originals search the
graph of partial assignments for the shortest path; as its lengths are sums of −log p, that path
is the assignment of least cost, which the Hungarian method finds without cutting branches.
The method is told the central piece (JPwLEG gives it away, a pin does, too); where nobody says,
every piece is tried as the centre and the likeliest whole is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray
from puzzleflow.solvers.classical import Found
from puzzleflow.solvers.rivals.base import Rival, RivalConfig, RivalSolver, assigned
from puzzleflow.solvers.rivals.encoder import Pieces


@dataclass(frozen=True)
class DeepzzleConfig(RivalConfig):
    """factor: of the Kronecker product; hidden: of the classifier."""

    factor: int = 32
    hidden: int = 384


class Deepzzle(Rival):
    """Positions relative to the central piece."""

    presets: ClassVar = {
        "small": DeepzzleConfig(),
        "paper": DeepzzleConfig(
            piece_px=96, widths=(64, 128, 256, 512, 512), blocks=(0, 0, 1, 1, 1), dim=512,
            factor=64, hidden=1024,
        ),
    }  # fmt: skip
    fixed_grids = True
    config: DeepzzleConfig

    def __init__(self, config: DeepzzleConfig) -> None:
        super().__init__(config)
        self.pieces = Pieces(config)
        self.first = nn.Linear(config.dim, config.factor)
        self.second = nn.Linear(config.dim, config.factor)
        self.join = nn.Sequential(nn.Linear(config.factor**2, config.hidden), nn.ReLU())
        self.where = nn.ModuleDict(
            {grid: nn.Linear(config.hidden, Grid.parse(grid).num_pieces) for grid in config.grids}
        )

    def check(self, grid: Grid) -> None:
        if not (grid.rows % 2 and grid.cols % 2):
            raise CannotSolve(f"{grid} has no central cell, which Deepzzle starts from")
        super().check(grid)

    def forward(self, pixels: Tensor, grid: Grid) -> Tensor:
        """(B, N, N, P) log-probability of piece (second) at a position if the first is central.

        The place of the centre itself stands for "not from this picture".
        """
        vectors = self.pieces(self.seen(pixels))
        return self.related(vectors, vectors, grid).log_softmax(dim=3)

    def related(self, central: Tensor, others: Tensor, grid: Grid) -> Tensor:
        """Vectors (B, K, dim), (B, M, dim) → (B, K, M, P) logits."""
        first, second = self.first(central), self.second(others)
        product = torch.einsum("bki,bmj->bkmij", first, second).flatten(3)
        return self.where[str(grid)](self.join(product))  # type: ignore[no-any-return]

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        vectors = self.pieces(self.seen(pixels))  # (B, N, dim)
        centre = grid.num_pieces // 2
        is_central = position_of == centre
        central = vectors[is_central][:, None]  # (B, 1, dim)
        strangers = vectors.roll(1, dims=0)
        logits = self.related(central, torch.cat([vectors, strangers], dim=1), grid)[:, 0]
        foreign = torch.full_like(position_of, centre)
        target = torch.cat([position_of, foreign], dim=1)  # (B, 2N)
        ours = torch.cat([~is_central, torch.ones_like(is_central) & (len(pixels) > 1)], dim=1)
        logits, target = logits[ours], target[ours]
        mine = target != centre
        return {
            "loss": F.cross_entropy(logits, target),
            "right": (logits[mine].argmax(dim=1) == target[mine]).float().mean(),
        }

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        centre, scores = grid.num_pieces // 2, encoded.double().numpy()  # (N, N, P)
        found: list[tuple[float, Found]] = []
        for piece in np.flatnonzero(allowed[:, centre]):
            mine = scores[piece].copy()
            mine[:, centre] = -1e6
            mine[piece] = -1e6
            mine[piece, centre] = 0.0
            laid = assigned(mine, allowed)
            total = mine[np.arange(len(mine)), laid.position_of].sum()
            found.append((float(total), laid))
        return max(found, key=lambda pair: pair[0])[1]


class DeepzzleSolver(RivalSolver, name="deepzzle", rival=Deepzzle):
    """Deepzzle."""
