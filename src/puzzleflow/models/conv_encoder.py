"""A piece as five tokens, itself and its four sides, from one compact convolutional encoder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction
from puzzleflow.core.records import Saved
from puzzleflow.models.pixels import standardised

MAX_SIZE = 8192  # of any layer
MAX_PX = 1024  # a side of a piece
REACH = 3  # token columns (rows) beside a side that its descriptor sees
PRIOR_FEATURES = 3  # of every pair, from the colours along the outlines
TOKENS = 5  # a piece's own token, then its sides right, down, left, up


@dataclass(frozen=True)
class TrunkConfig(Saved):
    """Sizes of encoder and side descriptors; saved beside the weights of what is built on them."""

    piece_px: int = 64
    widths: tuple[int, ...] = (32, 64, 128)
    blocks: tuple[int, ...] = (0, 1, 2)
    side_hidden: int = 128
    side_dim: int = 64

    def __post_init__(self) -> None:
        """Refuse sizes, also of what is built on it, that no trained network has."""
        for name, value in vars(self).items():
            sizes = value if isinstance(value, tuple) else (value,)
            if not all(0 <= size <= MAX_SIZE for size in sizes):
                raise InputError(f"{name}: expected sizes up to {MAX_SIZE}, not {value}")
        stride = 2 ** min(len(self.widths), 16)
        if self.piece_px % stride or not REACH * stride <= self.piece_px <= MAX_PX:
            raise InputError(
                f"piece_px: expected a multiple of {stride} from {REACH * stride} to {MAX_PX}, "
                f"not {self.piece_px}"
            )


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions with BatchNorm around an identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        nn.init.zeros_(self.norm2.weight)

    def forward(self, features: Tensor) -> Tensor:
        hidden = F.relu(self.norm1(self.conv1(features)), inplace=True)
        return F.relu(self.norm2(self.conv2(hidden)).add_(features), inplace=True)


class ConvEncoder(nn.Module):
    """Pieces → a map of tokens, each stage halving the resolution."""

    def __init__(self, in_channels: int, widths: tuple[int, ...], blocks: tuple[int, ...]) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        channels = in_channels
        for width, num_blocks in zip(widths, blocks, strict=True):
            stages += [
                nn.Conv2d(channels, width, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                *(ResidualBlock(width) for _ in range(num_blocks)),
            ]
            channels = width
        self.stages = nn.Sequential(*stages)
        self.dim = channels
        self.stride = 2 ** len(widths)
        # oneDNN's convolutions are several times faster in this layout
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, pixels: Tensor) -> Tensor:
        """(M, C, H, W) → (M, D, H/stride, W/stride)."""
        pixels = pixels.contiguous(memory_format=torch.channels_last)
        return self.stages(pixels)  # type: ignore[no-any-return]

    def fold(self) -> None:
        """Put every BatchNorm into the convolution before it: quicker, and no longer trainable."""
        for parent in list(self.modules()):
            for (name, conv), (after, norm) in pairwise(list(parent.named_children())):
                if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                    setattr(parent, name, fuse_conv_bn_eval(conv, norm))
                    setattr(parent, after, nn.Identity())


def void_widths(alpha: Tensor, num_tokens: int) -> Tensor:
    """(M, H, W) alpha → (M, 4, T): how deep the void is at each side, as a share of the piece.

    Per direction and token along the side: the mean distance from the cell's
    border to the first material.
    """
    solid = (alpha > 0.5).float()
    sides = torch.stack(  # every side seen as "from the left", rows along the side
        [solid.flip(2), solid.flip(1).transpose(1, 2), solid, solid.transpose(1, 2)], dim=1
    )  # (M, 4, H, W)
    W = sides.shape[3]
    nearness = torch.arange(W, 0, -1, device=alpha.device) / W  # 1 at the border … 1 / W
    depth = 1.0 - (sides * nearness).amax(dim=3)  # (M, 4, H)
    return F.adaptive_avg_pool1d(depth, num_tokens)  # (M, 4, T)


def side_head(dim: int, hidden: int, side_dim: int) -> nn.Sequential:
    """A strip of tokens and the void beside it (M, reach·D + 1, T) → (M, Ds, T)."""
    return nn.Sequential(
        nn.Conv1d(REACH * dim + 1, hidden, 3, padding=1),
        nn.GELU(),
        nn.Conv1d(hidden, side_dim, 1),
    )


class SideDescriptor(nn.Module):
    """The strip of tokens beside each side → one descriptor per token along it.

    Strips run top to bottom (right and left sides) or left to right (down and up),
    so that entry k of a right side faces entry k of the left side beyond the seam.
    """

    def __init__(self, dim: int, hidden: int, side_dim: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(side_head(dim, hidden, side_dim) for _ in Direction)

    def forward(self, tokens: Tensor, void: Tensor) -> Tensor:
        """(M, D, T, T) tokens, (M, 4, T) void widths → (M, 4, T, Ds)."""
        strips = [
            tokens[:, :, :, -REACH:].permute(0, 3, 1, 2),  # right: (M, reach, D, T)
            tokens[:, :, -REACH:, :].permute(0, 2, 1, 3),  # down
            tokens[:, :, :, :REACH].permute(0, 3, 1, 2),  # left
            tokens[:, :, :REACH, :].permute(0, 2, 1, 3),  # up
        ]
        described = [
            head(torch.cat([strip.flatten(1, 2), void[:, d, None]], dim=1))  # (M, Ds, T)
            for d, (head, strip) in enumerate(zip(self.heads, strips, strict=True))
        ]
        return torch.stack(described, dim=1).transpose(2, 3)  # (M, 4, T, Ds)


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
        of_sides = [layer(sides[:, d]) for d, layer in enumerate(self.side_token)]
        tokens = torch.stack([self.piece_token(pooled), *of_sides], dim=1)  # (B*N, 5, D)
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
