"""JigsawGAN (Li, Liu, Wang, Liu & Zeng, TIP 2022): a list of permutations, and a picture drawn.

One branch puts the features of all pieces into one vector and chooses among a fixed list of
permutations; the other lays the features in the order found and draws the picture, which a
discriminator (LSGAN) compares with real ones, above all along the seams (SSIM). The list can hold
few of 9! layouts and none to speak of on 5×5: there a position is chosen for every piece.
``jigsawgan+`` does so on every grid, and sees alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray
from puzzleflow.models.conv_encoder import ResidualBlock
from puzzleflow.solvers.classical import Found
from puzzleflow.solvers.rivals.base import (
    Rival,
    RivalConfig,
    RivalSolver,
    assigned,
    pasted,
    shuffled_as,
)
from puzzleflow.solvers.rivals.encoder import Pieces

DRAWING = 0.05  # weight of each of the two losses of the drawn picture
LISTED_PIECES = 9  # larger puzzles have too many layouts for a list
WINDOW = 5  # pixels of SSIM
LEAST = 1e-6  # probability


@dataclass(frozen=True)
class JigsawGanConfig(RivalConfig):
    """permutations: on the list; hidden: of the classifier; drawn, residual: of the generator."""

    permutations: int = 1000
    hidden: int = 256
    drawn: int = 32
    residual: int = 2


class JigsawGan(Rival):
    """Classifier of permutations, generator and discriminator."""

    presets: ClassVar = {
        "small": JigsawGanConfig(dim=64),
        "paper": JigsawGanConfig(
            piece_px=64, widths=(64, 128, 256), dim=256, hidden=4096, drawn=256, residual=8
        ),
    }
    fixed_grids = True
    config: JigsawGanConfig

    def __init__(self, config: JigsawGanConfig) -> None:
        super().__init__(config)
        self.pieces = Pieces(config)
        self.orders = nn.ModuleDict()
        for text in config.grids:
            N = Grid.parse(text).num_pieces
            num_outputs = config.permutations if self.listed(N) else N * N
            self.orders[text] = nn.Sequential(
                nn.Linear(N * config.dim, config.hidden), nn.ReLU(),
                nn.Linear(config.hidden, num_outputs),
            )  # fmt: skip
        G = config.drawn
        self.generator = nn.Sequential(
            nn.Conv2d(self.pieces.trunk.dim, G, 1), nn.ReLU(),
            *(ResidualBlock(G) for _ in range(config.residual)),
            nn.ConvTranspose2d(G, G // 2, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(G // 2, 3, 4, 2, 1), nn.Sigmoid(),
        )  # fmt: skip
        self.discriminator = nn.Sequential(
            nn.Conv2d(3, G, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(G, 2 * G, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(2 * G, 1, 3, 1, 1),
        )  # fmt: skip

    def listed(self, num_pieces: int) -> bool:
        """Whether a permutation of the list is chosen, or a position for every piece."""
        return num_pieces <= LISTED_PIECES and not self.config.mended

    def chosen(self, vectors: Tensor, grid: Grid) -> Tensor:
        """(B, N, dim) → logits of the list (B, K), or of positions (B, N, P)."""
        logits = self.orders[str(grid)](vectors.flatten(1))
        N = grid.num_pieces
        return logits if self.listed(N) else logits.unflatten(1, (N, N))  # type: ignore[no-any-return]

    def places(self, logits: Tensor, grid: Grid) -> Tensor:
        """(B, N, P) probability of each position, on the list the sum over its permutations."""
        if not self.listed(grid.num_pieces):
            return logits.softmax(dim=2)
        listed = permutation_list(grid.num_pieces, self.config.permutations).to(logits.device)
        lies = F.one_hot(listed, grid.num_pieces).to(logits)  # (K, N, P)
        return torch.einsum("bk,knp->bnp", logits.softmax(dim=1), lies)

    def forward(self, pixels: Tensor, grid: Grid) -> Tensor:
        """(B, N, P) log-probabilities."""
        logits = self.chosen(self.pieces(self.seen(pixels)), grid)
        return self.places(logits, grid).clamp_min(LEAST).log()

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        N = grid.num_pieces
        if self.listed(N):  # every puzzle is shuffled by a permutation of the list
            listed = permutation_list(N, self.config.permutations).to(position_of)
            target = torch.randint(len(listed), (len(pixels),))
            pixels = shuffled_as(pixels, position_of, listed[target])
            position_of = listed[target]
        maps = self.pieces.maps(self.seen(pixels))  # (B, N, D, s, s)
        logits = self.chosen(self.pieces.vectors(maps), grid)
        if not self.listed(N):
            target = position_of.flatten()
        order = F.cross_entropy(logits.flatten(0, -2), target)
        places = self.places(logits, grid)
        adversarial, seams = self.drawing(maps, places, pixels, position_of, grid)
        right = (places.argmax(dim=2) == position_of).float().mean()
        total = order + DRAWING * (adversarial + seams)
        return {"loss": total, "order": order, "right": right, "gan": adversarial, "seams": seams}

    def drawing(
        self, maps: Tensor, places: Tensor, pixels: Tensor, position_of: Tensor, grid: Grid
    ) -> tuple[Tensor, Tensor]:
        """The losses of generator and discriminator together, and of the seams."""
        laid = torch.einsum("bnp,bndhw->bpdhw", places, maps)  # features where they belong
        drawn = self.generator(pasted(laid, grid))  # (B, 3, H, W)
        piece_at = position_of.argsort(dim=1)
        rows = torch.arange(len(pixels))[:, None]
        real = F.interpolate(pasted(pixels[rows, piece_at, :3], grid), drawn.shape[2:], mode="area")
        ends = [self.discriminator(real), self.discriminator(drawn.detach())]
        frozen = {name: p.detach() for name, p in self.discriminator.named_parameters()}
        fooled: Any = torch.func.functional_call(self.discriminator, frozen, (drawn,))
        adversarial = (ends[0] - 1).square().mean() + ends[1].square().mean()
        likeness = ssim(drawn, real)[..., seam_band(drawn.shape[2:], grid)]
        return adversarial + (fooled - 1).square().mean(), 1 - likeness.mean()

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        return assigned(encoded.double().numpy(), allowed)


def permutation_list(num_pieces: int, count: int) -> Tensor:
    """(K, N) the list, always the same; random permutations differ in all but one place."""
    rng = child_rng(0, "jigsawgan", num_pieces)
    return torch.from_numpy(np.stack([rng.permutation(num_pieces) for _ in range(count)]))


def ssim(first: Tensor, second: Tensor) -> Tensor:
    """(B, C, H, W) structural similarity around every pixel."""

    def mean(values: Tensor) -> Tensor:
        return F.avg_pool2d(values, WINDOW, 1, WINDOW // 2)

    one, two = mean(first), mean(second)
    covariance = mean(first * second) - one * two
    spread = mean(first**2) - one**2 + mean(second**2) - two**2
    likeness = (2 * one * two + 1e-4) * (2 * covariance + 9e-4)
    return likeness / ((one**2 + two**2 + 1e-4) * (spread + 9e-4))


def seam_band(shape: tuple[int, ...], grid: Grid) -> Tensor:
    """(H, W) True within an eighth of a cell of a seam; all of a single cell."""
    near = []
    for size, count in zip(shape, grid.shape, strict=True):
        at = torch.arange(size) * count / size  # in cells
        beside = (at - at.round()).abs() < 1 / 8
        near.append(beside & (at.round() > 0) & (at.round() < count))
    band = near[0][:, None] | near[1][None]
    return band if band.any() else torch.ones_like(band)


class JigsawGanSolver(RivalSolver, name="jigsawgan", rival=JigsawGan):
    """JigsawGAN."""


class JigsawGanPlusSolver(JigsawGanSolver, name="jigsawgan+"):
    """JigsawGAN with a position for every piece instead of the list, and alpha."""
