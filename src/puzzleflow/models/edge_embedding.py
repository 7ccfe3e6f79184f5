"""Side embeddings in the manner of Edge2Vec: sides that belong together lie close together.

One encoder sees every side in the same attitude. A piece is turned or mirrored
until the side in question is on its right and runs downwards as it did from
left to right or from top to bottom; the two sides of a true seam then show
mirrored strips of one picture, and are trained towards the same embedding.
Their distance depends on these two pieces alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.grid import Direction
from puzzleflow.models.conv_encoder import REACH, ConvEncoder, TrunkConfig, side_head, void_widths
from puzzleflow.models.pixels import standardised


@dataclass(frozen=True)
class EdgeConfig(TrunkConfig):
    """Sizes of the network; trunk and side head are those of the relational network.

    depth  how much of its piece a side sees, inwards from the border: at one half,
           four sides cost what two whole pieces cost
    """

    depth: float = 0.5
    embedding_dim: int = 128


class EdgeEmbedding(nn.Module):
    """Pieces (B, N, 4, H, W) → one unit vector for each side (B, N, 4, E)."""

    def __init__(self, config: EdgeConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or EdgeConfig()
        self.encoder = ConvEncoder(7, config.widths, config.blocks)
        self.num_tokens = config.piece_px // self.encoder.stride  # T, along a side
        self.depth_px = max(REACH, round(config.depth * self.num_tokens)) * self.encoder.stride
        self.side = side_head(self.encoder.dim, config.side_hidden, config.side_dim)
        num_features = self.num_tokens * config.side_dim + 2 * self.encoder.dim
        self.project = nn.Sequential(
            nn.LayerNorm(num_features), nn.Linear(num_features, config.embedding_dim)
        )

    def forward(self, pixels: Tensor, sides: Sequence[Direction] = tuple(Direction)) -> Tensor:
        """(B, N, 4, H, W) → (B, N, len(sides), E), each embedding of length 1."""
        B, N = pixels.shape[:2]
        pieces = standardised(pixels).flatten(0, 1)  # (B*N, 7, H, W)
        turned = torch.stack([canonical(pieces, side) for side in sides], dim=1)
        beside = turned.flatten(0, 1)[..., -self.depth_px :]  # (B*N*S, 7, H, depth)
        maps = self.encoder(beside)  # (B*N*S, D, T, depth/stride)
        void = void_widths(pixels[:, :, 3].flatten(0, 1), self.num_tokens)  # (B*N, 4, T)
        void = void[:, list(sides)].flatten(0, 1)  # (B*N*S, T)
        strip = maps[:, :, :, -REACH:].permute(0, 3, 1, 2).flatten(1, 2)  # (B*N*S, reach*D, T)
        along = self.side(torch.cat([strip, void[:, None]], dim=1)).flatten(1)  # (B*N*S, Ds*T)
        whole = torch.cat([maps.mean(dim=(2, 3)), maps.amax(dim=(2, 3))], dim=1)
        embedded = F.normalize(self.project(torch.cat([along, whole], dim=1)), dim=1)
        return embedded.view(B, N, len(sides), -1)


def canonical(pieces: Tensor, side: Direction) -> Tensor:
    """(…, H, W) square pieces with ``side`` brought to the right, running downwards."""
    if side == Direction.RIGHT:
        return pieces
    if side == Direction.LEFT:
        return pieces.flip(-1)
    clockwise = pieces.rot90(-1, dims=(-2, -1))
    return clockwise if side == Direction.UP else clockwise.flip(-1)


def side_distances(first: Tensor, second: Tensor) -> Tensor:
    """(…, N, E) and (…, M, E) unit vectors → (…, N, M) Euclidean distances."""
    squared = 2.0 - 2.0 * first @ second.mT
    return squared.clamp_min(1e-8).sqrt()  # the root has no slope at zero
