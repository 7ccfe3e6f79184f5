"""SD²RL (Song et al., AAAI 2023): Siamese discriminators score seams, a deep Q-network swaps.

Two networks, one for horizontal and one for vertical seams, say whether two pieces are
neighbours. The state is a whole layout, seen as the piece in every cell and the support that each
piece has, or would have elsewhere, from the four neighbours; an action swaps two cells, and its
reward is the change in right seams. Solving swaps by the largest Q from several random layouts and
keeps the one whose seams score best. Any grid; pinned cells are never swapped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray
from puzzleflow.solvers.classical import Found
from puzzleflow.solvers.rivals.base import (
    Rival,
    RivalConfig,
    RivalSolver,
    any_layout,
    any_pairs,
    cells,
    swapped,
)
from puzzleflow.solvers.rivals.encoder import Pieces, transformer

AXES = (Direction.RIGHT, Direction.DOWN)
DISCOUNT = 0.9
EXPLORING = 0.5  # share of random actions in training


@dataclass(frozen=True)
class Sd2rlConfig(RivalConfig):
    """hidden: of the discriminators; state_dim: of the Q-network; starts, swaps: of solving."""

    hidden: int = 128
    state_dim: int = 96
    starts: int = 4
    swaps: float = 1.5  # for every piece


class Sd2rl(Rival):
    """Discriminators of seams and a Q-network over swaps."""

    presets: ClassVar = {
        "small": Sd2rlConfig(layers=3),
        "paper": Sd2rlConfig(
            piece_px=96, widths=(64, 128, 256, 512), blocks=(1, 1, 1, 1), dim=512, layers=4,
            heads=8, hidden=512, state_dim=256,
        ),
    }  # fmt: skip
    config: Sd2rlConfig

    def __init__(self, config: Sd2rlConfig) -> None:
        super().__init__(config)
        dim, hidden = config.dim, config.hidden
        self.pieces = Pieces(config)
        self.first = nn.ModuleList(nn.Linear(dim, hidden) for _ in AXES)
        self.second = nn.ModuleList(nn.Linear(dim, hidden) for _ in AXES)
        self.fits = nn.ModuleList(
            nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
            for _ in AXES
        )
        self.gain = nn.Sequential(nn.Linear(16, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.state = nn.Linear(dim + 4 + 4, config.state_dim)
        self.layers = transformer(config, dim=config.state_dim)
        self.one = nn.Linear(config.state_dim, config.state_dim)
        self.other = nn.Linear(config.state_dim, config.state_dim)

    def seams(self, vectors: Tensor) -> Tensor:
        """(B, 2, N, N) logits: piece j lies right of, below piece i."""
        pairs = [
            fits(first(vectors)[:, :, None] + second(vectors)[:, None]).squeeze(3)
            for first, second, fits in zip(self.first, self.second, self.fits, strict=True)
        ]
        return torch.stack(pairs, dim=1)

    def values(self, vectors: Tensor, seams: Tensor, piece_at: Tensor, grid: Grid) -> Tensor:
        """Layouts piece_at (M, P) → Q of swapping any two cells (M, P, P)."""
        support = _support(seams, piece_at, grid)  # (M, P, P, 4)
        now = support.diagonal(dim1=1, dim2=2).mT  # (M, P, 4)
        shape = support.shape
        moves = [support, support.transpose(1, 2), now[:, :, None].expand(shape),
                 now[:, None].expand(shape)]  # fmt: skip
        gain = self.gain(torch.cat(moves, dim=3)).squeeze(3)  # (M, P, P)
        size = torch.tensor(grid.shape, device=vectors.device)
        at = cells(grid).to(vectors) / size
        frame = torch.cat([at, 1 - at - 1 / size], dim=1).expand(len(piece_at), -1, -1)  # (M, P, 4)
        row = torch.arange(len(piece_at), device=piece_at.device)[:, None]
        states = self.layers(self.state(torch.cat([vectors[row, piece_at], now, frame], dim=2)))
        value = gain + self.one(states) @ self.other(states).mT / self.config.state_dim**0.5
        return value + value.mT  # type: ignore[no-any-return]

    def loss(self, pixels: Tensor, position_of: Tensor, grid: Grid) -> dict[str, Tensor]:
        vectors = self(pixels, grid)
        seams = self.seams(vectors)
        true = torch.stack([_neighbours(position_of, grid, axis) for axis in AXES], dim=1).float()
        many = grid.num_pieces - 1  # strangers to a neighbour
        discriminated = F.binary_cross_entropy_with_logits(
            seams, true, pos_weight=torch.tensor(float(max(1, many)) ** 0.5)
        )
        told = vectors.detach(), seams.detach()
        temporal = self._temporal(*told, position_of, grid)
        best = seams[:, 0].argmax(dim=2)
        has = true[:, 0].any(dim=2)
        first = true[:, 0].gather(2, best[:, :, None]).squeeze(2)[has].mean()
        loss = discriminated + 0.2 * temporal
        return {"loss": loss, "seams": discriminated, "q": temporal, "first": first}

    def _temporal(self, vectors: Tensor, seams: Tensor, position_of: Tensor, grid: Grid) -> Tensor:
        """The temporal difference of one swap in a layout that is more or less scrambled."""
        (B, N), row = position_of.shape, torch.arange(len(position_of))
        piece_at = position_of.argsort(dim=1)
        if N < 2:
            return vectors.sum() * 0.0
        for step in range(N):  # each puzzle is scrambled by up to N swaps
            pair = any_pairs(piece_at)
            stirred = torch.rand(B) < (row + 1) / B if step else torch.ones(B, dtype=torch.bool)
            piece_at = torch.where(stirred[:, None], swapped(piece_at, pair), piece_at)
        value = self.values(vectors, seams, piece_at, grid)  # (B, N, N)
        legal = ~torch.eye(N, dtype=torch.bool)
        best = value.detach().masked_fill(~legal, -torch.inf).flatten(1).argmax(dim=1)
        pair = torch.stack([best // N, best % N], dim=1)
        pair = torch.where((torch.rand(B) < EXPLORING)[:, None], any_pairs(piece_at), pair)
        after = swapped(piece_at, pair)
        before_right, after_right = (_right(p, position_of, grid) for p in (piece_at, after))
        with torch.no_grad():
            ahead = self.values(vectors, seams, after, grid)
            ahead = ahead.masked_fill(~legal, -torch.inf).flatten(1).amax(dim=1)
            solved = after.argsort(dim=1).eq(position_of).all(dim=1)
            wanted = after_right - before_right + DISCOUNT * torch.where(solved, 0.0, ahead)
        return F.smooth_l1_loss(value[row, pair[:, 0], pair[:, 1]], wanted)

    def layout(self, encoded: Tensor, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        K, N = self.config.starts, grid.num_pieces
        rng = child_rng(seed, "sd2rl")
        piece_at = torch.from_numpy(np.stack([invert(any_layout(allowed, rng)) for _ in range(K)]))
        vectors, seams = encoded.expand(K, -1, -1), self.seams(encoded[None]).expand(K, -1, -1, -1)
        may = torch.from_numpy(allowed.T.copy())  # (P, N) position × piece
        tried: list[set[tuple[int, ...]]] = [set() for _ in range(K)]
        best, best_score = piece_at.clone(), _score(seams, piece_at, grid)
        for _ in range(round(self.config.swaps * N)):
            value = self.values(vectors, seams, piece_at, grid)
            moved = may[:, piece_at].permute(1, 0, 2)  # (K, P, Q): what lies at Q may lie at P
            legal = (moved & moved.mT).triu(1)  # each pair once
            if not legal.any():
                break
            order = value.masked_fill(~legal, -torch.inf).flatten(1)
            for k in range(K):
                tried[k].add(tuple(piece_at[k].tolist()))
                for choice in order[k].topk(min(3, N * N)).indices.tolist():
                    if not legal[k].flatten()[choice]:
                        break
                    pair = torch.tensor([[choice // N, choice % N]])
                    (then,) = swapped(piece_at[k : k + 1], pair)
                    if tuple(then.tolist()) not in tried[k]:
                        piece_at[k] = then
                        break
            score = _score(seams, piece_at, grid)
            better = score > best_score
            best[better], best_score[better] = piece_at[better], score[better]
        found = best[best_score.argmax()].numpy()
        return Found(invert(found))


def _support(seams: Tensor, piece_at: Tensor, grid: Grid) -> Tensor:
    """(M, P, P, 4): how the piece of one cell would fit the four neighbours of another."""
    row = torch.arange(len(piece_at), device=piece_at.device)[:, None, None]
    support = seams.new_zeros(*piece_at.shape, grid.num_pieces, 4)
    for axis, direction in enumerate(AXES):
        here, there = torch.from_numpy(grid.neighbours(direction).copy()).to(piece_at).T
        fit = seams[:, axis][row, piece_at[:, :, None], piece_at[:, None]].tanh()  # (M, P, P)
        support[:, :, here, direction] = fit[:, :, there]
        support[:, :, there, direction.opposite] = fit.mT[:, :, here]
    return support


def _neighbours(position_of: Tensor, grid: Grid, direction: Direction) -> Tensor:
    """(B, N, N) True where piece j lies in ``direction`` of piece i."""
    touching = torch.zeros(grid.num_pieces, grid.num_pieces, dtype=torch.bool)
    here, there = torch.from_numpy(grid.neighbours(direction).copy()).T
    touching[here, there] = True
    return touching.to(position_of.device)[position_of[:, :, None], position_of[:, None]]


def _right(piece_at: Tensor, position_of: Tensor, grid: Grid) -> Tensor:
    """(M,) how many seams of the layouts are true ones."""
    total = torch.zeros(len(piece_at), device=piece_at.device)
    row = torch.arange(len(piece_at))[:, None]
    for direction in AXES:
        here, there = torch.from_numpy(grid.neighbours(direction).copy()).T
        true = _neighbours(position_of, grid, direction)
        total += true[row, piece_at[:, here], piece_at[:, there]].sum(dim=1)
    return total


def _score(seams: Tensor, piece_at: Tensor, grid: Grid) -> Tensor:
    """(M,) sum of the logits of all seams."""
    row, total = torch.arange(len(piece_at))[:, None], torch.zeros(len(piece_at))
    for axis, direction in enumerate(AXES):
        here, there = torch.from_numpy(grid.neighbours(direction).copy()).T
        total += seams[row, axis, piece_at[:, here], piece_at[:, there]].sum(dim=1)
    return total


class Sd2rlSolver(RivalSolver, name="sd2rl", rival=Sd2rl):
    """SD²RL."""
