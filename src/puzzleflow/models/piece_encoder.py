"""Piece encoders: RGBA pieces in, one feature vector a piece out.

Both encoders share one interface, so that the flow works with either:
``forward(pixels, prior)`` takes (B, N, 4, H, W) premultiplied pixels in [0, 1] at
``piece_px`` and gives (B, N, D). An encoder that relates pieces wants their seam
prior (B, 2, N, N, F) and adds 4N numbers to each vector: for every side the
log-probability that each piece lies beyond it, its own place standing for "none".
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import InputError
from puzzleflow.models.conv_encoder import TOKENS, PieceTokens, TokenConfig

LEAST = -12.0  # log-probabilities below this say no more
IMAGENET_VIT = "google/vit-base-patch16-224-in21k"


class RGBAProjection(nn.Conv2d):
    """The paper's learned 1×1 convolution RGBA → RGB; starts as "drop alpha"."""

    def __init__(self) -> None:
        super().__init__(4, 3, kernel_size=1)
        with torch.no_grad():
            self.weight.copy_(torch.eye(3, 4)[:, :, None, None])
            if self.bias is not None:
                self.bias.zero_()


class ViTEncoder(nn.Module):
    """RGBA → RGB, bilinear to 224 px, ViT, the ``[CLS]`` output as the piece's feature."""

    def __init__(self, vit: nn.Module, piece_px: int = 128) -> None:
        super().__init__()
        self.projection = RGBAProjection()
        self.vit = vit
        self.piece_px = piece_px
        self.dim = int(vit.config.hidden_size)  # type: ignore[union-attr, arg-type]

    @classmethod
    def pretrained(cls, name: str | Path, piece_px: int = 128) -> ViTEncoder:
        """From a local folder or a hub name such as ``google/vit-base-patch16-224-in21k``."""
        from transformers import ViTModel

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                vit = ViTModel.from_pretrained(
                    str(name), add_pooling_layer=False, use_safetensors=True
                )
            except (OSError, ValueError) as error:
                reason = str(error).splitlines()[0]
                raise InputError(
                    f"no ViT weights at {name} ({reason}): name a local folder with config.json "
                    "and model.safetensors, or say none for random ones"
                ) from error
        return cls(vit, piece_px)

    @classmethod
    def blank(cls, piece_px: int = 128, **sizes: Any) -> ViTEncoder:
        """With random weights; ``sizes`` are those of ``transformers.ViTConfig``."""
        from transformers import ViTConfig, ViTModel

        return cls(ViTModel(ViTConfig(**sizes), add_pooling_layer=False), piece_px)

    def forward(self, pixels: Tensor, prior: Tensor | None = None) -> Tensor:
        B, N = pixels.shape[:2]
        rgb = self.projection(pixels.flatten(0, 1))  # (B*N, 3, H, W)
        side = int(self.vit.config.image_size)  # type: ignore[union-attr, arg-type]
        rgb = F.interpolate(rgb, size=(side, side), mode="bilinear", align_corners=False)
        states = self.vit((rgb - 0.5) / 0.5).last_hidden_state  # (B*N, 1 + patches, D)
        return states[:, 0].unflatten(0, (B, N))  # type: ignore[no-any-return]

    @property
    def trunk(self) -> nn.Module:
        """The part that comes with weights."""
        return self.vit

    def checkpoint_gradients(self) -> None:
        """Recompute activations in the backward pass instead of storing them."""
        self.vit.gradient_checkpointing_enable()  # type: ignore[operator]


class ConvPieceEncoder(nn.Module):
    """The compact convolutional trunk of the relational network, its five tokens as one vector.

    relates  whether seams of isolated pairs are given with the vectors
    """

    def __init__(self, dim: int, tokens: TokenConfig, relates: bool = False) -> None:
        super().__init__()
        self.tokens = PieceTokens(tokens)
        self.head = nn.Linear(TOKENS * tokens.dim, dim)
        self.none = nn.Parameter(torch.zeros(4)) if relates else None
        if not relates:  # of no use then
            self.tokens.prior_logit.requires_grad_(False)
            self.tokens.local_scale.requires_grad_(False)
        self.dim = dim

    def forward(self, pixels: Tensor, prior: Tensor | None = None) -> Tensor:
        tokens, sides = self.tokens.encode(pixels)  # (B, N, 5, Dt), (B, N, 4, T·Ds)
        features = self.head(tokens.flatten(2))  # (B, N, D)
        if self.none is None:
            return features  # type: ignore[no-any-return]
        if prior is None:
            raise InputError("this model relates pieces: it needs their seam prior")
        right, down = self.tokens.seams(sides, prior).unbind(dim=1)  # (B, N, N) each
        beyond = torch.stack([right, down, right.mT, down.mT], dim=2)  # (B, N, 4, N)
        own = torch.eye(beyond.shape[1], device=beyond.device)[:, None]  # (N, 1, N)
        beyond = beyond * (1 - own) + self.none[:, None] * own
        beyond = beyond.log_softmax(dim=3).clamp_min(LEAST)
        return torch.cat([features, beyond.flatten(2)], dim=2)  # (B, N, D + 4N)

    @property
    def trunk(self) -> nn.Module:
        """The part that comes with weights."""
        return self.tokens

    def checkpoint_gradients(self) -> None:
        """Nothing to gain: the trunk is small."""


PieceEncoder = ViTEncoder | ConvPieceEncoder
