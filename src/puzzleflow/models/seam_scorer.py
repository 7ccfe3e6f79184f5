"""The seam scorer: from the strips of a join, how much speaks for it, and how wide its gap is."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import InputError


@dataclass(frozen=True)
class SeamConfig:
    """Sizes of the network.

    colours   numbers that describe the colours behind a point
    geometry  numbers that describe how two points lie to each other
    facts     numbers that describe the join as a whole
    """

    colours: int = 15
    geometry: int = 6
    facts: int = 8
    width: int = 48
    blocks: int = 3
    hidden: int = 96

    def __post_init__(self) -> None:
        sizes = (self.colours, self.geometry, self.facts, self.width, self.blocks, self.hidden)
        if not all(isinstance(size, int) and 1 <= size <= 512 for size in sizes):
            raise InputError("a seam scorer: expected sizes from 1 to 512")


class _Block(nn.Module):
    """Residual convolution along the strip."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(1, width)
        self.conv = nn.Conv1d(width, width, 5, padding=2 * dilation, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(F.gelu(self.norm(x)))


class SeamScorer(nn.Module):
    """Both strips of a join and facts of it → (S, 2): log of odds, and the gap it should have."""

    def __init__(self, config: SeamConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or SeamConfig()
        self.enter = nn.Conv1d(
            3 * config.colours + config.geometry + 1, config.width, 5, stride=2, padding=2
        )
        self.blocks = nn.ModuleList(
            [_Block(config.width, 1 + number % 2) for number in range(config.blocks)]
        )
        self.head = nn.Sequential(
            nn.Linear(4 * config.width + config.facts, config.hidden),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, 2),
        )

    def forward(self, own: Tensor, other: Tensor, geometry: Tensor, facts: Tensor) -> Tensor:
        """own, other (S, 2, L, C), geometry (S, 2, L, G), facts (S, F); zeros = nothing there."""
        S, _, L, _ = own.shape
        there = (own != 0).any(dim=3, keepdim=True).to(own.dtype)  # (S, 2, L, 1)
        faces = geometry[..., 1:2]
        apart = (own - other).abs() * faces
        told = torch.cat([own, other, apart, geometry, there], dim=3)  # (S, 2, L, …)
        x = self.enter(told.view(2 * S, L, -1).transpose(1, 2))  # (2S, W, L / 2)
        for block in self.blocks:
            x = block(x)
        x = F.gelu(x)
        weight = faces.reshape(2 * S, 1, L)[..., ::2]  # (2S, 1, L / 2)
        mean = (x * weight).sum(dim=2) / (weight.sum(dim=2) + 1)
        total = (x * weight).sum(dim=2) / 8
        pooled = torch.cat([mean, total], dim=1).view(S, 2, -1)  # (S, 2, 2W)
        both = torch.cat([pooled.mean(dim=1), pooled.amin(dim=1)], dim=1)  # (S, 4W)
        return self.head(torch.cat([both, facts], dim=1))
