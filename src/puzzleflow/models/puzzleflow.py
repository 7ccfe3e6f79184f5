"""PuzzleFlow (section 4 of the paper): what each piece is, where it is now, when in the flow."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Self

import torch
from torch import Tensor, nn

from puzzleflow.core.errors import InputError, UnknownName, check_known
from puzzleflow.core.grid import Grid
from puzzleflow.core.records import Saved
from puzzleflow.models.conv_encoder import MAX_PX, MAX_SIZE, TokenConfig
from puzzleflow.models.piece_encoder import ConvPieceEncoder, PieceEncoder, ViTEncoder
from puzzleflow.models.relational import CellEmbedding, cell_coordinates

MAX_LAYERS = 256
VIT_SIZES = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "image_size", "patch_size",
)  # fmt: skip


@dataclass(frozen=True)
class FlowConfig(Saved):
    """One PuzzleFlow; presets below. Saved beside its weights."""

    encoder: str = "vit"  # "vit" or "conv"
    piece_px: int = 128
    dim: int = 768
    num_layers: int = 4
    num_heads: int = 12
    feed_forward: int = 3072
    dropout: float = 0.1
    activation: str = "relu"  # of the layers; the paper is silent, its code leaves the default
    time_dim: int = 192  # width of the sinusoidal time embedding
    time_scale: float = 1.0  # the sinusoids see t times this
    positions: str = "table"  # "table" (N × D), "mlp" (2 → 256 → 128 → D), "cells" (any grid)
    head: tuple[int, ...] = (3072,)  # hidden widths; the output is N wide, or D with "cells"
    num_positions: int | None = 9  # None: any grid (positions "cells")
    schedule: str = "linear"
    relates: bool = False  # attention is biased by which pieces seem to touch ("conv" only)
    flow: bool = True  # False: predict positions at once, without π_t and t
    timed: bool = True  # False: the flow is not told t
    alpha: bool = True  # False: every pixel is called material, void is black
    vit: dict[str, int] | None = None  # sizes of transformers.ViTConfig; None: ViT-B/16

    def __post_init__(self) -> None:
        """Refuse sizes that no trained model has."""
        sizes = {name: value for name, value in vars(self).items() if type(value) is int}
        sizes |= {f"vit.{name}": value for name, value in (self.vit or {}).items()}
        sizes |= {"head": max(self.head, default=1), "time_dim": self.time_dim // 4}
        sizes |= {"num_layers": 1 + self.num_layers}
        most = {"num_layers": MAX_LAYERS, "vit.num_hidden_layers": MAX_LAYERS, "piece_px": MAX_PX}
        for name, size in sizes.items():
            if not 1 <= size <= most.get(name, MAX_SIZE):
                raise InputError(f"{name}: no trained model has this size, {size}")
        if unknown := set(self.vit or {}) - set(VIT_SIZES):
            raise InputError(f"vit: unknown {', '.join(sorted(unknown))[:80]}")
        check_known("activation", self.activation, ("relu", "gelu"))
        if not (0 <= self.dropout < 1 and 0 < self.time_scale <= 1e6):
            raise InputError("dropout lies from 0 to below 1, time_scale above 0 up to a million")

    def check(self, grid: Grid) -> None:
        """Raise where such a model is made for another number of positions."""
        if self.num_positions is not None and grid.num_pieces != self.num_positions:
            raise InputError(
                f"this model places {self.num_positions} pieces, not the {grid} grid's"
            )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        known = {field.name for field in fields(cls)}
        if unknown := set(values) - known:
            raise InputError(f"a flow model has no setting {', '.join(sorted(unknown))[:80]}")
        return super().from_dict(values)


_COMPACT = FlowConfig(
    encoder="conv", piece_px=64, dim=256, num_heads=8, feed_forward=1024, positions="cells",
    head=(1024,), num_positions=None, activation="gelu", time_scale=1000.0,
)  # fmt: skip
PRESETS: dict[str, FlowConfig] = {
    # the method section
    "paper": FlowConfig(),
    # the supplement's table
    "paper-supplement": FlowConfig(time_dim=768, positions="mlp", head=(512, 256)),
    # the paper's method in a size that trains on a laptop; one model for every grid. Its trunk
    # is the convolutional one of the relational network, from whose weights it may start
    "compact": _COMPACT,
    # beyond the paper: attention is told which pieces seem to touch
    "small-seams": replace(_COMPACT, relates=True),
    "tiny": FlowConfig(
        encoder="conv", piece_px=32, dim=48, num_layers=2, num_heads=4, feed_forward=96,
        positions="cells", head=(96,), num_positions=None, dropout=0.0, activation="gelu",
        time_scale=1000.0,
    ),
}  # fmt: skip


def flow_preset(name: str) -> FlowConfig:
    """A named configuration."""
    return PRESETS[check_known("preset", name, PRESETS)]


class TimeEmbedding(nn.Module):
    """Sinusoids of flow time, then a two-layer SiLU MLP."""

    def __init__(self, time_dim: int, dim: int, scale: float) -> None:
        super().__init__()
        self.time_dim = time_dim
        self.scale = scale
        self.mlp = nn.Sequential(nn.Linear(time_dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, t: Tensor) -> Tensor:
        """(B,) in [0, 1] → (B, D)."""
        half = self.time_dim // 2
        exponent = torch.arange(half, device=t.device) / (half - 1)  # 0 … 1
        angle = self.scale * t[:, None] * torch.exp(-math.log(10_000) * exponent)  # (B, half)
        return self.mlp(torch.cat([angle.sin(), angle.cos()], dim=1))  # type: ignore[no-any-return]


class PositionEmbedding(nn.Module):
    """Where a piece lies now: a learned table, or an MLP on the cell's coordinates."""

    def __init__(self, kind: str, dim: int, num_positions: int | None) -> None:
        super().__init__()
        check_known("position embedding", kind, ("table", "mlp", "cells"))
        if kind == "table" and num_positions is None:
            raise InputError("a position table needs a fixed number of positions")
        self.kind = kind
        self.embed: nn.Module
        if kind == "table":
            self.embed = nn.Embedding(num_positions or 0, dim)
        elif kind == "mlp":
            self.embed = nn.Sequential(
                nn.Linear(2, 256), nn.ReLU(), nn.Linear(256, 128), nn.Linear(128, dim)
            )
        else:
            self.embed = CellEmbedding(dim)

    def forward(self, x_t: Tensor, shape: Tensor) -> Tensor:
        """(B, N) positions on a grid of (2,) rows and columns → (B, N, D)."""
        if self.kind == "table":
            return self.embed(x_t)  # type: ignore[no-any-return]
        N = x_t.shape[1]
        if self.kind == "mlp":
            cells = cell_coordinates(shape, N) / (shape - 1).clamp_min(1)  # (N, 2) in [0, 1]
            return self.embed(cells[x_t])  # type: ignore[no-any-return]
        return self.embed(shape, N)[x_t]  # type: ignore[no-any-return]


