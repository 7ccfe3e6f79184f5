"""EfficientNet-Lite0 as it was published, with random weights: convolutions and their norms."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from puzzleflow.models.lite0 import STAGES, STEM


def published_lite0(seed: int = 0) -> dict[str, Tensor]:
    """A state dict under the published names."""
    draw = torch.Generator().manual_seed(seed)
    tensors: dict[str, Tensor] = {}

    def layer(conv: str, norm: str, after: int, before: int, kernel: int) -> None:
        spread = (before * kernel**2) ** -0.5
        tensors[f"{conv}.weight"] = spread * torch.randn(
            after, before, kernel, kernel, generator=draw
        )
        tensors[f"{norm}.weight"] = 0.5 + torch.rand(after, generator=draw)
        tensors[f"{norm}.bias"] = torch.randn(after, generator=draw)
        tensors[f"{norm}.running_mean"] = torch.randn(after, generator=draw)
        tensors[f"{norm}.running_var"] = 0.5 + torch.rand(after, generator=draw)
        tensors[f"{norm}.num_batches_tracked"] = torch.tensor(7)

    layer("_conv_stem", "_bn0", STEM, 3, 3)
    channels, number = STEM, 0
    for kernel, _, expansion, width, blocks in STAGES:
        for _ in range(blocks):
            wide, name = channels * expansion, f"_blocks.{number}"
            if expansion > 1:
                layer(f"{name}._expand_conv", f"{name}._bn0", wide, channels, 1)
            layer(f"{name}._depthwise_conv", f"{name}._bn1", wide, 1, kernel)
            layer(f"{name}._project_conv", f"{name}._bn2", width, wide, 1)
            channels, number = width, number + 1
    return tensors


def write_published(path: Path) -> Path:
    torch.save(published_lite0(), path)
    return path
