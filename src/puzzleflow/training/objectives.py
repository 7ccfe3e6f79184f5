"""What the networks are trained to do."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import Relations


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
