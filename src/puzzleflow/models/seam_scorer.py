"""The seam scorer: from the strips of a join, how much speaks for it, and how wide its gap is.

What is to be seen in a strip is measured first (:func:`measured`): how long and even the
gap is, how alike the colours of both sides are, with and without a difference of light,
how they vary together along the seam, coarsely and finely. A small network weighs it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import InputError

MEASURES = 26  # of each side of a seam
NEAR = 0.7  # of the sight: points that are farther apart count nothing
LITTLE = 0.02  # variance of colours below which they say nothing together
SHIFTS = (-2, -1, 0, 1, 2)  # points by which a line may cross the gap aslant


@dataclass(frozen=True)
class SeamConfig:
    """Sizes of the network; ``facts`` are numbers that describe the join as a whole."""

    facts: int = 8
    hidden: int = 48

    def __post_init__(self) -> None:
        if not all(isinstance(n, int) and 1 <= n <= 512 for n in (self.facts, self.hidden)):
            raise InputError("a seam scorer: expected sizes from 1 to 512")


class SeamScorer(nn.Module):
    """What a join shows → (S, 2): log of odds, and the gap that it should have."""

    mean: Tensor
    spread: Tensor

    def __init__(self, config: SeamConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or SeamConfig()
        num_inputs = 2 * MEASURES + config.facts
        self.register_buffer("mean", torch.zeros(num_inputs))
        self.register_buffer("spread", torch.ones(num_inputs))
        self.head = nn.Sequential(
            nn.Linear(num_inputs, config.hidden),
            nn.GELU(),
            nn.Dropout(0.25),
            nn.Linear(config.hidden, config.hidden),
            nn.GELU(),
            nn.Dropout(0.25),
            nn.Linear(config.hidden, 2),
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """(S, 2 M + F) of :func:`inputs_of` → (S, 2)."""
        told: Tensor = self.head(((inputs - self.mean) / self.spread).clamp(-4, 4))
        return told

    @torch.no_grad()
    def fit_scale(self, inputs: Tensor) -> None:
        """Take mean and spread of the inputs from examples."""
        self.mean.copy_(inputs.mean(dim=0))
        self.spread.copy_(inputs.std(dim=0).clamp_min(1e-2))


def inputs_of(own: Tensor, other: Tensor, geometry: Tensor, facts: Tensor) -> Tensor:
    """(S, 2 M + F): measures of both sides, their mean and how they differ, and the facts.

    own, other (S, 2, L, C), geometry (S, 2, L, G), facts (S, F); zeros = nothing there
    """
    one, two = measured(own, other, geometry).unbind(dim=1)  # (S, M) each
    return torch.cat([(one + two) / 2, (one - two).abs(), facts], dim=1)


def measured(own: Tensor, other: Tensor, geometry: Tensor) -> Tensor:
    """(S, 2, M) what each strip shows; points that face each other nearer count more."""
    distance, faces, cosine, sine, slide, advance = geometry.unbind(dim=3)  # (S, 2, L) each
    weight = faces * (1 - distance / NEAR).clamp(0, 1)
    total = weight.sum(dim=2)  # (S, 2)

    def mean(values: Tensor) -> Tensor:
        return (weight * values).sum(dim=2) / (total + 1e-3)

    def colour_mean(values: Tensor) -> Tensor:
        """(S, 2, 1, 3) over the strip."""
        return ((weight[..., None] * values).sum(dim=2) / (total[..., None] + 1e-3))[:, :, None]

    length = own.shape[2]
    a, b = (side.view(*side.shape[:3], -1, 3) for side in (own, other))  # (S, 2, L, K, 3)
    a_edge, b_edge = a[:, :, :, 0], b[:, :, :, 0]  # (S, 2, L, 3)
    a_soft, b_soft = a[:, :, :, :3].mean(dim=3), b[:, :, :, :3].mean(dim=3)
    a_deep, b_deep = a[:, :, :, 2:].mean(dim=3), b[:, :, :, 2:].mean(dim=3)
    a_next, b_next = a_edge + (a_edge - a_deep) / 2, b_edge + (b_edge - b_deep) / 2

    gap = mean(distance)
    uneven = mean((distance - gap[..., None]) ** 2).sqrt()
    step = F.pad((distance[..., 1:] - distance[..., :-1]).abs(), (0, 1)) * faces
    told = [
        faces.sum(dim=2) / length,
        total / length,
        gap,
        uneven,
        mean(step),
        mean((distance < 0).float()),
        mean(1 + cosine),
        mean(sine.abs()),
        mean(slide.abs()),
        mean((advance - 0.25).abs()),
    ]
    for first, second in ((a_edge, b_edge), (a_soft, b_soft), (a_next, b_next)):
        away = ((first - second) ** 2).sum(dim=3)
        told += [mean(torch.exp(-away)), mean(torch.exp(-6 * away))]
    away = ((a_edge - b_edge) ** 2).sum(dim=3)
    told.append((weight * (torch.exp(-3 * away) - 0.3)).sum(dim=2) / length)

    difference = a_soft - b_soft
    light = colour_mean(difference)
    told.append((light**2).sum(dim=(2, 3)))
    told.append(mean(((difference - light) ** 2).sum(dim=3)))
    a_plain, b_plain = a_soft - colour_mean(a_soft), b_soft - colour_mean(b_soft)
    a_var, b_var = mean((a_plain**2).sum(dim=3)), mean((b_plain**2).sum(dim=3))
    both = mean((a_plain * b_plain).sum(dim=3))
    told += [(a_var + LITTLE).log(), (b_var + LITTLE).log()]
    told.append(both / ((a_var * b_var).clamp_min(0).sqrt() + LITTLE))
    told.append(both)

    a_fine, b_fine = _fine(a_edge), _fine(b_edge)
    scale = (mean((a_fine**2).sum(dim=3)) * mean((b_fine**2).sum(dim=3))).clamp_min(0).sqrt()
    shifted = torch.stack(
        [mean((a_fine * b_fine.roll(shift, dims=2)).sum(dim=3)) for shift in SHIFTS], dim=2
    )  # (S, 2, shifts)
    told.append(shifted[..., len(SHIFTS) // 2] / (scale + LITTLE / 4))
    told.append(shifted.amax(dim=2) / (scale + LITTLE / 4))
    across = mean(((a_edge - a_deep) * (b_deep - b_edge)).sum(dim=3))  # a change that goes on
    told.append(across)
    return torch.stack(told, dim=2)  # (S, 2, M)


def _fine(colours: Tensor) -> Tensor:
    """(S, 2, L, 3) without what varies slowly along the strip."""
    S, sides, length, _ = colours.shape
    flat = colours.permute(0, 1, 3, 2).reshape(S * sides, 3, length)
    slow = F.avg_pool1d(flat, 7, stride=1, padding=3, count_include_pad=False)
    return (flat - slow).view(S, sides, 3, length).permute(0, 1, 3, 2)
