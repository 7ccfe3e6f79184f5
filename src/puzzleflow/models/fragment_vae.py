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

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.records import from_json
from puzzleflow.masks import MASK_PX
from puzzleflow.models.checkpoint import build_network, load_weights, save_weights

VAE_KIND = "fragment_vae"
DECODER_KIND = "fragment_vae_decoder"


@dataclass(frozen=True)
class FragmentVAEConfig:
    """The published architecture; other widths serve tests.

    relu_first  ReLU before BatchNorm, in the order in which the supplement lists them
    """

    channels: tuple[int, ...] = (32, 64, 128, 256)
    latent: int = 64
    dropout: float = 0.3
    mask_px: int = MASK_PX
    relu_first: bool = False

    def __post_init__(self) -> None:
        """Refuse sizes that no trained model has."""
        sizes = (self.latent, *self.channels)
        if not self.channels or not all(1 <= size <= 4096 for size in sizes):
            raise InputError(f"channels {self.channels} or latent {self.latent}: not 1 to 4096")
        if self.mask_px > 1024 or self.mask_px != self.coarse_px * 2 ** len(self.channels):
            raise InputError(f"mask_px {self.mask_px}: cannot be halved for every channel")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout {self.dropout}: not from 0 to below 1")

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
                *_activation(width, config),
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
            layers += [_doubling(before, width), *_activation(width, config)]
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


def _activation(width: int, config: FragmentVAEConfig) -> list[nn.Module]:
    layers: list[nn.Module] = [nn.BatchNorm2d(width), nn.ReLU()]
    return layers[::-1] if config.relu_first else layers


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

        The codes of real masks are wider than N(0, I) in most directions and
        not centred, so draws from N(0, I) miss many of them (see the model card).
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
    state_dict, config = load_weights(path, VAE_KIND, DECODER_KIND)
    if config["kind"] == VAE_KIND:
        prefix = "decoder."
        state_dict = {
            name.removeprefix(prefix): tensor
            for name, tensor in state_dict.items()
            if name.startswith(prefix)
        }
    sizes = config_from(config, path)
    return build_network(lambda: MaskDecoder(sizes), state_dict, path)


def config_from(config: dict[str, Any], path: str | Path) -> FragmentVAEConfig:
    """The architecture part of a weights file's config."""
    try:
        return from_json(FragmentVAEConfig, config.get("model"))
    except InputError as error:
        raise FormatError(f"{path}: its config describes no fragment VAE ({error})") from error
