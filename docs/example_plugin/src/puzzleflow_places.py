"""A trainable solver for PuzzleFlow in one file: where in a picture do pieces like this lie?

A network, how it is trained, and the solver that uses it. Not a good method
either (it looks at every piece alone), but ``puzzleflow train places`` trains
it on fresh or stored puzzles, stops and goes on, validates and writes
``places.safetensors``; ``--solver places:weights=FILE`` solves with that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.models.pixels import to_tensor
from puzzleflow.search import Energy
from puzzleflow.solvers.energy_session import EnergySession
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Trainable


@dataclass(frozen=True)
class PlacesConfig:
    """What the network is like; ``puzzleflow train places --preset`` chooses one."""

    piece_px: int = 16
    width: int = 64


class PlacesNet(nn.Module):
    """A guess of row and column for every piece; cells near the guess are likely."""

    def __init__(self, config: PlacesConfig) -> None:
        super().__init__()
        self.config = config
        inputs = 4 * config.piece_px**2
        self.guess = nn.Sequential(
            nn.Flatten(2), nn.Linear(inputs, config.width), nn.GELU(), nn.Linear(config.width, 2)
        )

    def forward(self, pixels: Tensor, grid: Grid) -> Tensor:
        """(B, N, 4, px, px) → (B, N, N) logits of piece and position."""
        number = torch.arange(grid.num_pieces, device=pixels.device)
        cells = torch.stack([(number // grid.cols + 0.5) / grid.rows,
                             (number % grid.cols + 0.5) / grid.cols], dim=1)  # (N, 2)  # fmt: skip
        guess = self.guess(pixels)  # (B, N, 2)
        return -10 * (guess[:, :, None] - cells).square().sum(dim=3)  # (B, N, N)


@dataclass(frozen=True)
class PlacesTraining(Trainable):
    """Train the network of the solver places."""  # the help of the command

    name = "places"
    presets: ClassVar = {"tiny": PlacesConfig(), "wide": PlacesConfig(width=256)}
    settings = LoopSettings(steps=2000)

    smoothing: Annotated[float, "Of the labels: an option of this network's own."] = 0.0

    def wants(self, config: PlacesConfig) -> StreamConfig:
        return StreamConfig(piece_px=config.piece_px, grids={"3x3": 1.0})

    def network(self, config: PlacesConfig) -> PlacesNet:
        return PlacesNet(config)

    def objective(self, network: nn.Module, batch: Batch) -> dict[str, Tensor]:
        logits = network(batch.pixels(), batch.grid).flatten(0, 1)  # (B·N, N)
        target = batch.position_of.flatten()
        return {"loss": F.cross_entropy(logits, target, label_smoothing=self.smoothing)}

    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        hits = [network(b.pixels(), b.grid).argmax(dim=2) == b.position_of for b in batches]
        return {"score": torch.cat([hit.flatten() for hit in hits]).float().mean().item()}


class PlacesSolver:
    """``weights``: what ``puzzleflow train places`` wrote."""

    name = "places"

    def __init__(self, weights: str) -> None:
        tensors, described = load_weights(weights)
        self.network = PlacesNet(PlacesConfig(**described["network"]))
        restore(self.network, tensors, weights).eval()

    @torch.inference_mode()
    def prepare(self, puzzle: Puzzle) -> EnergySession:
        """Once for each puzzle: what it costs to put a piece at a position; searched as any."""
        pixels = to_tensor(puzzle.pieces, self.network.config.piece_px)[None]
        costs = -self.network(pixels, puzzle.grid)[0].log_softmax(dim=1).double().numpy()
        return EnergySession(Energy.of(puzzle.grid, unary=costs), self.name, "layout", 0.0)
