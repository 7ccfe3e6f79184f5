"""From stored pieces to what networks see: the one place where pixels become tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from puzzleflow.core.types import ByteArray


def to_tensor(pieces: ByteArray, size_px: int) -> Tensor:
    """(…, H, W, 4) uint8 → (…, 4, size, size) float in [0, 1], colour premultiplied by alpha.

    Premultiplied colours average correctly: void never bleeds into the picture.
    """
    pixels = torch.from_numpy(pieces.copy()).float().div_(255)
    lead, (height, width) = pixels.shape[:-3], pixels.shape[-3:-1]
    pixels[..., :3] *= pixels[..., 3:]
    pixels = pixels.flatten(0, -4).permute(0, 3, 1, 2)  # (M, 4, H, W), channels last in memory
    if (height, width) != (size_px, size_px):
        shrinks = height >= size_px and width >= size_px
        pixels = (
            F.interpolate(pixels, size=(size_px, size_px), mode="area")
            if shrinks
            else F.interpolate(pixels, size=(size_px, size_px), mode="bilinear", antialias=True)
        )
    return pixels.reshape(*lead, 4, size_px, size_px)


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
