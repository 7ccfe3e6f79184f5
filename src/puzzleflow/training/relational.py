"""Training of the relational network on fresh puzzles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.models.relational import RelationalConfig, RelationalNet, Relations
from puzzleflow.training.objectives import neighbour_targets, relational_loss
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Trainable

GRIDS = {
    "2x2": 0.04, "3x3": 0.4, "4x4": 0.14, "5x5": 0.22, "6x6": 0.05,
    "2x3": 0.03, "3x2": 0.03, "3x4": 0.03, "4x3": 0.03, "4x5": 0.03,
}  # fmt: skip


@dataclass(frozen=True)
class RelationalTraining(Trainable):
    """Train the relational network."""

    name = "relational"
    presets: ClassVar = {"default": RelationalConfig()}
    keeps_best = False
    bundled = "relational.safetensors"

    def wants(self, config: RelationalConfig) -> StreamConfig:
        return StreamConfig(
            piece_px=config.piece_px,
            grids=GRIDS,
            with_prior=True,
            square_share=0.15,
            widest_gap=0.2,
            wide_share=0.45,
            worn_share=0.2,
            object_share=0.12,
            open_share=0.45,
            hidden_share=0.25,
            turned_share=0.2,
        )

    def network(self, config: RelationalConfig) -> RelationalNet:
        return RelationalNet(config)

    def started_from(self, config: RelationalConfig, path: Path) -> nn.Module:
        """A network as large as the one of the file."""
        weights, described = load_weights(path)
        network = RelationalNet(RelationalConfig.from_dict(described["network"]))
        return restore(network, weights, path)

    def objective(self, network: nn.Module, batch: Batch) -> dict[str, Tensor]:
        return _related(network, batch)[1]

    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """By grid; the score is minus the mean loss over the grids."""
        return _by_grid(network, list(batches))


def _related(network: nn.Module, batch: Batch) -> tuple[Relations, dict[str, Tensor]]:
    """What the network says of a batch, and its losses."""
    in_context, isolated = network(batch.pixels(), batch.prior, batch.world)
    plain: Any = network
    terms = relational_loss(
        in_context,
        isolated,
        plain.positions(in_context, batch.grid),
        batch.position_of,
        batch.grid,
        closed=batch.world.closed,
        num_turns=batch.num_turns,
    )
    return in_context, terms


def _by_grid(network: nn.Module, batches: list[Batch]) -> dict[str, Any]:
    grids = sorted({batch.grid for batch in batches})
    figures = {
        str(grid): validate_relations(network, [b for b in batches if b.grid == grid], grid)
        for grid in grids
    }
    score = -sum(f["loss"] for f in figures.values()) / len(figures)
    return {**figures, "score": round(score, 5)}


@torch.no_grad()
def validate_relations(network: nn.Module, batches: list[Batch], grid: Grid) -> dict[str, float]:
    """Loss, share of sides whose neighbour (or frame) comes first, share of pieces likewise."""
    loss, side_hits, place_hits = 0.0, 0, 0
    for batch in batches:
        in_context, terms = _related(network, batch)
        loss += float(terms["loss"]) * len(batch)
        for direction in Direction:
            targets = neighbour_targets(batch.position_of, grid, direction)
            hits = in_context.side_logits(direction).argmax(dim=2) == targets
            side_hits += int(hits.sum())
        places = network.positions(in_context, grid).argmax(dim=2)  # type: ignore[operator]
        place_hits += int((places == batch.position_of).sum())
    puzzles = sum(len(batch) for batch in batches)
    pieces = puzzles * grid.num_pieces
    return {
        "loss": round(loss / puzzles, 4),
        "side": round(side_hits / (4 * pieces), 4),
        "place": round(place_hits / pieces, 4),
    }
