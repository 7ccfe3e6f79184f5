"""A second look at the whole: how right an assembled picture looks.

Seams say which pieces touch, but hardly where the picture begins or which side is up. A picture
network that starts from ImageNet looks at the layout as one picture, its gaps filled, and gives
one number; compared between layouts of the same pieces, the higher one looks more right.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import InputError
from puzzleflow.core.records import Saved
from puzzleflow.models.lite0 import COARSEST, FINE, STAGES, Lite0, imagenet_lite0, read_lite0
from puzzleflow.models.pixels import shrunk

CELLS = 4  # rows and columns of what the score sees of either map
SIZES_PX = range(2 * COARSEST, 513, COARSEST)
VOID = 1e-4  # coverage below this tells no colour


@dataclass(frozen=True)
class SecondLookConfig(Saved):
    """Side of the picture that is looked at; saved beside the weights."""

    size_px: int = 128
    width: int = 64

    def __post_init__(self) -> None:
        if self.size_px not in SIZES_PX or not 1 <= self.width <= 1024:
            raise InputError(f"a second look of {self.size_px} px and width {self.width}")


class SecondLook(nn.Module):
    """Layouts drawn as pictures (M, 4, S, S), colour premultiplied → (M,) how right they look."""

    def __init__(self, config: SecondLookConfig | None = None, start: str | None = None) -> None:
        """``start``: EfficientNet-Lite0 weights, ``imagenet`` as installed or a .pth file."""
        super().__init__()
        self.config = config or SecondLookConfig()
        self.trunk = Lite0()
        if start is not None:
            path = imagenet_lite0() if start == "imagenet" else start
            self.trunk.load_state_dict(read_lite0(path))
        fine, coarse = STAGES[FINE][3], STAGES[-1][3]
        self.reduce = nn.ModuleList(nn.Conv2d(c, self.config.width, 1) for c in (fine, coarse))
        self.hidden = nn.Linear(2 * self.config.width * CELLS**2 + coarse, 128)
        self.score = nn.Linear(128, 1)

    def forward(self, drawn: Tensor) -> Tensor:
        maps = self.trunk(filled(drawn))  # (M, 112, S/16, S/16), (M, 320, S/32, S/32)
        places = [
            F.adaptive_avg_pool2d(F.relu(reduce(seen)), CELLS).flatten(1)  # (M, 16 W)
            for reduce, seen in zip(self.reduce, maps, strict=True)
        ]
        whole = torch.cat([*places, maps[-1].mean(dim=(2, 3))], dim=1)
        return self.score(F.relu(self.hidden(whole))).squeeze(1)  # type: ignore[no-any-return]


def filled(drawn: Tensor) -> Tensor:
    """(M, 4, S, S) premultiplied → (M, 3, S, S) whose void has the colours around it.

    Halved again and again, every void is covered at last; then each level fills what the next
    finer one lacks.
    """
    levels = [drawn]
    while levels[-1].shape[-1] % 2 == 0:
        levels.append(F.avg_pool2d(levels[-1], 2))
    mean = levels[-1].mean(dim=(2, 3), keepdim=True)  # (M, 4, 1, 1)
    colour = mean[:, :3] / mean[:, 3:].clamp_min(VOID)
    for number, level in reversed(list(enumerate(levels))):
        colour = F.interpolate(colour, size=level.shape[2:], mode="bilinear")
        coverage = level[:, 3:]
        known = level[:, :3] / coverage.clamp_min(VOID)
        trust = coverage if number == 0 else (4 * coverage).clamp(max=1)
        colour = torch.lerp(colour, known, trust)
    return colour


def drawn_layouts(pieces: Tensor, position_of: Tensor, shape: tuple[int, int], px: int) -> Tensor:
    """(N, 4, H, W) premultiplied pieces, (K, N) positions, -1 aside → (K, 4, px, px) layouts."""
    rows, cols = shape
    N, _, H, W = pieces.shape
    K = len(position_of)
    place = torch.where(position_of < 0, rows * cols, position_of)  # the last cell: aside
    piece_at = place.new_full((K, rows * cols + 1), N)  # N: nothing
    piece_at.scatter_(1, place, torch.arange(N).expand(K, N))
    lines = F.pad(pieces.permute(0, 2, 3, 1).flatten(2), (0, 0, 0, 0, 0, 1))  # (N + 1, H, 4W)
    first = H * piece_at[:, :-1].view(K, rows, 1, cols)
    chosen = first + torch.arange(H)[:, None]  # (K, rows, H, cols) lines of the canvas
    canvas = lines.flatten(0, 1)[chosen].view(K, rows * H, cols * W, 4).permute(0, 3, 1, 2)
    if min(canvas.shape[2:]) >= px:
        return shrunk(canvas, px)
    return F.interpolate(canvas, size=(px, px), mode="bilinear")
