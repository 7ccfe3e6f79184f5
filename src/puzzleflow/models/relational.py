"""The relational network: which pieces touch, which sides have no neighbour, where pieces belong.

One forward pass over all pieces of a puzzle gives every term of the energy, also
where pieces are missing, foreign, or turned, and where the grid is not known.
Pieces are encoded once; sides are compared by row-aligned inner products, added
to what the colours along the outlines say (the prior); a transformer over five
tokens a piece (itself and its four sides), biased by those comparisons, lets
every pair depend on all other pieces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.conv_encoder import PRIOR_FEATURES, TOKENS, PieceTokens, TokenConfig

NUM_BEST = 3  # best candidates of a side whose prior its token sees
NUM_WORLD_FEATURES = 7
ATTENDING = 128  # pieces whose tokens attend to all others at once


@dataclass(frozen=True)
class RelationalConfig(TokenConfig):
    """Sizes of the network; saved beside its weights."""

    num_heads: int = 6
    num_layers: int = 4
    dropout: float = 0.0


@dataclass(frozen=True)
class World:
    """What is known of a puzzle before it is looked at.

    grid    rows × cols, or None where nobody knows
    closed  every piece of the picture is there, and no other
    """

    grid: Grid | None
    closed: bool = True

    def features(self, num_pieces: int) -> list[float]:
        """The numbers that the network is told; see ``NUM_WORLD_FEATURES``."""
        opened = 0.0 if self.closed else 1.0
        if self.grid is None:
            return [0.0, 0.0, 0.0, 0.0, opened, 1.0, 0.0]
        rows, cols = self.grid.shape
        full = num_pieces / self.grid.num_pieces
        return [rows / 10, cols / 10, 1 / rows, 1 / cols, opened, 0.0, opened * full]


@dataclass(frozen=True)
class Relations:
    """Logits of one forward pass over B puzzles of N pieces.

    right     (B, N, N) piece j lies directly right of piece i
    down      (B, N, N) piece j lies directly below piece i
    absent    (B, N, 4) beyond side d of piece i lies none of the given pieces
    frame     (B, N, 4) side d of piece i lies on the frame of the picture
    place     (B, N, D) to be compared with cells: where piece i belongs, on any grid
    stray     (B, N)    piece i belongs to another picture
    """

    right: Tensor
    down: Tensor
    absent: Tensor
    frame: Tensor
    place: Tensor
    stray: Tensor

    def between_pieces(self, num_turns: int) -> Relations:
        """Relations in which the turns of one piece, given one after the other, never touch."""
        if num_turns == 1:
            return self
        piece = torch.arange(self.right.shape[1], device=self.right.device) // num_turns
        own = piece[:, None] == piece
        right, down = (seam.masked_fill(own, float("-inf")) for seam in (self.right, self.down))
        return replace(self, right=right, down=down)

    def side_logits(self, direction: Direction) -> Tensor:
        """(B, N, N + 2): for one side of every piece the candidates, "absent", "the frame"."""
        seam = self.right if direction in (Direction.RIGHT, Direction.LEFT) else self.down
        if direction in (Direction.LEFT, Direction.UP):
            seam = seam.transpose(1, 2)
        own = torch.eye(seam.shape[1], dtype=torch.bool, device=seam.device)
        seam = seam.masked_fill(own, float("-inf"))
        ends = (self.absent[:, :, direction, None], self.frame[:, :, direction, None])
        return torch.cat([seam, *ends], dim=2)


class ContextLayer(nn.Module):
    """Pre-norm attention over all tokens of a puzzle, biased by what touches what."""

    def __init__(self, dim: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.feed_forward = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * dim, dim)
        )
        self.of_type = nn.Parameter(torch.zeros(num_heads, TOKENS, TOKENS))
        self.of_same_piece = nn.Parameter(torch.zeros(num_heads, TOKENS, TOKENS))
        self.of_seam = nn.Parameter(torch.linspace(0.0, 1.0, num_heads))

    def forward(self, tokens: Tensor, seams: Tensor) -> Tensor:
        """Tokens (B, 5N, D), seam logits between side tokens (B, 5N, 5N)."""
        B, length, D = tokens.shape
        N = length // TOKENS
        q, k, v = (
            self.qkv(self.norm1(tokens))
            .view(B, length, 3, self.num_heads, D // self.num_heads)
            .permute(2, 0, 3, 1, 4)
        )  # each (B, heads, 5N, D/heads)
        if N <= ATTENDING:
            same = torch.eye(N, device=tokens.device)
            bias = self.of_type.repeat(1, N, N) + torch.stack(
                [torch.kron(same, table) for table in self.of_same_piece]
            )  # (heads, 5N, 5N)
            bias = bias + self.of_seam[:, None, None] * seams[:, None]  # (B, heads, 5N, 5N)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        else:  # a block of queries at a time: the bias of all would take gigabytes
            parts = []
            for at in range(0, length, ATTENDING * TOKENS):
                some = slice(at, at + ATTENDING * TOKENS)
                bias = self._bias(seams[:, some], at // TOKENS)
                parts.append(F.scaled_dot_product_attention(q[:, :, some], k, v, attn_mask=bias))
            mixed = torch.cat(parts, dim=2)
        tokens = tokens + self.out(mixed.transpose(1, 2).flatten(2))
        return tokens + self.feed_forward(self.norm2(tokens))  # type: ignore[no-any-return]

    def _bias(self, seams: Tensor, first: int) -> Tensor:
        """(B, heads, 5C, 5N) of C pieces, from the ``first`` on, towards all; seams (B, 5C, 5N)."""
        bias = self.of_seam[:, None, None] * seams[:, None]
        B, heads, _, keys = bias.shape
        cells = bias.view(B, heads, -1, TOKENS, keys // TOKENS, TOKENS)  # (B, heads, C, 5, N, 5)
        cells += self.of_type[:, None, :, None]
        own = torch.arange(cells.shape[2], device=seams.device)
        cells[:, :, own, :, first + own] += self.of_same_piece
        return bias


class CellEmbedding(nn.Module):
    """Positions as coordinates relative to the frame, so that one set of weights fits any grid."""

    NUM_FEATURES = 2 * (1 + 6 + 2) + 2

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(self.NUM_FEATURES, dim), nn.GELU(), nn.Linear(dim, dim))

    @staticmethod
    def features(shape: Tensor, num_cells: int) -> Tensor:
        """(2,) rows and columns → (N, F) per cell.

        Place on each axis, its harmonics, nearness of the frame, grid size. The
        shape is a tensor, so that one exported graph serves any grid.
        """
        index = cell_coordinates(shape, num_cells).float()  # (N, 2)
        place = (index + 0.5) / shape
        columns = [place]
        for k in (1, 2, 3):
            columns += [torch.sin(math.pi * k * place), torch.cos(math.pi * k * place)]
        columns += [torch.exp(-index), torch.exp(index + 1 - shape)]
        by_axis = torch.stack(columns, dim=2).flatten(1)  # (N, 2, 9) → (N, 18)
        return torch.cat([by_axis, (1.0 / shape).expand(num_cells, 2)], dim=1)

    def forward(self, shape: Tensor, num_cells: int) -> Tensor:
        """(2,) rows and columns → (N, D)."""
        return self.mlp(self.features(shape, num_cells))  # type: ignore[no-any-return]


def cell_coordinates(shape: Tensor, num_cells: int) -> Tensor:
    """(2,) rows and columns → (N, 2) row and column of every position."""
    position = torch.arange(num_cells, device=shape.device)
    return torch.stack([position // shape[1], position % shape[1]], dim=1)


class RelationalNet(PieceTokens):
    """Pieces (B, N, 4, H, W) and a grid → :class:`Relations`."""

    def __init__(self, config: RelationalConfig | None = None) -> None:
        config = config or RelationalConfig()
        super().__init__(config)
        self.config = config
        dim = config.dim
        self.prior_token = nn.Linear(NUM_BEST * PRIOR_FEATURES, dim)
        self.token_type = nn.Parameter(nn.init.normal_(torch.empty(TOKENS, dim), std=0.02))
        self.world = nn.Linear(NUM_WORLD_FEATURES, dim)
        self.layers = nn.ModuleList(
            ContextLayer(dim, config.num_heads, config.dropout) for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(dim)
        self.local_ends = nn.Linear(dim, 2)  # absent, frame
        self.seam_query = nn.ModuleList(nn.Linear(2 * dim, dim) for _ in Direction)
        self.ends_head = nn.Linear(2 * dim, 2)
        self.stray_head = nn.Linear(dim, 1)
        self.position_query = nn.Linear(TOKENS * dim, dim)
        self.cells = CellEmbedding(dim)

    def forward(self, pixels: Tensor, prior: Tensor, world: World) -> tuple[Relations, Relations]:
        """Relations with the context of all pieces, and those of isolated pairs.

        prior  (B, 2, N, N, F) of right and down seams
        """
        return self.relate(*self.encode(pixels), prior, world)

    def relate(
        self, tokens: Tensor, sides: Tensor, prior: Tensor, world: World
    ) -> tuple[Relations, Relations]:
        """Everything after the encoder; see :meth:`forward`."""
        N = tokens.shape[1]
        right, down = self.seams(sides, prior).unbind(dim=1)  # (B, N, N) each
        tokens = tokens + self.token_type
        by_side = self.prior_token(_best_candidates(prior))  # (B, N, 4, D)
        tokens = torch.cat([tokens[:, :, :1], tokens[:, :, 1:] + by_side], dim=2)
        local_ends = self.local_ends(tokens[:, :, 1:])  # (B, N, 4, 2)

        tokens = tokens + self.world(torch.tensor(world.features(N), device=tokens.device))
        seams = _seams_between_tokens(right, down)
        hidden = tokens.flatten(1, 2)  # (B, 5N, D)
        for layer in self.layers:
            hidden = layer(hidden, seams)
        hidden = self.norm(hidden).unflatten(1, (N, TOKENS))  # (B, N, 5, D)

        with_piece = torch.cat(
            [hidden[:, :, 1:], hidden[:, :, :1].expand(-1, -1, 4, -1)], dim=-1
        )  # (B, N, 4, 2D) each side beside its piece
        query = [layer(with_piece[:, :, d]) for d, layer in enumerate(self.seam_query)]
        by_dim = 1 / math.sqrt(hidden.shape[-1])
        whole = hidden.flatten(2)  # (B, N, 5D)
        rest = {
            "place": by_dim * self.position_query(whole),
            "stray": self.stray_head(hidden[:, :, 0]).squeeze(-1),
        }
        ends = self.ends_head(with_piece)  # (B, N, 4, 2)
        in_context = Relations(
            right + by_dim * query[Direction.RIGHT] @ query[Direction.LEFT].mT,
            down + by_dim * query[Direction.DOWN] @ query[Direction.UP].mT,
            *_ends(ends, world.closed),
            **rest,
        )
        isolated = Relations(right, down, *_ends(local_ends, world.closed), **rest)
        return in_context, isolated

    def positions(self, relations: Relations, grid: Grid) -> Tensor:
        """(B, N, P) logits of every piece at every position of ``grid``."""
        shape = torch.tensor(grid.shape, device=relations.place.device)
        cells: Tensor = self.cells(shape, grid.num_pieces)  # (P, D)
        return relations.place @ cells.T


def _ends(logits: Tensor, closed: bool) -> tuple[Tensor, Tensor]:
    """(B, N, 4, 2) → absent and frame (B, N, 4); in a closed world nothing is absent."""
    absent, frame = logits.unbind(dim=-1)
    return (torch.full_like(absent, float("-inf")) if closed else absent), frame


def _best_candidates(prior: Tensor) -> Tensor:
    """(B, 2, N, N, F) → (B, N, 4, NUM_BEST·F): the prior of each side's likeliest neighbours.

    A side on the frame shows by having no good candidate.
    """
    N = prior.shape[2]
    own = torch.eye(N, dtype=torch.bool, device=prior.device)
    void = prior.new_tensor([-10.0, -10.0, 3.0])  # where there are too few candidates
    prior = torch.where(own[..., None], void, prior)
    views = torch.stack(
        [prior[:, 0], prior[:, 1], prior[:, 0].transpose(1, 2), prior[:, 1].transpose(1, 2)], dim=2
    )  # (B, N, 4, N, F) by piece, side, candidate
    if NUM_BEST > N:
        filling = void.expand(*views.shape[:3], NUM_BEST - N, -1)
        views = torch.cat([views, filling], dim=3)
    best = views[..., 2].topk(NUM_BEST, dim=3, largest=False).indices  # cheapest first
    chosen = views.gather(3, best[..., None].expand(*best.shape, views.shape[-1]))
    return chosen.flatten(3)


def _seams_between_tokens(right: Tensor, down: Tensor) -> Tensor:
    """(B, N, N) seam logits → (B, 5N, 5N) between the side tokens that would touch."""
    B, N = right.shape[:2]
    table = right.new_zeros(B, N, TOKENS, N, TOKENS)
    side = {direction: direction + 1 for direction in Direction}
    table[:, :, side[Direction.RIGHT], :, side[Direction.LEFT]] = right
    table[:, :, side[Direction.LEFT], :, side[Direction.RIGHT]] = right.mT
    table[:, :, side[Direction.DOWN], :, side[Direction.UP]] = down
    table[:, :, side[Direction.UP], :, side[Direction.DOWN]] = down.mT
    return table.reshape(B, N * TOKENS, N * TOKENS)
