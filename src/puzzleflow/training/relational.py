"""Training of the relational network on fresh puzzles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.models.relational import RelationalConfig, RelationalNet, Relations
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.objectives import neighbour_targets, relational_loss
from puzzleflow.training.stream import Batch, PuzzleStream, stream_loader


def relational_trainer(
    settings: LoopSettings,
    folder: str | Path,
    *,
    config: RelationalConfig | None = None,
    initial: str | Path | None = None,
    validation: Iterable[Batch] | None = None,
) -> Trainer[Batch]:
    """A trainer of the relational network, from ``initial`` weights if given.

    validation  held-out batches; the score is minus their mean loss over the grids
    """
    weights: dict[str, Tensor] = {}
    if initial is not None:
        weights, described = load_weights(initial)
        config = RelationalConfig.from_dict(described["network"])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = RelationalNet(config)
    if weights:
        restore(network, weights, str(initial))
    held_out = list(validation or ())
    return Trainer(
        network,
        settings,
        folder,
        objective=_objective,
        validate=(lambda net: _by_grid(net, held_out)) if held_out else None,
    )


def batches_of(stream: PuzzleStream, num_workers: int = 0) -> Callable[[int], Iterable[Batch]]:
    """The stream as the trainer wants it: batches from any step on."""

    def batches(first: int) -> Iterable[Batch]:
        stream.first_batch = first
        return stream_loader(stream, num_workers)

    return batches


def _objective(network: nn.Module, batch: Batch) -> dict[str, Tensor]:
    return _related(network, batch)[1]


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
        turned=batch.turned,
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
