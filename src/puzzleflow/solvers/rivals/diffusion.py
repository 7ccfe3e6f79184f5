"""Gaussian diffusion on a linear schedule, and its deterministic way back (DDIM)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

FIRST, LAST = 1e-4, 0.02  # variances added by the first and by the last of 1000 steps


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
