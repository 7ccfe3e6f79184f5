"""PuzLM (Elkin, Shahar & Ben-Shahar, arXiv 2511.06315): a puzzle is a text, its layout another.

Short patches along the four borders of a piece become words of a codebook (k-means); an
encoder–decoder transformer reads the words of all pieces and writes the position of one piece
after another. Between encoder and codebook goes no gradient: the network never sees a pixel.
Published: the patches lie on the border of the bounding box, which erosion leaves void;
``puzlm+`` takes them along the outline. The decoder is shown the words of the piece that it is
asked about (its mean), which it would otherwise have to look up by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray
from puzzleflow.models.edge_embedding import canonical
from puzzleflow.solvers.classical import Found
from puzzleflow.solvers.rivals.base import Rival, RivalConfig, RivalSolver, cells
from puzzleflow.solvers.rivals.encoder import decoder, transformer

MOST = 8  # rows and columns of a grid
POOLED = 4  # a patch is reduced to 4 × 4 pixels before it becomes a word
SEEN_PATCHES = 400_000  # after so many the codebook stands


@dataclass(frozen=True)
class PuzlmConfig(RivalConfig):
    """words: in the codebook; segments: patches along a side; depth_px: of a patch, inward."""

    words: int = 512
    segments: int = 2
    depth_px: int = 8


class Puzlm(Rival):
    """From words of borders to positions, one by one."""

    presets: ClassVar = {
        "small": PuzlmConfig(layers=3),
        "paper": PuzlmConfig(
            piece_px=96, dim=768, layers=6, heads=12, words=4096, segments=4, depth_px=16
        ),
    }
    config: PuzlmConfig
    codebook: Tensor
    used: Tensor

    def __init__(self, config: PuzlmConfig) -> None:
        super().__init__(config)
        size, dim = 3 * POOLED**2, config.dim
        self.register_buffer("codebook", torch.zeros(config.words, size))
        self.register_buffer("used", torch.zeros(config.words, dtype=torch.long))
        self.words = nn.Linear(size, dim)
        self.inside = nn.Parameter(0.5 * torch.randn(4 * config.segments, dim))
        self.order = nn.Parameter(0.5 * torch.randn(MOST**2, dim))
        self.cells = nn.Parameter(0.5 * torch.randn(MOST**2 + 1, dim))  # the last: nothing yet
        self.reader = transformer(config)
        self.writer = decoder(config)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, dim, bias=False)

    def check(self, grid: Grid) -> None:
        if max(grid.shape) > MOST:
            raise CannotSolve(f"its vocabulary has {MOST}x{MOST} positions, too few for {grid}")

    def borders(self, pixels: Tensor) -> Tensor:
        """(B, N, 4, px, px) → (B, N, L, V): patches along right, lower, left and upper side."""
        B, N, _, px, _ = pixels.shape
        depth, flat = self.config.depth_px, pixels.flatten(0, 1)  # (M, 4, px, px)
        strips = []
        for side in Direction:
            turned = canonical(flat, side)  # the side is on the right
            begin = torch.zeros(len(flat), px, dtype=torch.long, device=flat.device)
            if self.config.mended:  # where the material begins, row by row
                begin = (turned[:, 3].flip(-1) > 0.5).int().argmax(dim=-1)
            columns = px - 1 - begin[..., None] - torch.arange(depth, device=flat.device)
            columns = columns.clamp_min(0)[:, None].expand(-1, 3, -1, -1)  # (M, 3, px, depth)
            strip = turned[:, :3].gather(3, columns)
            shape = (POOLED * self.config.segments, POOLED)
            small = F.adaptive_avg_pool2d(strip, shape).view(B * N, 3, -1, POOLED, POOLED)
            strips.append(small.transpose(1, 2).flatten(2))  # (M, segments, V)
        return torch.cat(strips, dim=1).view(B, N, 4 * self.config.segments, -1)

    def quantised(self, patches: Tensor) -> Tensor:
        """(…, V) → the word of the codebook nearest to each; while training, k-means goes on."""
        flat = patches.flatten(0, -2).detach()
        word = torch.cdist(flat, self.codebook).argmin(dim=1)
        if self.training:
            self._learn_words(flat, word)
        return self.codebook[word].view_as(patches)

    @torch.no_grad()
    def _learn_words(self, flat: Tensor, word: Tensor) -> None:
        """Means of the patches of every word; words that nobody uses become patches."""
        codebook, used = self.codebook, self.used
        if int(used.sum()) > SEEN_PATCHES:
            return
        count = torch.bincount(word, minlength=len(used))
        sums = torch.zeros_like(codebook).index_add_(0, word, flat)
        hit = count > 0
        share = (count / (used + count).clamp_min(1))[hit, None].clamp_min(0.05)
        codebook[hit] = torch.lerp(codebook[hit], sums[hit] / count[hit, None], share)
        used += count
        idle = (used == 0).nonzero().flatten()
        codebook[idle] = flat[torch.randint(len(flat), (len(idle),), device=flat.device)]

    def forward(self, pixels: Tensor, grid: Grid) -> Tensor:
        """(B, N, L, dim): the words of all pieces, read together."""
        told = self.words(self.quantised(self.borders(pixels)))  # (B, N, L, dim)
        told = told + self.inside + self.order[: grid.num_pieces, None]
        return self.reader(told.flatten(1, 2)).view_as(told)  # type: ignore[no-any-return]

    def written(self, memory: Tensor, before: Tensor, grid: Grid) -> Tensor:
        """What was read (B, N, L, dim), positions written so far (B, k) → (B, k + 1, P) logits."""
        B, k = before.shape
        numbers = (cells(grid) @ torch.tensor([float(MOST), 1.0])).long().to(before.device)
        start = numbers.new_full((B, 1), MOST**2)
        said = self.cells[torch.cat([start, numbers[before]], dim=1)]  # (B, k + 1, dim)
        asked = memory[:, : k + 1].mean(dim=2) + self.order[: k + 1]
        ahead = torch.ones(k + 1, k + 1, dtype=torch.bool, device=said.device).triu(1)
        state = self.writer(said + asked, memory.flatten(1, 2), tgt_mask=ahead)
        return self.out(self.norm(state)) @ self.cells[numbers].mT / self.config.dim**0.5  # type: ignore[no-any-return]

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        logits = self.written(self(pixels, grid), position_of[:, :-1], grid)  # (B, N, P)
        taken = F.one_hot(position_of, grid.num_pieces).cumsum(dim=1)  # (B, N, P)
        taken = F.pad(taken[:, :-1], (0, 0, 1, 0)) > 0  # written before
        logits = logits.masked_fill(taken, -1e4)
        return {
            "loss": F.cross_entropy(logits.flatten(0, 1), position_of.flatten()),
            "first": F.cross_entropy(logits[:, 0], position_of[:, 0]),
            "right": (logits[:, 0].argmax(dim=1) == position_of[:, 0]).float().mean(),
        }

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        N = grid.num_pieces
        prob, free = np.zeros((N, N)), np.ones(N, dtype=bool)
        reserved = allowed & (allowed.sum(axis=1) == 1)[:, None]
        before = torch.zeros(1, 0, dtype=torch.long)
        for piece in range(N):
            others = np.delete(reserved, piece, axis=0).any(axis=0)
            may = free & allowed[piece] & ~others
            may = may if may.any() else free
            logits = self.written(encoded[None], before, grid)[0, -1].double().numpy()
            if not np.isfinite(logits).all():
                raise CannotSolve("its network gives numbers that are not finite")
            raised = np.where(may, np.exp(logits - logits[may].max()), 0.0)
            prob[piece] = raised / raised.sum()
            position = int(prob[piece].argmax())
            free[position] = False
            before = torch.cat([before, torch.tensor([[position]])], dim=1)
        return Found(before[0].numpy(), position_prob=prob)


class PuzlmSolver(RivalSolver, name="puzlm", rival=Puzlm):
    """PuzLM."""


class PuzlmPlusSolver(PuzlmSolver, name="puzlm+"):
    """PuzLM with words along the outline."""
