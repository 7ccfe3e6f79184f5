"""Sides seen closely: the outermost pixels of a piece, at twice the size that the encoder sees."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from puzzleflow.core.grid import Direction
from puzzleflow.models.pixels import standardised

DEPTH = 6  # pixels inward from the outline
FEATURES = 7 * DEPTH + 2  # of a line: its pixels, how wide the void before them is, any material
WIDTHS = (64, 96, 128)  # of the convolutions along a side, each halving its length
STRIDE = 2 ** len(WIDTHS)


def outline_pixels(alpha: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(M, S, S) alpha → where the outermost pixels of every side are, and what lies before them.

    index  (M, 4, DEPTH, S) into the S·S pixels, by depth and line; lines of right and left
           sides run from top to bottom, of down and up sides from left to right
    void   (M, 4, S) share of the piece
    solid  (M, 4, S) 1 where the line has material
    """
    S = alpha.shape[-1]
    near = torch.arange(S, 0, -1, device=alpha.device, dtype=alpha.dtype)  # S at the border … 1
    opaque = (alpha > 0.5).to(alpha.dtype)
    far = near.flip(0)
    last = [(opaque * far).amax(2), (opaque * far[:, None]).amax(1)]  # right, down
    first = [(opaque * near).amax(2), (opaque * near[:, None]).amax(1)]  # left, up
    nearness = torch.stack([*last, *first], dim=1)  # (M, 4, S): S at the border … 1, 0: none
    solid = (nearness > 0).to(alpha.dtype)
    void = (S - nearness) * solid
    inward = void.long()[:, :, None] + torch.arange(DEPTH, device=alpha.device)[:, None]
    inward = inward.clamp_max(S - 1)  # (M, 4, DEPTH, S)
    line = torch.arange(S, device=alpha.device)
    right, down, left, up = inward.unbind(dim=1)
    index = torch.stack(
        [line * S + S - 1 - right, (S - 1 - down) * S + line, line * S + left, up * S + line], dim=1
    )
    return index, void / S, solid


class OutlineDescriptor(nn.Module):
    """Pieces (B, N, 4, S, S), premultiplied → (B, N, 4, T·Ds) descriptors of their sides.

    Entry k of a right side faces entry k of the left side beyond the seam, and so down and up.
    """

    def __init__(self, side_dim: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = FEATURES
        for width, kernel in zip(WIDTHS, (5, 5, 3), strict=True):
            layers += [nn.Conv1d(channels, width, kernel, 2, kernel // 2), nn.GELU()]
            channels = width
        self.along = nn.Sequential(*layers)
        self.heads = nn.ModuleList(nn.Conv1d(channels, side_dim, 1) for _ in Direction)

    def forward(self, pixels: Tensor) -> Tensor:
        B, N, _, S, _ = pixels.shape
        index, void, solid = outline_pixels(pixels[:, :, 3].flatten(0, 1))
        index = index.view(B, N, 1, -1).expand(-1, -1, 4, -1)  # (B, N, 4 channels, 4·DEPTH·S)
        strips = pixels.flatten(3).gather(3, index).view(B, N, 4, -1, S)  # (B, N, 4, 4·DEPTH, S)
        lines = standardised(strips).view(B * N, 7, len(Direction), DEPTH, S)
        lines = lines.transpose(1, 2).flatten(2, 3)  # (B·N, 4, 7·DEPTH, S)
        lines = torch.cat([lines, void[:, :, None], solid[:, :, None]], dim=2)
        lines = lines * solid[:, :, None]
        seen = self.along(lines.flatten(0, 1)).unflatten(0, (B * N, -1))  # (B·N, 4, W, T)
        sides = [head(seen[:, d]) for d, head in enumerate(self.heads)]
        return torch.stack(sides, dim=1).mT.reshape(B, N, len(Direction), -1)
