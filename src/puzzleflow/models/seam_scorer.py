"""The seam scorer: from what a join shows, how much speaks for it, and how wide its gap is.

What is to be seen along a seam is a strip along either edge, and what was measured of both
(``solvers/free_form/measures.py``): how long and even the gap is, how alike the colours of
both sides are, how they vary together. Convolutions run along the strips; a small network
weighs what they find beside the measures.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import InputError


@dataclass(frozen=True)
class SeamConfig:
    """Sizes of the network.

    inputs    numbers that are told of a join
    channels  of a point of a strip
    weight    the channel that says how much a point counts
    width     of the convolutions
    gaps      that the whole set may have, of which the network tells how likely each is
    """

    inputs: int = 71
    channels: int = 30
    weight: int = 6
    width: int = 32
    num_layers: int = 3
    hidden: int = 64
    gaps: int = 13

    def __post_init__(self) -> None:
        sizes = (self.inputs, self.channels, self.width, self.num_layers, self.hidden, self.gaps)
        if not all(isinstance(n, int) and 1 <= n <= 512 for n in sizes):
            raise InputError("a seam scorer: expected sizes from 1 to 512")
        if not (isinstance(self.weight, int) and 0 <= self.weight < self.channels):
            raise InputError("a seam scorer: no such channel")


class SeamScorer(nn.Module):
    """What a join shows → (S, 2): log of odds, and the gap that it should have."""

    mean: Tensor
    spread: Tensor
    usual: Tensor

    def __init__(self, config: SeamConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or SeamConfig()
        self.register_buffer("mean", torch.zeros(config.inputs))
        self.register_buffer("spread", torch.ones(config.inputs))
        self.register_buffer("usual", torch.full((config.gaps,), 1 / config.gaps))
        self.along = nn.ModuleList(
            nn.Conv1d(
                config.width if layer else config.channels,
                config.width,
                kernel_size=3,
                padding=2**layer,
                dilation=2**layer,
            )
            for layer in range(config.num_layers)
        )
        self.head = nn.Sequential(
            nn.Dropout(0.15),
            nn.Linear(4 * config.width + config.inputs, config.hidden),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Linear(config.hidden, 2),
        )
        self.of_set = nn.Linear(config.hidden, config.gaps)

    def forward(self, strips: Tensor, inputs: Tensor) -> Tensor:
        """(S, 2, C, L) and (S, I) → (S, 2); which edge comes first makes no difference."""
        answer: Tensor = self.head[-1](self._found(strips, inputs))
        return answer

    def judged(self, strips: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """(S, 2) as before, and (S, G) log of how likely the set has each of the gaps."""
        found = self._found(strips, inputs)
        return self.head[-1](found), self.of_set(found).log_softmax(dim=1)

    def _found(self, strips: Tensor, inputs: Tensor) -> Tensor:
        """(S, H) what the last layers are told."""
        hidden = self._seen(strips).flatten(0, 1).mT  # (2 S, L, C)
        weight = hidden[..., self.config.weight, None]  # (2 S, L, 1)
        for layer, convolution in enumerate(self.along):
            found = F.gelu(_convolved(hidden, convolution))
            hidden = hidden + found if layer else found
        counted = hidden * weight
        mean = counted.sum(dim=1) / (weight.sum(dim=1) + 1.0)
        both = torch.cat([mean, counted.amax(dim=1)], dim=1)
        seen = both.view(len(strips), 2, -1)  # (S, 2, 2 W)
        one, other = seen.unbind(dim=1)
        told = ((inputs - self.mean) / self.spread).clamp(-4, 4)
        answer: Tensor = self.head[:-1](
            torch.cat([(one + other) / 2, (one - other).abs(), told], dim=1)
        )
        return answer

    def _seen(self, strips: Tensor) -> Tensor:
        """(S, 2, C, l) the points that count in any strip, and those that these are told of."""
        counts = (strips[:, :, self.config.weight] > 0).flatten(0, 1).any(dim=0).nonzero()
        if not len(counts):
            return strips
        around = 2**self.config.num_layers  # one more than convolutions see: it counts nothing
        first, last = int(counts[0]) - around, int(counts[-1]) + around
        return strips[..., max(first, 0) : last + 1]

    @torch.no_grad()
    def fit_scale(self, inputs: Tensor) -> None:
        """Take mean and spread of the inputs from examples."""
        self.mean.copy_(inputs.mean(dim=0))
        self.spread.copy_(inputs.std(dim=0).clamp_min(1e-2))

    @torch.no_grad()
    def fit_usual(self, gaps: Tensor) -> None:
        """Take from examples, (S, G), how likely each gap is before a join is seen."""
        share = gaps.mean(dim=0) + 1e-3
        self.usual.copy_(share / share.sum())


def _convolved(hidden: Tensor, convolution: nn.Module) -> Tensor:
    """(M, L, C) → (M, L, W) what a convolution of three points finds along strips.

    As one product of matrices: oneDNN takes a millisecond to get ready for every new shape, and
    hardly two batches of joins have the same.
    """
    assert isinstance(convolution, nn.Conv1d)
    length, reach = hidden.shape[1], convolution.dilation[0]
    padded = F.pad(hidden, (0, 0, reach, reach))
    around = torch.cat([padded[:, :length], hidden, padded[:, 2 * reach :]], dim=2)  # (M, L, 3 C)
    weight = convolution.weight.permute(0, 2, 1).flatten(1)  # (W, 3 C)
    return F.linear(around, weight, convolution.bias)
