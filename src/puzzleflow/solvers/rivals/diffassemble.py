"""DiffAssemble (Scarpellini et al., CVPR 2024): pieces are nodes whose positions are denoised.

Every piece carries a feature vector and a position in [−1, 1]². Positions are drowned in noise;
a transformer over the complete graph of pieces, told the time, says where each belongs, and
thirty deterministic steps from no position at all lead back. Any grid, as positions are numbers.
Turned pieces carry the cosine and sine of their turn beside the position; missing ones are nodes
that are not there. Published: alpha is dropped, and cells are given out greedily, nearest pair
first; ``diffassemble+`` keeps alpha and gives them out by the Hungarian method. Pinned pieces are
held in their cells at every step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
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
from puzzleflow.solvers.rivals.encoder import Pieces, kept, noised, transformer, walk_back

SHARPNESS = 4.0  # of probabilities, per cell of distance
TURNS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])  # cosine and sine
B0_STAGES = (5, 11)  # after these blocks: 40 channels at 1/8, 112 at 1/16


@dataclass(frozen=True)
class DiffAssembleConfig(RivalConfig):
    """times: of the diffusion; steps: back; states: noisy states a puzzle and training step.

    turned   the network knows turns: nodes carry four numbers, not two
    missing  in training up to this share of the nodes is dropped
    """

    times: int = 300
    steps: int = 30
    states: int = 4
    efficientnet: bool = False
    turned: bool = False
    missing: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.missing < 1:
            raise InputError(f"missing: expected a share below 1, not {self.missing}")

    @property
    def values(self) -> int:
        """Of a node: row and column, and the cosine and sine of its turn."""
        return 4 if self.turned else 2


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
        self.where = nn.Sequential(nn.Linear(config.values, 16), nn.GELU(), nn.Linear(16, 32))
        self.when = nn.Embedding(config.times, 32)
        self.join = nn.Sequential(
            nn.Linear(config.dim + 64, config.dim), nn.GELU(), nn.Linear(config.dim, config.dim)
        )
        self.graph = transformer(config)
        self.out = nn.Sequential(nn.Linear(config.dim, config.dim), nn.GELU(),
                                 nn.Linear(config.dim, config.values))  # fmt: skip
        self.register_buffer("signal", kept(config.times), persistent=False)

    def grid_of(self, puzzle: Puzzle) -> Grid:
        if puzzle.conditions.foreign or puzzle.conditions.hidden:
            raise CannotSolve("this method lays every piece that it is given, on a known grid")
        if puzzle.conditions.turned and not self.config.turned:
            raise CannotSolve("these weights know upright pieces alone; train with --turned")
        return puzzle.grid

    def clean_at(self, features: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
        """Features (M, N, dim), values (M, N, V), times (M,) → (M, N, V) true values."""
        time = self.when(t)[:, None].expand(-1, x_t.shape[1], -1)  # (M, N, 32)
        nodes = self.join(torch.cat([features, self.where(x_t), time], dim=2))
        return self.out(nodes + self.graph(nodes))  # type: ignore[no-any-return]

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        K = self.config.states
        if most := int(self.config.missing * position_of.shape[1]):
            num_kept = position_of.shape[1] - int(torch.randint(most + 1, ()))
            pixels, position_of = pixels[:, :num_kept], position_of[:, :num_kept]
        turns = None
        if self.config.turned:
            turns = torch.randint(4, position_of.shape, device=position_of.device)
            pixels = turned(pixels, -turns)
        features = self(pixels, grid).repeat_interleave(K, dim=0)  # (B·K, N, dim)
        true = plane(grid).to(features)[position_of]  # (B, N, 2)
        if turns is not None:
            true = torch.cat([true, TURNS.to(true)[turns]], dim=2)
        true = true.repeat_interleave(K, dim=0)
        t = torch.randint(self.config.times, (len(true),))
        t[::K] = self.config.times - 1  # where solving begins
        x_t, _ = noised(true, self.signal[t])
        x_t[::K] = 0.0
        found = self.clean_at(features, x_t, t)
        nearest = torch.cdist(found[::K, :, :2], plane(grid).to(found)).argmin(dim=2)
        right = nearest == position_of
        if turns is not None:
            right &= _nearest_turns(found[::K]) == turns
        return {
            "loss": F.smooth_l1_loss(found, true, beta=0.1),
            "right": right.float().mean(),
        }

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        places = plane(grid)
        pieces, positions = pinned_pieces(allowed)

        def clean_at(x_t: Tensor, t: Tensor) -> Tensor:
            found = self.clean_at(encoded[None], x_t[None], t[None])[0]
            found[pieces, :2] = places[positions]
            return found

        start = torch.zeros(len(encoded), self.config.values)
        found = walk_back(start, self.signal, self.config.steps, clean_at)
        unit = torch.tensor(grid.shape) / 2  # cells in a unit of the plane
        distances = ((found[:, None, :2] - places) * unit).norm(dim=2)  # (N, P) in cells
        scores = -SHARPNESS * distances.double().numpy()
        layout = assigned(scores, allowed, greedy=not self.config.mended)
        if not self.config.turned:
            return layout
        return replace(layout, turns=_nearest_turns(found).numpy())


def _nearest_turns(values: Tensor) -> Tensor:
    """(…, 4) → (…) the quarter turns nearest to the last two of the values."""
    return (values[..., 2:] @ TURNS.to(values).T).argmax(dim=-1)


def turned(pixels: Tensor, turns: Tensor) -> Tensor:
    """(B, N, C, px, px), each piece turned by its (B, N) quarter turns against the clock."""
    ways = torch.stack([torch.rot90(pixels, turn, (3, 4)) for turn in range(4)])
    at = (turns % 4)[None, :, :, None, None, None].expand(1, *pixels.shape)
    return ways.gather(0, at)[0]


def plane(grid: Grid) -> Tensor:
    """(P, 2) the middles of the cells, the whole being [−1, 1]²."""
    size = torch.tensor(grid.shape)
    return (2 * cells(grid) + 1) / size - 1


class DiffAssembleSolver(RivalSolver, name="diffassemble", rival=DiffAssemble):
    """DiffAssemble."""


class DiffAssemblePlusSolver(DiffAssembleSolver, name="diffassemble+"):
    """DiffAssemble with alpha and the Hungarian method."""
