"""The probability path between a random layout and the true one.

π_t^(i) = π_1^(i) with probability α(t), else π_0^(i);  π_0 uniform over permutations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from puzzleflow.core.errors import UnknownName

SCHEDULES: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda t: t,
    "cosine": lambda t: 1 - torch.cos(0.5 * math.pi * t),
}


@dataclass(frozen=True)
class PathSample:
    """States of B puzzles: x_0, x_1, x_t (B, N) positions and t (B,)."""

    x_0: Tensor
    x_1: Tensor
    x_t: Tensor
    t: Tensor


@dataclass(frozen=True)
class FlowPath:
    """The interpolation with schedule α: "linear" (the paper) or "cosine"."""

    schedule: str = "linear"

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise UnknownName("flow schedule", self.schedule, SCHEDULES)

    def alpha(self, t: Tensor) -> Tensor:
        """Probability that a piece already lies at its target."""
        return SCHEDULES[self.schedule](t)

    def start(self, num_puzzles: int, num_pieces: int, generator: torch.Generator) -> Tensor:
        """(B, N) uniform permutations."""
        return torch.rand(num_puzzles, num_pieces, generator=generator).argsort(dim=1)

    def sample(
        self, x_1: Tensor, generator: torch.Generator, t: Tensor | None = None
    ) -> PathSample:
        """x_t for targets ``x_1`` (B, N), at times ``t`` or uniform ones."""
        B, N = x_1.shape
        t = torch.rand(B, generator=generator) if t is None else t
        x_0 = self.start(B, N, generator)
        arrived = torch.rand(B, N, generator=generator) < self.alpha(t)[:, None]
        return PathSample(x_0=x_0, x_1=x_1, x_t=torch.where(arrived, x_1, x_0), t=t)
