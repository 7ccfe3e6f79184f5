"""What the networks are trained to do."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import Relations


def neighbour_targets(position_of: Tensor, grid: Grid, direction: Direction) -> Tensor:
    """(B, N) piece → the piece in ``direction`` of it, or N where the frame is."""
    (B, N), device = position_of.shape, position_of.device
    piece_at = torch.empty_like(position_of)
    piece_at.scatter_(1, position_of, torch.arange(N, device=device).expand(B, N))
    towards = torch.full((N,), N, device=device)  # position → neighbouring position
    pairs = torch.from_numpy(grid.neighbours(direction).copy()).to(device)
    towards[pairs[:, 0]] = pairs[:, 1]
    padded = torch.cat([piece_at, piece_at.new_full((B, 1), N)], dim=1)  # (B, N + 1)
    return padded.gather(1, towards[position_of])


def side_loss(relations: Relations, position_of: Tensor, grid: Grid) -> Tensor:
    """Mean cross-entropy of "who lies beyond this side", over all sides of all pieces."""
    losses = [
        F.cross_entropy(
            relations.side_logits(direction).flatten(0, 1),
            neighbour_targets(position_of, grid, direction).flatten(),
        )
        for direction in Direction
    ]
    return torch.stack(losses).mean()


def position_loss(logits: Tensor, position_of: Tensor) -> Tensor:
    """Cross-entropy both ways: each piece its position, each position its piece."""
    piece_at = position_of.argsort(dim=1)
    return 0.5 * (
        F.cross_entropy(logits.flatten(0, 1), position_of.flatten())
        + F.cross_entropy(logits.transpose(1, 2).flatten(0, 1), piece_at.flatten())
    )


def relational_loss(
    in_context: Relations, isolated: Relations, position_of: Tensor, grid: Grid
) -> dict[str, Tensor]:
    """The terms and their weighted sum ``loss``."""
    side = side_loss(in_context, position_of, grid)
    pair = side_loss(isolated, position_of, grid)
    position = position_loss(in_context.position, position_of)
    return {
        "loss": side + 0.4 * pair + 0.4 * position,
        "side": side,
        "pair": pair,
        "position": position,
    }
