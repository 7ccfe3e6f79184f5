from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from puzzleflow.core.errors import FormatError
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.fragment_vae import (
    FragmentVAE,
    FragmentVAEConfig,
    load_decoder,
    save_decoder,
    vae_loss,
)

SMALL = FragmentVAEConfig(channels=(4, 8), latent=5, mask_px=16)


def test_published_sizes() -> None:
    model = FragmentVAE()
    encoder = [layer for layer in model.encoder.convolutions if isinstance(layer, nn.Conv2d)]
    decoder = [
        layer for layer in model.decoder.convolutions if isinstance(layer, nn.ConvTranspose2d)
    ]
    assert [layer.out_channels for layer in encoder] == [32, 64, 128, 256]
    assert [layer.out_channels for layer in decoder] == [128, 64, 32, 1]
    assert all(layer.stride == (2, 2) and layer.kernel_size == (3, 3) for layer in encoder)
    assert model.encoder.mean.in_features == 16_384
    assert model.encoder.mean.out_features == 64
    dropouts = [layer for layer in model.modules() if isinstance(layer, nn.Dropout)]
    assert [layer.p for layer in dropouts] == [0.3] * 4
    assert not any(isinstance(layer, nn.Dropout) for layer in model.decoder.modules())


def test_shapes_through_the_network() -> None:
    logits, mean, log_variance = FragmentVAE()(torch.zeros(2, 1, 128, 128))
    assert logits.shape == (2, 1, 128, 128)
    assert mean.shape == log_variance.shape == (2, 64)


def test_loss_by_hand() -> None:
    masks = torch.tensor([[1.0, 0.0], [1.0, 1.0]]).reshape(2, 1, 1, 2)
    logits = torch.zeros(2, 1, 1, 2)
    mean = torch.tensor([[2.0], [0.0]])
    loss = vae_loss(logits, masks, mean, torch.zeros(2, 1), beta=3.0)
    log2 = torch.log(torch.tensor(2.0))
    assert loss.reconstruction.item() == pytest.approx(2 * log2.item())  # 4 pixels, 2 masks
    assert loss.divergence.item() == pytest.approx(0.5 * 4 / 2)
    assert loss.total.item() == pytest.approx(2 * log2.item() + 3.0)


def test_fit_latents_takes_the_codes_mean_and_covariance() -> None:
    torch.manual_seed(0)
    model = FragmentVAE(SMALL)
    masks = (torch.rand(40, 1, 16, 16) > 0.5).float()
    model.fit_latents(masks, batch=7)
    mean, log_variance = model.encoder(masks)
    factor = model.decoder.latent_factor.double()
    expected = torch.cov(mean.T).double() + torch.diag(log_variance.exp().mean(0)).double()
    assert torch.allclose(model.decoder.latent_mean, mean.mean(0), atol=1e-5)
    assert torch.allclose(factor @ factor.T, expected, atol=1e-4)


def test_decoder_file_gives_the_same_decoder(tmp_path: Path) -> None:
    model = FragmentVAE(SMALL).eval()
    save_decoder(tmp_path / "d", model, {"epoch": 3})
    decoder = load_decoder(tmp_path / "d")
    latent = torch.randn(3, 5)
    with torch.inference_mode():
        assert torch.allclose(decoder(latent), model.decoder(latent), atol=2e-2)
    assert not decoder.training


def test_relu_before_batch_norm_is_stored_with_the_weights(tmp_path: Path) -> None:
    model = FragmentVAE(replace(SMALL, relu_first=True)).eval()
    kinds = [type(layer) for layer in model.encoder.convolutions][:4]
    assert kinds == [nn.Conv2d, nn.ReLU, nn.BatchNorm2d, nn.Dropout]
    save_decoder(tmp_path / "d", model, {})
    decoder = load_decoder(tmp_path / "d")
    assert decoder.config.relu_first
    assert isinstance(decoder.convolutions[1], nn.ReLU)


def test_other_weights_are_refused(tmp_path: Path) -> None:
    save_weights(tmp_path / "w", {}, {"kind": "something"})
    with pytest.raises(FormatError, match="not something"):
        load_decoder(tmp_path / "w")
    save_weights(tmp_path / "w", {}, {"kind": "fragment_vae_decoder", "model": {"latent": "three"}})
    with pytest.raises(FormatError, match="no fragment VAE"):
        load_decoder(tmp_path / "w")
