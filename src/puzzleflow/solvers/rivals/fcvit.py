"""FCViT (Kim et al., 2025): one picture of all shuffled pieces in, row and column of each out.

The pieces are pasted side by side in the order in which they came; a vision transformer looks at
the whole, and one fully connected head gives the coordinates of every slot. Published: each
piece is normalised by its own mean and deviation, which takes its absolute colour away, alpha is
dropped, and coordinates are rounded, so that two pieces may share a cell. Here the Hungarian
method keeps them apart; ``fcvit+`` also keeps colour and alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray
from puzzleflow.solvers.classical import Found
from puzzleflow.solvers.rivals.base import Rival, RivalConfig, RivalSolver, assigned, cells, pasted
from puzzleflow.solvers.rivals.encoder import PATCH, Patches, cell_waves, transformer

CROP = 0.85  # side of the part of a piece that is seen in training
JITTER = 2 / 255
SHARPNESS = 4.0  # of probabilities, per cell of distance


@dataclass(frozen=True)
class FcvitConfig(RivalConfig):
    """picture_px: side of the pasted picture; hidden: of the head."""

    picture_px: int = 96
    hidden: int = 256


class Fcvit(Rival):
    """Fragment coordinates by a vision transformer."""

    presets: ClassVar = {
        "small": FcvitConfig(),
        "paper": FcvitConfig(
            piece_px=80, widths=(), blocks=(), dim=768, layers=12, heads=12, picture_px=224,
            hidden=1000,
        ),
    }  # fmt: skip
    fixed_grids = True
    config: FcvitConfig

    def __init__(self, config: FcvitConfig) -> None:
        super().__init__(config)
        side = config.picture_px // PATCH
        self.patches = Patches(config)
        self.first = nn.Parameter(torch.zeros(config.dim))
        places = cell_waves(cells(Grid(side, side)), config.dim)
        self.places = nn.Parameter(places)  # (patches, dim)
        self.layers = transformer(config)
        self.norm = nn.LayerNorm(config.dim)
        self.head = nn.Sequential(
            nn.Linear(config.dim, config.hidden), nn.ReLU(),
            nn.Linear(config.hidden, config.hidden), nn.ReLU(),
        )  # fmt: skip
        self.coordinates = nn.ModuleDict(
            {grid: nn.Linear(config.hidden, 2 * Grid.parse(grid).num_pieces)
             for grid in config.grids}
        )  # fmt: skip

    def forward(self, pixels: Tensor, grid: Grid) -> Tensor:
        """(B, N, 2) where each slot belongs, in cells."""
        pieces = self.seen(pixels)
        if self.training:
            pieces = augmented(pieces)
        if not self.config.mended:
            deviation, mean = torch.std_mean(pieces, dim=(3, 4), keepdim=True)
            pieces = (pieces - mean) / (deviation + 0.02)
        side = self.config.picture_px
        picture = F.interpolate(pasted(pieces, grid), (side, side), mode="bilinear")
        tokens = self.patches(picture).flatten(2).mT + self.places  # (B, patches, dim)
        first = self.first.expand(len(tokens), 1, -1)
        whole = self.layers(torch.cat([first, tokens], dim=1))[:, 0]  # (B, dim)
        slots = self.coordinates[str(grid)](self.head(self.norm(whole)))  # (B, 2N)
        middle = (cells(grid).mean(dim=0)).to(slots)
        return slots.unflatten(1, (-1, 2)) + middle  # type: ignore[no-any-return]

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        found = self(pixels, grid)
        true = cells(grid).to(found)[position_of]  # (B, N, 2)
        right = (found.round() == true).all(dim=2).float().mean()
        return {"loss": F.smooth_l1_loss(found, true), "right": right}

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        distances = torch.cdist(encoded, cells(grid).to(encoded), p=1)  # (N, P)
        return assigned(-SHARPNESS * distances.double().numpy(), allowed)


def augmented(pieces: Tensor) -> Tensor:
    """Every piece (B, N, C, h, w) cropped to 85 % somewhere, enlarged again, its colours moved."""
    B, N = pieces.shape[:2]
    turn = torch.zeros(B * N, 2, 3)
    turn[:, 0, 0] = turn[:, 1, 1] = CROP
    turn[:, :, 2] = (1 - CROP) * (2 * torch.rand(B * N, 2) - 1)
    flat = pieces.flatten(0, 1)
    where = F.affine_grid(turn.to(flat), list(flat.shape), align_corners=False)
    cut = F.grid_sample(flat, where, align_corners=False).view_as(pieces)
    return cut + JITTER * (2 * torch.rand(B, N, pieces.shape[2], 1, 1).to(cut) - 1)


class FcvitSolver(RivalSolver, name="fcvit", rival=Fcvit):
    """FCViT."""


class FcvitPlusSolver(FcvitSolver, name="fcvit+"):
    """FCViT that keeps colour and alpha."""
