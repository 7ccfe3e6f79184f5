"""DiffAssemble (Scarpellini et al., CVPR 2024): pieces are nodes whose positions are denoised.

Every piece carries a feature vector and a position in [−1, 1]². Positions are drowned in noise;
a transformer over the complete graph of pieces, told the time, says where each belongs, and
thirty deterministic steps from no position at all lead back. Any grid, as positions are numbers.
Published: alpha is dropped, and cells are given out greedily, nearest pair first;
``diffassemble+`` keeps alpha and gives them out by the Hungarian method. Pinned pieces are held
in their cells at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray
from puzzleflow.solvers.classical import Found
from puzzleflow.solvers.rivals.base import (
    Rival,
    RivalConfig,
    RivalSolver,
    assigned,
    cells,
    pinned_pieces,
)
from puzzleflow.solvers.rivals.diffusion import kept, noised, walk_back
from puzzleflow.solvers.rivals.encoder import Pieces, transformer

SHARPNESS = 4.0  # of probabilities, per cell of distance
B0_STAGES = (5, 11)  # after these blocks: 40 channels at 1/8, 112 at 1/16


@dataclass(frozen=True)
class DiffAssembleConfig(RivalConfig):
    """times: of the diffusion; steps: back; states: noisy states a puzzle and training step."""

    times: int = 300
    steps: int = 30
    states: int = 4
    efficientnet: bool = False


class EfficientNetMaps(nn.Module):
    """The maps of EfficientNet-B0 at 1/8 and 1/16, flattened: 1088 numbers of a piece of 32 px."""

    def __init__(self, config: RivalConfig) -> None:
        super().__init__()
        from transformers import EfficientNetConfig, EfficientNetModel

        sizes = EfficientNetConfig(
            num_channels=config.channels, image_size=config.piece_px, width_coefficient=1.0,
            depth_coefficient=1.0, hidden_dim=1280,
        )  # fmt: skip
        self.net: Any = EfficientNetModel(sizes)
        side = config.piece_px // 16
        self.project = nn.Linear((4 * 40 + 112) * side * side, config.dim)

    def forward(self, pieces: Tensor) -> Tensor:
        """(B, N, C, px, px) → (B, N, dim)."""
        states = self.net(pieces.flatten(0, 1) - 0.5, output_hidden_states=True).hidden_states
        maps = torch.cat([states[stage].flatten(1) for stage in B0_STAGES], dim=1)
        return self.project(maps).unflatten(0, pieces.shape[:2])  # type: ignore[no-any-return]


class DiffAssemble(Rival):
    """Positions denoised by a graph transformer."""

    presets: ClassVar = {
        "small": DiffAssembleConfig(),
        "paper": DiffAssembleConfig(dim=256, heads=8, efficientnet=True),
    }
    config: DiffAssembleConfig
    signal: Tensor

    def __init__(self, config: DiffAssembleConfig) -> None:
        super().__init__(config)
        self.pieces = EfficientNetMaps(config) if config.efficientnet else Pieces(config)
        self.where = nn.Sequential(nn.Linear(2, 16), nn.GELU(), nn.Linear(16, 32))
        self.when = nn.Embedding(config.times, 32)
        self.join = nn.Sequential(
            nn.Linear(config.dim + 64, config.dim), nn.GELU(), nn.Linear(config.dim, config.dim)
        )
        self.graph = transformer(config)
        self.out = nn.Sequential(nn.Linear(config.dim, config.dim), nn.GELU(),
                                 nn.Linear(config.dim, 2))  # fmt: skip
        self.register_buffer("signal", kept(config.times), persistent=False)

    def forward(self, pixels: Tensor, grid: Grid) -> Tensor:
        """(B, N, dim) features of the pieces."""
        return self.pieces(self.seen(pixels))  # type: ignore[no-any-return]

    def clean_at(self, features: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
        """Features (M, N, dim), positions (M, N, 2), times (M,) → (M, N, 2) true positions."""
        time = self.when(t)[:, None].expand(-1, x_t.shape[1], -1)  # (M, N, 32)
        nodes = self.join(torch.cat([features, self.where(x_t), time], dim=2))
        return self.out(nodes + self.graph(nodes))  # type: ignore[no-any-return]

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        K = self.config.states
        features = self(pixels, grid).repeat_interleave(K, dim=0)  # (B·K, N, dim)
        true = plane(grid).to(features)[position_of].repeat_interleave(K, dim=0)
        t = torch.randint(self.config.times, (len(true),))
        t[::K] = self.config.times - 1  # where solving begins
        x_t, _ = noised(true, self.signal[t])
        x_t[::K] = 0.0
        found = self.clean_at(features, x_t, t)
        nearest = torch.cdist(found[::K], plane(grid).to(found)).argmin(dim=2)
        return {
            "loss": F.smooth_l1_loss(found, true, beta=0.1),
            "right": (nearest == position_of).float().mean(),
        }

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        places = plane(grid)
        pieces, positions = pinned_pieces(allowed)

        def clean_at(x_t: Tensor, t: Tensor) -> Tensor:
            found = self.clean_at(encoded[None], x_t[None], t[None])[0]
            found[pieces] = places[positions]
            return found

        start = torch.zeros(grid.num_pieces, 2)
        found = walk_back(start, self.signal, self.config.steps, clean_at)
        unit = torch.tensor(grid.shape) / 2  # cells in a unit of the plane
        distances = ((found[:, None] - places) * unit).norm(dim=2)  # (N, P) in cells
        scores = -SHARPNESS * distances.double().numpy()
        return assigned(scores, allowed, greedy=not self.config.mended)


def plane(grid: Grid) -> Tensor:
    """(P, 2) the middles of the cells, the whole being [−1, 1]²."""
    size = torch.tensor(grid.shape)
    return (2 * cells(grid) + 1) / size - 1


class DiffAssembleSolver(RivalSolver):
    """DiffAssemble."""

    name = "diffassemble"
    rival = DiffAssemble


class DiffAssemblePlusSolver(DiffAssembleSolver):
    """DiffAssemble with alpha and the Hungarian method."""

    name = "diffassemble+"
