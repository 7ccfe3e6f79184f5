"""What rivals are made of: the small preset's encoder, a transformer, Gaussian diffusion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.models.conv_encoder import ConvEncoder
from puzzleflow.solvers.rivals.base import RivalConfig

PATCH = 16  # pixels of a patch, as in ViT
USUAL_MEAN, USUAL_DEVIATION = 0.45, 0.2  # of the colours of a puzzle, in [0, 1]
FIRST, LAST = 1e-4, 0.02  # variances added by the first and by the last of 1000 steps


class Patches(nn.Module):
    """Pictures or pieces → one vector for every patch of 16 px.

    Of the small preset a few convolutions, as in hybrid vision transformers, which learn within
    minutes; without widths the plain linear map of ViT.
    """

    def __init__(self, config: RivalConfig) -> None:
        super().__init__()
        self.trunk = ConvEncoder(config.channels, config.widths, config.blocks)
        stride = PATCH // self.trunk.stride if config.widths else PATCH
        self.project = nn.Conv2d(self.trunk.dim, config.dim, stride, stride=stride)

    def forward(self, pixels: Tensor) -> Tensor:
        """(M, C, H, W) → (M, dim, H/16, W/16)."""
        return self.project(self.trunk(pixels - 0.5))  # type: ignore[no-any-return]


class Pieces(nn.Module):
    """Pieces → one vector each: the same convolutions, their whole map through one linear layer."""

    def __init__(self, config: RivalConfig, dim: int | None = None) -> None:
        super().__init__()
        self.trunk = ConvEncoder(config.channels, config.widths, config.blocks)
        side = config.piece_px // self.trunk.stride
        self.project = nn.Linear(self.trunk.dim * side * side, dim or config.dim)

    def maps(self, pieces: Tensor) -> Tensor:
        """(B, N, C, px, px) → (B, N, D, side, side)."""
        return self.trunk(pieces.flatten(0, 1) - 0.5).unflatten(0, pieces.shape[:2])  # type: ignore[no-any-return]

    def forward(self, pieces: Tensor) -> Tensor:
        """(B, N, C, px, px) → (B, N, dim)."""
        return self.vectors(self.maps(pieces))

    def vectors(self, maps: Tensor) -> Tensor:
        """(B, N, D, side, side) → (B, N, dim)."""
        return F.relu(self.project(maps.flatten(2)))


def trunk_of_relational(tensors: Mapping[str, Tensor], channels: int) -> dict[str, Tensor]:
    """The trunk of a relational network for 3 (colour) or 4 channels (colour, alpha).

    Its first layer sees colour, alpha, and colour in units of the puzzle; those units are taken
    as usual here. What this adds to every place alike, the normalisation after it takes away.
    """
    name = "encoder.stages.0.weight"
    inside = {key: tensor for key, tensor in tensors.items() if key.startswith("encoder.")}
    if name not in inside:
        return {}
    first = inside[name]  # (W, 7, 3, 3)
    plain, alpha, in_units = first[:, :3], first[:, 3:4], first[:, 4:] / USUAL_DEVIATION
    alpha = alpha - (0.5 * plain + USUAL_MEAN * in_units).sum(dim=1, keepdim=True)
    inside[name] = torch.cat([plain + in_units, alpha], dim=1)[:, :channels]
    return {key.removeprefix("encoder."): tensor for key, tensor in inside.items()}


def transformer(config: RivalConfig, layers: int | None = None, dim: int = 0) -> nn.Module:
    """Self-attention layers, normalised before each part."""
    return nn.TransformerEncoder(_layer(nn.TransformerEncoderLayer, config, dim),
                                 config.layers if layers is None else layers,
                                 enable_nested_tensor=False)  # fmt: skip


def decoder(config: RivalConfig) -> nn.TransformerDecoder:
    """Layers that attend to themselves and to what was encoded."""
    return nn.TransformerDecoder(_layer(nn.TransformerDecoderLayer, config), config.layers)


def _layer(kind: Any, config: RivalConfig, dim: int = 0) -> Any:
    dim = dim or config.dim
    return kind(dim, config.heads, 4 * dim, 0.0, F.gelu, batch_first=True, norm_first=True)


def waves(values: Tensor, dim: int, longest: float = 10_000.0) -> Tensor:
    """(…) numbers → (…, dim) sines and cosines of falling frequency."""
    half = dim // 2
    rates = torch.exp(-math.log(longest) * torch.arange(half, device=values.device) / half)
    angle = values[..., None].float() * rates  # (…, half)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def cell_waves(cells: Tensor, dim: int) -> Tensor:
    """(…, 2) rows and columns → (…, dim): half of the numbers for each."""
    return torch.cat([waves(cells[..., axis], dim // 2) for axis in (0, 1)], dim=-1)


def kept(num_times: int) -> Tensor:
    """(T,) ᾱ: which share of the variance is still signal at each time."""
    scale = 1000 / num_times
    return torch.cumprod(
        1 - torch.linspace(scale * FIRST, scale * LAST, num_times).clamp_max(0.999), 0
    )


def noised(clean: Tensor, signal: Tensor) -> tuple[Tensor, Tensor]:
    """``clean`` (M, …) with so much ``signal`` (M,) left, and the noise that was added."""
    signal = signal.view(-1, *[1] * (clean.ndim - 1))
    noise = torch.randn_like(clean)
    return signal.sqrt() * clean + (1 - signal).sqrt() * noise, noise


def walk_back(
    start: Tensor, signals: Tensor, steps: int, clean_at: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """From ``start`` to clean values in ``steps`` steps without new noise.

    clean_at  (x_t, t) → the clean values that the network sees behind x_t
    """
    times = torch.linspace(len(signals) - 1, 0, steps + 1).long()
    x_t, clean = start, start
    for now, then in pairwise(times):
        clean = clean_at(x_t, now)
        here, there = signals[now], signals[then]
        noise = (x_t - here.sqrt() * clean) / (1 - here).sqrt()
        x_t = there.sqrt() * clean + (1 - there).sqrt() * noise
    return clean
