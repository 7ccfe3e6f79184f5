"""A piece as five tokens: itself and its four sides, from one convolutional trunk."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from puzzleflow.core.grid import Direction
from puzzleflow.models.conv_encoder import ConvEncoder, SideDescriptor, TrunkConfig, void_widths
from puzzleflow.models.pixels import standardised

PRIOR_FEATURES = 3  # of every pair, from the colours along the outlines
TOKENS = 5  # a piece's own token, then its sides right, down, left, up


@dataclass(frozen=True)
class TokenConfig(TrunkConfig):
    """Sizes of trunk, side descriptors and tokens."""

    dim: int = 192


class PieceTokens(nn.Module):
    """Pieces → tokens and side descriptors; what all networks on pieces can share."""

    def __init__(self, config: TokenConfig) -> None:
        super().__init__()
        self.encoder = ConvEncoder(7, config.widths, config.blocks)
        self.num_tokens = config.piece_px // self.encoder.stride  # T, along a side
        self.sides = SideDescriptor(self.encoder.dim, config.side_hidden, config.side_dim)
        self.piece_token = nn.Linear(2 * self.encoder.dim, config.dim)
        self.side_token = nn.ModuleList(
            nn.Linear(self.num_tokens * config.side_dim, config.dim) for _ in Direction
        )
        self.prior_logit = nn.Linear(PRIOR_FEATURES, 1)
        with torch.no_grad():  # begin by believing the prior
            self.prior_logit.weight.copy_(torch.tensor([[0.5, 0.5, 0.0]]))
        self.local_scale = nn.Parameter(torch.tensor(1.0))

    def encode(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """(B, N, 4, H, W) → tokens (B, N, 5, D), side descriptors (B, N, 4, T·Ds)."""
        B, N = pixels.shape[:2]
        maps = self.encoder(standardised(pixels).flatten(0, 1))  # (B*N, De, T, T)
        void = void_widths(pixels[:, :, 3].flatten(0, 1), self.num_tokens)  # (B*N, 4, T)
        sides = self.sides(maps, void).flatten(2)  # (B*N, 4, T*Ds)
        pooled = torch.cat([maps.mean(dim=(2, 3)), maps.amax(dim=(2, 3))], dim=1)
        tokens = torch.stack(
            [
                self.piece_token(pooled),
                *(layer(sides[:, d]) for d, layer in enumerate(self.side_token)),
            ],
            dim=1,
        )  # (B*N, 5, D)
        return tokens.view(B, N, TOKENS, -1), sides.view(B, N, 4, -1)

    def seams(self, sides: Tensor, prior: Tensor) -> Tensor:
        """Side descriptors, prior (B, 2, N, N, F) → logits (B, 2, N, N) of right and down seams.

        Of isolated pairs: row-aligned inner products, added to what the colours say.
        """
        scale = self.local_scale / math.sqrt(sides.shape[-1])
        known = self.prior_logit(prior).squeeze(-1)  # (B, 2, N, N)
        right = sides[:, :, Direction.RIGHT] @ sides[:, :, Direction.LEFT].mT  # (B, N, N)
        down = sides[:, :, Direction.DOWN] @ sides[:, :, Direction.UP].mT
        return known + scale * torch.stack([right, down], dim=1)  # type: ignore[no-any-return]
