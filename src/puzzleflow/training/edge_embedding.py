"""Training of side embeddings with triplets of anchor, neighbour and hardest stranger.

From random weights the hard triplet alone draws all sides into one point, where
its loss is the margin and hardly has a slope. The run therefore begins with the
same loss made smooth, which looks at all strangers at once, and ends with the
hard one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.edge_embedding import EdgeConfig, EdgeEmbedding, side_distances
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.relational import neighbour_targets
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Trainable

MARGIN = 0.2
SOFTNESS = 0.1  # of the smooth triplet, in units of distance
AXES = ((Direction.RIGHT, Direction.LEFT), (Direction.DOWN, Direction.UP))


@dataclass(frozen=True, kw_only=True)
class EdgeBatch(Batch):
    """Puzzles, and how soft their triplets are."""

    softness: float


@dataclass(frozen=True)
class EdgeTraining(Trainable):
    """Train the side embedding of the solver rg-lns: hard triplets, from random weights."""

    name = "edges"
    presets: ClassVar = {"default": EdgeConfig()}
    settings = LoopSettings(steps=20_000)
    keeps_best = False
    bundled = "rg_lns.safetensors"

    hard_from: Annotated[float, "Share of the run after which triplets are hard."] = 0.75

    def wants(self, config: EdgeConfig) -> StreamConfig:
        return StreamConfig(
            piece_px=config.piece_px,
            grids={"2x2": 0.05, "3x3": 0.5, "4x4": 0.2, "5x5": 0.2, "6x6": 0.05},
        )

    def network(self, config: EdgeConfig) -> EdgeEmbedding:
        return EdgeEmbedding(config)

    def prepared(self, batch: Batch, config: EdgeConfig, settings: LoopSettings) -> EdgeBatch:
        softness = SOFTNESS if batch.number < self.hard_from * settings.steps else 0.0
        return EdgeBatch(**vars(batch), softness=softness)

    def objective(self, network: nn.Module, batch: EdgeBatch) -> dict[str, Tensor]:
        return edge_loss(network, batch, batch.softness)

    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """The score is the share of sides whose true neighbour ranks first."""
        return rank_figures(network, list(batches))


def edge_loss(network: nn.Module, batch: Batch, softness: float) -> dict[str, Tensor]:
    """Right and left sides of one batch, lower and upper sides of the next.

    Both kinds of seam look alike to the encoder, so that half of the sides of
    twice as many puzzles teach more than all sides of each.
    """
    sides = AXES[batch.number % 2]
    embedded = network(batch.pixels(), sides)  # (B, N, 2, E)
    distances = side_distances(embedded[:, :, 0], embedded[:, :, 1])  # (B, N, N)
    targets = neighbour_targets(batch.position_of, batch.grid, sides[0])
    return triplet_loss(distances, targets, softness)


def triplet_loss(distances: Tensor, targets: Tensor, softness: float = 0.0) -> dict[str, Tensor]:
    """relu(d⁺ − hardest d⁻ + margin) over all true seams, seen from either end.

    distances  (B, N, N) from a side of piece i to the facing side of piece j
    targets    (B, N) the true j of every i, or N where the frame is
    softness   s > 0: s · log(1 + Σ exp((d⁺ − d⁻ + margin) / s)), which is the same as s → 0
    The negatives of a seam are the same side of all other pieces of the puzzle.
    """
    N = distances.shape[1]
    own = torch.eye(N, dtype=torch.bool, device=distances.device)
    puzzle, first = torch.nonzero(targets < N, as_tuple=True)  # (S,) each, S true seams
    second = targets[puzzle, first]
    true = distances[puzzle, first, second]  # (S,)
    is_true = torch.zeros_like(distances, dtype=torch.bool)
    is_true[puzzle, first, second] = True
    others = distances.masked_fill(own | is_true, float("inf"))
    losses, hits = [], []
    for strangers in (others[puzzle, first], others[puzzle, :, second]):  # (S, N) each
        hardest = strangers.amin(dim=1)
        if softness:
            excess = (true[:, None] - strangers + MARGIN) / softness
            losses.append(softness * F.pad(excess, (0, 1)).logsumexp(dim=1))
        else:
            losses.append(F.relu(true - hardest + MARGIN))
        hits.append((true < hardest).float())
    return {
        "loss": torch.cat(losses).mean(),
        "first": torch.cat(hits).mean(),
        "true": true.mean(),
    }


def rank_figures(network: nn.Module, batches: list[Batch]) -> dict[str, Any]:
    """:func:`neighbour_ranks` by grid, and their mean share of firsts as the score."""
    grids = sorted({batch.grid for batch in batches})
    figures = {
        str(grid): neighbour_ranks(network, [b for b in batches if b.grid == grid], grid)
        for grid in grids
    }
    score = sum(f["first"] for f in figures.values()) / len(figures)
    return {**figures, "score": round(score, 5)}


@torch.no_grad()
def neighbour_ranks(network: nn.Module, batches: list[Batch], grid: Grid) -> dict[str, float]:
    """Of all true seams, the share that ranks first from an end, and first from both ends."""
    first_hits, mutual_hits, seams = 0, 0, 0
    for batch in batches:
        embedded = network(batch.pixels())  # (B, N, 4, E)
        own = torch.eye(grid.num_pieces, dtype=torch.bool, device=embedded.device)
        for one, other in AXES:
            distances = side_distances(embedded[:, :, one], embedded[:, :, other])
            distances = distances.masked_fill(own, float("inf"))
            targets = neighbour_targets(batch.position_of, grid, one)
            puzzle, piece = torch.nonzero(targets < grid.num_pieces, as_tuple=True)
            neighbour = targets[puzzle, piece]
            ahead = distances.argmin(dim=2)[puzzle, piece] == neighbour
            back = distances.argmin(dim=1)[puzzle, neighbour] == piece
            first_hits += int(ahead.sum()) + int(back.sum())
            mutual_hits += int((ahead & back).sum())
            seams += len(piece)
    return {
        "first": round(first_hits / (2 * seams), 4),
        "mutual": round(mutual_hits / seams, 4),
    }