class PositionHead(nn.Module):
    """Features → logits over positions: N outputs, or inner products with the grid's cells."""

    def __init__(self, config: FlowConfig) -> None:
        super().__init__()
        widths = [config.dim, *config.head]
        layers: list[nn.Module] = [nn.LayerNorm(config.dim)]
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.GELU(), nn.Dropout(config.dropout)]
        layers.append(nn.Linear(widths[-1], config.num_positions or config.dim))
        self.mlp = nn.Sequential(*layers)
        self.cells = CellEmbedding(config.dim) if config.num_positions is None else None

    def forward(self, hidden: Tensor, shape: Tensor) -> Tensor:
        """(B, N, D) on a grid of (2,) rows and columns → (B, N, N) piece, position."""
        out = self.mlp(hidden)
        if self.cells is None:
            return out  # type: ignore[no-any-return]
        cells = self.cells(shape, hidden.shape[1])  # (N, D)
        return out @ cells.T / math.sqrt(out.shape[-1])  # type: ignore[no-any-return]


class PuzzleFlow(nn.Module):
    """z_i = h_i + e_pos(p_i) + e_time(t), L pre-norm layers, a position head."""

    def __init__(self, encoder: PieceEncoder, config: FlowConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.frozen = False
        self.position = PositionEmbedding(config.positions, config.dim, config.num_positions)
        self.time = TimeEmbedding(config.time_dim, config.dim, config.time_scale)
        layer = nn.TransformerEncoderLayer(
            config.dim, config.num_heads, config.feed_forward, config.dropout,
            activation=config.activation, batch_first=True, norm_first=True,
        )  # fmt: skip
        if config.relates:
            layer.activation_relu_or_gelu = 0  # the fast path takes a float mask for a boolean one
        self.layers = (
            nn.TransformerEncoder(layer, config.num_layers, enable_nested_tensor=False)
            if config.num_layers
            else nn.Identity()
        )
        self.of_seam = _seam_weights(config.num_heads) if config.relates else None
        self.head = PositionHead(config)

    def check(self, grid: Grid) -> None:
        """Raise where this model was made for another number of positions."""
        self.config.check(grid)

    @property
    def trunk(self) -> nn.Module:
        """The part of the encoder that comes with weights; it may learn at a rate of its own."""
        return self.encoder.trunk

    def freeze_encoder(self) -> None:
        """Leave the encoder's pretrained part, running statistics included, as it is."""
        self.frozen = True
        self.encoder.trunk.requires_grad_(False)

    def train(self, mode: bool = True) -> PuzzleFlow:
        super().train(mode)
        if self.frozen:
            self.encoder.trunk.eval()
        return self

    def encode(self, pixels: Tensor, prior: Tensor | None = None) -> Tensor:
        """(B, N, 4, H, W) → features h (B, N, D); they depend on neither π_t nor t.

        A model that relates pieces wants their seam prior (B, 2, N, N, F) too and
        gives (B, N, D + 4N), see :mod:`puzzleflow.models.piece_encoder`.
        """
        if not self.config.alpha:
            opaque = torch.ones_like(pixels[:, :, 3:])
            pixels = torch.cat([pixels[:, :, :3], opaque], dim=2)
        return self.encoder(pixels, prior)  # type: ignore[no-any-return]

    def step(self, features: Tensor, x_t: Tensor, t: Tensor, grid: Grid) -> Tensor:
        """Features (B, N, D), state (B, N), time (B,) → logits (B, N, N) piece, position."""
        return self.logits(features, x_t, t, torch.tensor(grid.shape, device=features.device))

    def logits(self, features: Tensor, x_t: Tensor, t: Tensor, shape: Tensor) -> Tensor:
        """A step on the grid of (2,) rows and columns, all in tensors, as a graph needs it."""
        hidden = features[..., : self.config.dim]
        if self.config.flow:
            hidden = hidden + self.position(x_t, shape)
            hidden = hidden + self.time(t)[:, None] if self.config.timed else hidden
        if not self.config.num_layers:
            return self.head(hidden, shape)  # type: ignore[no-any-return]
        bias = self._attention_bias(features[..., self.config.dim :])
        return self.head(self.layers(hidden, mask=bias), shape)  # type: ignore[no-any-return]

    def _attention_bias(self, beyond: Tensor) -> Tensor | None:
        """(B, N, 4N) who lies beyond each side → (B·heads, N, N), a mixture a head."""
        if self.of_seam is None:
            return None
        B, N = beyond.shape[:2]
        seams = beyond.view(B, N, 4, N).transpose(1, 2)  # (B, 4, N, N)
        return torch.einsum("hd,bdij->bhij", self.of_seam, seams).flatten(0, 1)

    def forward(
        self, pixels: Tensor, x_t: Tensor, t: Tensor, grid: Grid, prior: Tensor | None = None
    ) -> Tensor:
        """Encode and step, as in training."""
        return self.step(self.encode(pixels, prior), x_t, t, grid)


def _seam_weights(num_heads: int) -> nn.Parameter:
    """(heads, 4): the first heads look beyond one side each, the others start unbiased."""
    weights = torch.zeros(num_heads, 4)
    weights[torch.arange(min(4, num_heads)), torch.arange(min(4, num_heads))] = 1.0
    return nn.Parameter(weights)


def build_puzzleflow(config: FlowConfig, pretrained: str | None = None) -> PuzzleFlow:
    """Compose the model; ``pretrained``: ViT weights to start from, a folder or a hub name."""
    if config.relates and config.encoder != "conv":
        raise InputError("only the convolutional encoder relates pieces")
    encoder: PieceEncoder
    if config.encoder == "conv":
        encoder = ConvPieceEncoder(config.dim, TokenConfig(config.piece_px), config.relates)
    elif config.encoder != "vit":
        raise UnknownName("piece encoder", config.encoder, ("vit", "conv"))
    elif pretrained is not None:
        encoder = ViTEncoder.pretrained(pretrained, config.piece_px)
    else:
        encoder = ViTEncoder.blank(config.piece_px, **(config.vit or {}))
    if encoder.dim != config.dim:
        named = pretrained or "the encoder"
        raise InputError(f"{named}: gives {encoder.dim} numbers a piece, expected {config.dim}")
    return PuzzleFlow(encoder, config)
