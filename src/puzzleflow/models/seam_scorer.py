"""The seam scorer: from what a join shows, how much speaks for it, and how wide its gap is.

What is to be seen along a seam is measured first (``solvers/free_form/measures.py``): how
long and even the gap is, how alike the colours of both sides are, how they vary together.
A small network weighs it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from puzzleflow.core.errors import InputError


@dataclass(frozen=True)
class SeamConfig:
    """Sizes of the network; ``inputs`` are the numbers that a join shows."""

    inputs: int = 71
    hidden: int = 64

    def __post_init__(self) -> None:
        if not all(isinstance(n, int) and 1 <= n <= 512 for n in (self.inputs, self.hidden)):
            raise InputError("a seam scorer: expected sizes from 1 to 512")


class SeamScorer(nn.Module):
    """What a join shows → (S, 2): log of odds, and the gap that it should have."""

    mean: Tensor
    spread: Tensor

    def __init__(self, config: SeamConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or SeamConfig()
        self.register_buffer("mean", torch.zeros(config.inputs))
        self.register_buffer("spread", torch.ones(config.inputs))
        self.head = nn.Sequential(
            nn.Linear(config.inputs, config.hidden),
            nn.GELU(),
            nn.Dropout(0.2),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Dropout(0.2),
            nn.Linear(config.hidden, 2),
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """(S, I) → (S, 2)."""
        told: Tensor = self.head(((inputs - self.mean) / self.spread).clamp(-4, 4))
        return told

    @torch.no_grad()
    def fit_scale(self, inputs: Tensor) -> None:
        """Take mean and spread of the inputs from examples."""
        self.mean.copy_(inputs.mean(dim=0))
        self.spread.copy_(inputs.std(dim=0).clamp_min(1e-2))
