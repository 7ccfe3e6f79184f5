"""Training of the relational network on fresh puzzles: what it should say of sides and pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.models.relational import RelationalConfig, RelationalNet, Relations
from puzzleflow.options import Within
from puzzleflow.training.layouts import layout_loss
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Trainable

LAST_OF_LAYER = re.compile(r"layers\.\d+\.(out|feed_forward\.3)\.")  # what a layer adds
MOST_TURNED = 16  # pieces; the likelihood of larger turned layouts is all noise
GRIDS = {
    "2x2": 0.04, "3x3": 0.4, "4x4": 0.14, "5x5": 0.22, "6x6": 0.05,
    "2x3": 0.03, "3x2": 0.03, "3x4": 0.03, "4x3": 0.03, "4x5": 0.03,
}  # fmt: skip


def neighbour_targets(position_of: Tensor, grid: Grid, direction: Direction) -> Tensor:
    """(B, N) piece → the piece in ``direction`` of it, N if that is not there, N + 1 on the frame.

    Pieces that belong nowhere (position -1) have none of the given pieces as a neighbour.
    """
    (B, N), device = position_of.shape, position_of.device
    P = grid.num_pieces
    towards = torch.full((P + 1,), P + 1, device=device)  # position → position, P + 1: frame
    pairs = torch.from_numpy(grid.neighbours(direction).copy()).to(device)
    towards[pairs[:, 0]] = pairs[:, 1]
    towards[P] = P  # nowhere
    place = torch.where(position_of < 0, P, position_of)
    piece_at = position_of.new_full((B, P + 2), N)  # N: nobody
    piece_at.scatter_(1, place, torch.arange(N, device=device).expand(B, N))
    piece_at[:, P], piece_at[:, P + 1] = N, N + 1
    return piece_at.gather(1, towards[place])


def turned_targets(position_of: Tensor, grid: Grid, direction: Direction, num_turns: int) -> Tensor:
    """(B, T N) the same where every piece comes in T turns: each turn is a puzzle of its own."""
    N = position_of.shape[1] // num_turns
    by_turn = []
    for turn in range(num_turns):
        beyond = neighbour_targets(position_of[:, turn::num_turns], grid.turned(turn), direction)
        ends = (num_turns - 1) * N + beyond  # N and N + 1 become T N and T N + 1
        by_turn.append(torch.where(beyond < N, num_turns * beyond + turn, ends))
    return torch.stack(by_turn, dim=2).flatten(1)


def side_loss(relations: Relations, position_of: Tensor, grid: Grid, num_turns: int = 1) -> Tensor:
    """Mean cross-entropy of "what lies beyond this side", over all sides of all pieces."""
    losses = [
        F.cross_entropy(
            relations.side_logits(direction).flatten(0, 1),
            turned_targets(position_of, grid, direction, num_turns).flatten(),
        )
        for direction in Direction
    ]
    return torch.stack(losses).mean()


def position_loss(logits: Tensor, position_of: Tensor) -> Tensor:
    """Cross-entropy both ways, (B, N, P): each piece its position, each position its piece.

    Pieces at -1 belong nowhere, and positions without a piece have none: both say nothing.
    """
    puzzle, piece = (position_of >= 0).nonzero(as_tuple=True)
    if not len(puzzle):
        return logits.sum() * 0.0
    position = position_of[puzzle, piece]
    return 0.5 * (
        F.cross_entropy(logits[puzzle, piece], position)
        + F.cross_entropy(logits[puzzle, :, position], piece)
    )


def relational_loss(
    in_context: Relations,
    isolated: Relations,
    positions: Tensor,
    position_of: Tensor,
    grid: Grid,
    *,
    closed: bool = True,
    num_turns: int = 1,
) -> dict[str, Tensor]:
    """The terms and their weighted sum ``loss``.

    positions  (B, N, P) logits of pieces at positions
    closed     no piece can be foreign
    num_turns  4: pieces come in all four turns, and only upright ones have a position
    """
    apart = [relations.between_pieces(num_turns) for relations in (in_context, isolated)]
    terms = {
        "side": side_loss(apart[0], position_of, grid, num_turns),
        "pair": side_loss(apart[1], position_of, grid, num_turns),
    }
    asked = position_of
    if num_turns > 1:
        turn = torch.arange(position_of.shape[1], device=position_of.device) % num_turns  # (T N,)
        asked = torch.where(turn == 0, position_of, -1)
    terms["position"] = position_loss(positions, asked)
    if not closed:
        foreign = (position_of < 0).float()
        terms["stray"] = F.binary_cross_entropy_with_logits(in_context.stray, foreign)
    weights = {"side": 1.0, "pair": 0.4, "position": 0.4, "stray": 0.4}
    loss = torch.stack([weights[name] * term for name, term in terms.items()]).sum()
    return {"loss": loss, **terms}


@dataclass(frozen=True)
class RelationalTraining(Trainable):
    """Train the relational network."""

    name = "relational"
    presets: ClassVar = {"default": RelationalConfig(num_layers=6)}
    keeps_best = False
    bundled = "relational.safetensors"

    layouts: Annotated[
        float,
        "Weight of the likelihood of whole layouts.",
        Within(0),
    ] = 0.0

    def wants(self, config: RelationalConfig) -> StreamConfig:
        return StreamConfig(
            piece_px=config.piece_px,
            grids=GRIDS,
            with_prior=True,
            cut_larger=2,  # as the solver computes the prior
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
        """A network as large as the one of the file; further layers begin by changing nothing."""
        weights, described = load_weights(path)
        stored = RelationalConfig.from_dict(described["network"])
        known = restore(RelationalNet(stored), weights, path)
        if config.num_layers <= stored.num_layers:
            return known
        network = RelationalNet(replace(stored, num_layers=config.num_layers))
        network.load_state_dict(network.state_dict() | known.state_dict())
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                if name not in known.state_dict() and LAST_OF_LAYER.search(name):
                    parameter.zero_()
        return network

    def objective(self, network: nn.Module, batch: Batch) -> dict[str, Tensor]:
        in_context, isolated, positions, terms = _related(network, batch)
        hopeless = batch.num_turns > 1 and batch.grid.num_pieces > MOST_TURNED
        if self.layouts and batch.prior is not None and not hopeless:
            terms["layout"] = layout_loss(
                in_context,
                isolated,
                positions,
                batch.prior,
                batch.position_of,
                batch.grid,
                closed=batch.closed,
                num_turns=batch.num_turns,
            )
            terms["loss"] = terms["loss"] + self.layouts * terms["layout"]
        return terms

    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """By grid; the score is minus the mean loss over the grids."""
        return _by_grid(network, list(batches))


def _related(
    network: nn.Module, batch: Batch
) -> tuple[Relations, Relations, Tensor, dict[str, Tensor]]:
    """What the network says of a batch, in context and of pairs alone, and its losses."""
    in_context, isolated = network(batch.pixels(), batch.prior, batch.world)
    plain: Any = network
    positions: Tensor = plain.positions(in_context, batch.grid)
    terms = relational_loss(
        in_context,
        isolated,
        positions,
        batch.position_of,
        batch.grid,
        closed=batch.world.closed,
        num_turns=batch.num_turns,
    )
    return in_context, isolated, positions, terms


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
        in_context, _, positions, terms = _related(network, batch)
        loss += float(terms["loss"]) * len(batch)
        for direction in Direction:
            targets = neighbour_targets(batch.position_of, grid, direction)
            hits = in_context.side_logits(direction).argmax(dim=2) == targets
            side_hits += int(hits.sum())
        place_hits += int((positions.argmax(dim=2) == batch.position_of).sum())
    puzzles = sum(len(batch) for batch in batches)
    pieces = puzzles * grid.num_pieces
    return {
        "loss": round(loss / puzzles, 4),
        "side": round(side_hits / (4 * pieces), 4),
        "place": round(place_hits / pieces, 4),
    }
