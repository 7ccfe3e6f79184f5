"""The mask VAE of the paper: 128x128 outline ↔ 64 numbers (section 3.1, supplement).

Letters: B batch, C channels, H W pixels, D latent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from puzzleflow.core.errors import FormatError
from puzzleflow.masks import MASK_PX
from puzzleflow.models.checkpoint import load_weights, restore, save_weights

VAE_KIND = "fragment_vae"
DECODER_KIND = "fragment_vae_decoder"


@dataclass(frozen=True)
class FragmentVAEConfig:
    """The published architecture; other widths serve tests."""

    channels: tuple[int, ...] = (32, 64, 128, 256)
    latent: int = 64
    dropout: float = 0.3
    mask_px: int = MASK_PX

    @property
    def coarse_px(self) -> int:
        """Side of the innermost feature map."""
        return int(self.mask_px // 2 ** len(self.channels))

    @property
    def flat(self) -> int:
        """Numbers in the innermost feature map."""
        return self.channels[-1] * self.coarse_px**2


class MaskEncoder(nn.Module):
    """Four stride-2 convolutions, then mean and log-variance."""

    def __init__(self, config: FragmentVAEConfig) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 1
        for width in config.channels:
            layers += [
                nn.Conv2d(before, width, kernel_size=3, stride=2, padding=1),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Dropout(config.dropout),
            ]
            before = width
        self.convolutions = nn.Sequential(*layers)
        self.mean = nn.Linear(config.flat, config.latent)
        self.log_variance = nn.Linear(config.flat, config.latent)

    def forward(self, masks: Tensor) -> tuple[Tensor, Tensor]:
        """(B, 1, H, W) in [0, 1] to mean and log-variance, each (B, D)."""
        features = self.convolutions(masks).flatten(1)  # (B, C*H*W)
        return self.mean(features), self.log_variance(features)


class MaskDecoder(nn.Module):
    """64 numbers to the logits of a mask: the encoder mirrored, without dropout."""

    def __init__(self, config: FragmentVAEConfig) -> None:
        super().__init__()
        self.config = config
        self.expand = nn.Linear(config.latent, config.flat)
        widths = [*reversed(config.channels), 1]
        layers: list[nn.Module] = []
        for before, width in pairwise(widths[:-1]):
            layers += [_doubling(before, width), nn.BatchNorm2d(width), nn.ReLU()]
        layers.append(_doubling(widths[-2], 1))
        self.convolutions = nn.Sequential(*layers)
        # where the training masks lie in latent space: mean + factor @ N(0, I)
        self.latent_mean: Tensor
        self.latent_factor: Tensor
        self.register_buffer("latent_mean", torch.zeros(config.latent))
        self.register_buffer("latent_factor", torch.eye(config.latent))

    def forward(self, latent: Tensor) -> Tensor:
        """(B, D) to logits (B, 1, H, W); their sigmoid is the published output."""
        side = self.config.coarse_px
        features = self.expand(latent).unflatten(1, (-1, side, side))  # (B, C, 8, 8)
        logits: Tensor = self.convolutions(features)  # (B, 1, H, W)
        return logits


def _doubling(before: int, width: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(before, width, kernel_size=3, stride=2, padding=1, output_padding=1)


class FragmentVAE(nn.Module):
    """Encoder, reparameterisation and decoder."""

    def __init__(self, config: FragmentVAEConfig | None = None) -> None:
        super().__init__()
        self.config = config or FragmentVAEConfig()
        self.encoder = MaskEncoder(self.config)
        self.decoder = MaskDecoder(self.config)

    def forward(self, masks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (B, 1, H, W), mean and log-variance (B, D); the latent is drawn."""
        mean, log_variance = self.encoder(masks)
        latent = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)  # (B, D)
        return self.decoder(latent), mean, log_variance

    @torch.inference_mode()
    def fit_latents(self, masks: Tensor, batch: int = 64) -> None:
        """Set the decoder's latent Gaussian to the aggregate posterior of (N, 1, H, W) masks.

        At the published number of steps the codes of real masks fill only a
        part of N(0, I), and draws from the rest decode to torn blobs.
        """
        self.eval()
        encoded = [self.encoder(part) for part in torch.split(masks, batch)]
        means = torch.cat([mean for mean, _ in encoded]).double()  # (N, D)
        variances = torch.cat([log.exp() for _, log in encoded]).double()  # (N, D)
        covariance = torch.cov(means.T) + torch.diag(variances.mean(dim=0))
        self.decoder.latent_mean.copy_(means.mean(dim=0))
        self.decoder.latent_factor.copy_(torch.linalg.cholesky(covariance))


@dataclass(frozen=True)
class VAELoss:
    """Loss terms in nats, summed over pixels and averaged over the batch."""

    total: Tensor
    reconstruction: Tensor
    divergence: Tensor


def vae_loss(
    logits: Tensor, masks: Tensor, mean: Tensor, log_variance: Tensor, beta: float = 1.0
) -> VAELoss:
    """BCE + β·KL(q(z|x) ‖ N(0, I)), on the scale of the published 1623.76."""
    batch = masks.shape[0]
    reconstruction = (
        functional.binary_cross_entropy_with_logits(logits, masks, reduction="sum") / batch
    )
    divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum() / batch
    return VAELoss(reconstruction + beta * divergence, reconstruction, divergence)


def save_decoder(path: str | Path, model: FragmentVAE, training: dict[str, Any]) -> None:
    """The half that sampling needs, in half precision, with how it was trained."""
    config = {"kind": DECODER_KIND, "model": asdict(model.config), "training": training}
    save_weights(path, model.decoder.state_dict(), config, dtype="float16")


def load_decoder(path: str | Path) -> MaskDecoder:
    """Decoder in evaluation mode, from a decoder file or a whole training checkpoint."""
    state_dict, config = load_weights(path)
    kind = config.get("kind")
    if kind == VAE_KIND:
        prefix = "decoder."
        state_dict = {
            name.removeprefix(prefix): tensor
            for name, tensor in state_dict.items()
            if name.startswith(prefix)
        }
    elif kind != DECODER_KIND:
        raise FormatError(f"{path}: weights of {kind!r}, expected a fragment VAE")
    decoder = MaskDecoder(config_from(config, path))
    restore(decoder, state_dict, path)
    return decoder.eval()


def config_from(config: dict[str, Any], path: str | Path) -> FragmentVAEConfig:
    """The architecture part of a weights file's config."""
    try:
        fields = dict(config["model"])
        fields["channels"] = tuple(fields["channels"])
        return FragmentVAEConfig(**fields)
    except (KeyError, TypeError) as error:
        raise FormatError(f"{path}: its config describes no fragment VAE ({error})") from error
