"""From stored pieces to what networks see: the one place where pixels become tensors."""

from __future__ import annotations

from math import gcd

import torch
import torch.nn.functional as F
from torch import Tensor

from puzzleflow.core.types import ByteArray

FEW_BINS = 8  # kinds of bins that are averaged one by one


def to_tensor(pieces: ByteArray, size_px: int) -> Tensor:
    """(…, H, W, 4) uint8 → (…, 4, size, size) float in [0, 1], colour premultiplied by alpha.

    Premultiplied colours average correctly: void never bleeds into the picture.
    """
    pixels = torch.from_numpy(pieces.copy()).float().div_(255)
    lead, (height, width) = pixels.shape[:-3], pixels.shape[-3:-1]
    pixels[..., :3] *= pixels[..., 3:]
    pixels = pixels.flatten(0, -4).permute(0, 3, 1, 2)  # (M, 4, H, W), channels last in memory
    if height >= size_px and width >= size_px:
        pixels = shrunk(pixels, size_px)
    else:
        pixels = F.interpolate(pixels, size=(size_px, size_px), mode="bilinear", antialias=True)
    return pixels.reshape(*lead, 4, size_px, size_px)


def shrunk(pixels: Tensor, size_px: int) -> Tensor:
    """(M, C, H, W) no smaller than ``size_px`` → (M, C, size, size), by area.

    The same as ``F.interpolate``, several times faster where sizes have a simple ratio and
    channels come last in memory.
    """
    height, width = pixels.shape[2:]
    if max(size_px // gcd(size_px, height), size_px // gcd(size_px, width)) > FEW_BINS:
        return F.interpolate(pixels, size=(size_px, size_px), mode="area")
    return _shrunk_along(_shrunk_along(pixels, 2, size_px), 3, size_px)


def _shrunk_along(pixels: Tensor, dim: int, size_px: int) -> Tensor:
    """Bins repeat: of every ``before`` lines the same ``after`` means are taken."""
    num_groups = gcd(pixels.shape[dim], size_px)
    before, after = pixels.shape[dim] // num_groups, size_px // num_groups
    lines = pixels.unflatten(dim, (num_groups, before)).unbind(dim + 1)  # type: ignore[no-untyped-call]
    means = []
    for number in range(after):
        first, last = number * before // after, -(-(number + 1) * before // after)
        means.append(sum(lines[first + 1 : last], start=lines[first]) / (last - first))
    return torch.stack(means, dim + 1).flatten(dim, dim + 1)


def standardised(pixels: Tensor) -> Tensor:
    """(B, N, 4, H, W) → (B, N, 7, H, W): colour, alpha, and colour in units of the puzzle.

    The last three channels are centred and scaled by mean and deviation over all
    material of the puzzle, so that a pale print and a dark panel look alike to the
    network; the first three keep the colours as they are.
    """
    colour, alpha = pixels[:, :, :3], pixels[:, :, 3:]
    weight = alpha.sum(dim=(1, 3, 4), keepdim=True).clamp_min(1.0)  # (B, 1, 1, 1, 1)
    mean = colour.sum(dim=(1, 3, 4), keepdim=True) / weight  # (B, 1, 3, 1, 1)
    centred = colour - mean * alpha  # still premultiplied
    deviation = (centred.square().sum(dim=(1, 2, 3, 4), keepdim=True) / (3 * weight)).sqrt()
    return torch.cat([colour - 0.5 * alpha, alpha, centred / (deviation + 0.02)], dim=2)
