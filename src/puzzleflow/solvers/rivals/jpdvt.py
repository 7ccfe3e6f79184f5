"""JPDVT (Liu et al., CVPR 2024): a diffusion transformer denoises what patches know of their cell.

Every patch of every piece carries the sines and cosines (8 numbers) of the cell where its piece
belongs. They are drowned in noise, and a DiT (adaLN-zero), which sees the patches, predicts that
noise. Solving starts from noise alone; the mean over the patches of a piece is compared with the
clean numbers of every cell. Published: one permutation for a whole batch, a place in the shuffled
picture for every patch, greedy assignment, alpha dropped; ``jpdvt+`` shuffles every puzzle for
itself, forgets the order of the pieces, keeps alpha and assigns by the Hungarian method. Pinned
pieces keep their clean numbers at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import BoolArray
from puzzleflow.solvers.classical import Found
from puzzleflow.solvers.rivals.base import (
    Rival,
    RivalConfig,
    RivalSolver,
    assigned,
    cells,
    pinned_pieces,
    shuffled_as,
)
from puzzleflow.solvers.rivals.encoder import (
    PATCH,
    Patches,
    cell_waves,
    kept,
    noised,
    walk_back,
    waves,
)

CODE = 8  # numbers that stand for a cell
SHARPNESS = 4.0  # of probabilities, per unit of distance


@dataclass(frozen=True)
class JpdvtConfig(RivalConfig):
    """times: of the diffusion; steps: back; states: noisy states a puzzle and training step."""

    times: int = 1000
    steps: int = 25
    states: int = 2


class DitBlock(nn.Module):
    """Attention and a two-layer network, scaled, shifted and gated by the time (adaLN-zero)."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(dim, elementwise_affine=False) for _ in range(2))
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.modulate = nn.Linear(dim, 6 * dim)
        nn.init.zeros_(self.modulate.weight)
        nn.init.zeros_(self.modulate.bias)

    def forward(self, tokens: Tensor, time: Tensor) -> Tensor:
        """(M, S, dim) tokens, (M, dim) time."""
        shift, scale, gate, shift2, scale2, gate2 = self.modulate(F.silu(time))[:, None].chunk(
            6, dim=2
        )  # (M, 1, dim) each
        calm = self.norms[0](tokens) * (1 + scale) + shift
        tokens = tokens + gate * self.attention(calm, calm, calm, need_weights=False)[0]
        calm = self.norms[1](tokens) * (1 + scale2) + shift2
        return tokens + gate2 * self.feed(calm)  # type: ignore[no-any-return]


class Jpdvt(Rival):
    """Codes of cells denoised by a diffusion transformer."""

    presets: ClassVar = {
        "small": JpdvtConfig(dim=112),
        "paper": JpdvtConfig(
            piece_px=96, widths=(), blocks=(), dim=768, layers=12, heads=12, steps=250
        ),
    }
    config: JpdvtConfig
    signal: Tensor

    def __init__(self, config: JpdvtConfig) -> None:
        super().__init__(config)
        self.patches = Patches(config)
        num_patches = (config.piece_px // PATCH) ** 2
        self.inside = nn.Parameter(0.02 * torch.randn(num_patches, config.dim))
        self.code = nn.Linear(CODE, config.dim)
        self.time = nn.Sequential(
            nn.Linear(config.dim, config.dim), nn.SiLU(), nn.Linear(config.dim, config.dim)
        )
        self.blocks = nn.ModuleList(
            DitBlock(config.dim, config.heads) for _ in range(config.layers)
        )
        self.out = nn.Sequential(nn.LayerNorm(config.dim), nn.Linear(config.dim, 64), nn.GELU(),
                                 nn.Linear(64, CODE))  # fmt: skip
        self.register_buffer("signal", kept(config.times), persistent=False)

    def forward(self, pixels: Tensor, grid: Grid) -> Tensor:
        """(B, N, T, dim) the patches of all pieces."""
        B, N = pixels.shape[:2]
        patches = self.patches(self.seen(pixels).flatten(0, 1)).flatten(2).mT  # (B·N, T, dim)
        tokens = (patches + self.inside).unflatten(0, (B, N))
        if not self.config.mended:  # where the piece lies in the shuffled picture
            tokens = tokens + cell_waves(cells(grid), self.config.dim).to(tokens)[:, None]
        return tokens  # type: ignore[no-any-return]

    def noise_at(self, patches: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
        """Patches (M, N, T, dim), codes (M, N, T, 8), times (M,) → the noise in the codes."""
        tokens = (patches + self.code(x_t)).flatten(1, 2)  # (M, N·T, dim)
        time = self.time(waves(t, self.config.dim))
        for block in self.blocks:
            tokens = block(tokens, time)
        return self.out(tokens).unflatten(1, patches.shape[1:3])  # type: ignore[no-any-return]

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        if not self.config.mended:  # one permutation for all puzzles
            wanted = position_of[:1].expand_as(position_of)
            pixels, position_of = shuffled_as(pixels, position_of, wanted), wanted
        K = self.config.states
        patches = self(pixels, grid).repeat_interleave(K, dim=0)  # (B·K, N, T, dim)
        codes = cell_codes(grid).to(patches)[position_of].repeat_interleave(K, dim=0)
        clean = codes[:, :, None].expand(-1, -1, patches.shape[2], -1)  # (B·K, N, T, 8)
        t = torch.randint(self.config.times, (len(clean),))
        x_t, noise = noised(clean, self.signal[t])
        return {"loss": F.mse_loss(self.noise_at(patches, x_t, t), noise)}

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        codes = cell_codes(grid)  # (P, 8)
        pieces, positions = pinned_pieces(allowed)

        def clean_at(x_t: Tensor, t: Tensor) -> Tensor:
            here = self.signal[t]
            noise = self.noise_at(encoded[None], x_t[None], t[None])[0]
            clean = ((x_t - (1 - here).sqrt() * noise) / here.sqrt()).clamp(-1, 1)
            clean[pieces] = codes[positions][:, None]
            return clean

        generator = torch.Generator().manual_seed(child_seed(seed, "jpdvt") >> 1)
        start = torch.randn(*encoded.shape[:2], CODE, generator=generator)
        found = walk_back(start, self.signal, self.config.steps, clean_at).mean(dim=1)  # (N, 8)
        scores = -SHARPNESS * torch.cdist(found, codes, p=1).double().numpy()
        return assigned(scores, allowed, greedy=not self.config.mended)


def cell_codes(grid: Grid) -> Tensor:
    """(P, 8) the clean numbers of every cell."""
    return cell_waves(cells(grid), CODE)


class JpdvtSolver(RivalSolver, name="jpdvt", rival=Jpdvt):
    """JPDVT."""


class JpdvtPlusSolver(JpdvtSolver, name="jpdvt+"):
    """JPDVT with a permutation a puzzle, no order of pieces, alpha and the Hungarian method."""
