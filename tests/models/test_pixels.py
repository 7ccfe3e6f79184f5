"""Shrinking by area is that of PyTorch, and folding normalisation away changes nothing."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from puzzleflow.models.conv_encoder import ConvEncoder
from puzzleflow.models.pixels import shrunk


def test_bins_of_three_to_two_share_the_middle_line() -> None:
    lines = torch.tensor([0.0, 1.0, 5.0]).expand(1, 1, 3, 3)
    assert shrunk(lines, 2)[0, 0].tolist() == [[0.5, 3.0], [0.5, 3.0]]


@pytest.mark.parametrize(
    ("height", "width", "size"), [(8, 8, 8), (16, 8, 8), (12, 12, 8), (20, 24, 8), (27, 33, 24)]
)
@pytest.mark.parametrize("channels_last", [True, False])
def test_shrunk_as_pytorch_does_it(height: int, width: int, size: int, channels_last: bool) -> None:
    pixels = torch.rand(2, 4, height, width, generator=torch.Generator().manual_seed(0))
    if channels_last:
        pixels = pixels.contiguous(memory_format=torch.channels_last)
    expected = F.interpolate(pixels, size=(size, size), mode="area")
    assert torch.allclose(shrunk(pixels, size), expected, atol=1e-6)


def test_a_folded_encoder_says_the_same() -> None:
    torch.manual_seed(0)
    encoder = ConvEncoder(4, (8, 16), (1, 2)).eval()
    for part in encoder.modules():
        if isinstance(part, nn.BatchNorm2d):
            for tensor in (part.weight, part.bias, part.running_mean, part.running_var):
                assert tensor is not None
                nn.init.uniform_(tensor, 0.5, 1.5)
    pixels = torch.rand(3, 4, 16, 16)
    before = encoder(pixels)
    encoder.fold()
    assert not any(isinstance(part, nn.BatchNorm2d) for part in encoder.modules())
    assert torch.allclose(encoder(pixels), before, rtol=1e-4, atol=1e-4)
