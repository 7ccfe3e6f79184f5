"""Erosion models by name: which pixels of a cell are material and which are gap.

none           every pixel is material
fixed:PX       a straight gap of PX pixels between neighbours, as in JPwLEG
linear         straight gaps of random width on every side, as in Deepzzle
outlines:DIR   given outlines, one PNG each, drawn at random
vae, ...       a fragment generator of :mod:`puzzleflow.generation.fragments`

Every model turns a seed into a mask by itself, so that a mask depends on its
seed and its size alone, never on the batch or the worker that makes it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.pictures import list_pictures, read_picture, resize

PLAIN_NAMES = ("none", "linear", "fixed:PX", "outlines:DIR")
# Deepzzle lays 96 px squares at a pitch of 144 px and moves each by up to 7 px.
LINEAR_MARGIN = (17 / 144, 31 / 144)


class ErosionModel(Protocol):
    """Seeds → masks; ``name`` is what :func:`erosion_model` accepts to make it again."""

    name: str

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        """(N, height, width) bool, True = material; one mask for every seed."""
        ...


class NoErosion:
    """Whole square pieces."""

    name = "none"

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        return np.ones((len(seeds), height, width), bool)


class FixedErosion:
    """A gap of ``gap_px`` between neighbouring pieces; the seed changes nothing."""

    def __init__(self, gap_px: int) -> None:
        if gap_px < 0:
            raise InputError(f"a gap has at least 0 pixels, not {gap_px}")
        self.gap_px = gap_px
        self.name = f"fixed:{gap_px}"

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        if self.gap_px >= min(height, width):
            raise InputError(f"erosion {self.name} leaves nothing of {height}x{width} px pieces")
        before, after = self.gap_px // 2, self.gap_px - self.gap_px // 2
        masks = np.zeros((len(seeds), height, width), bool)
        masks[:, before : height - after, before : width - after] = True
        return masks


class LinearErosion:
    """Straight gaps whose width is drawn for each of the four sides."""

    name = "linear"

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        masks = np.zeros((len(seeds), height, width), bool)
        for mask, seed in zip(masks, seeds, strict=True):
            top, bottom, left, right = child_rng(seed, "linear").uniform(*LINEAR_MARGIN, size=4)
            mask[
                round(top * height) : height - round(bottom * height),
                round(left * width) : width - round(right * width),
            ] = True
        return masks


class OutlineErosion:
    """Outlines of real fragments from a folder, each as often as chance will have it."""

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        self.name = f"outlines:{folder}"
        paths = list_pictures(folder)
        if not paths:
            raise InputError(f"{folder}: no outline pictures in it")
        self._bank = [_packed(read_outline(path)) for path in paths]

    def __len__(self) -> int:
        return len(self._bank)

    @property
    def checksum(self) -> int:
        """CRC-32 of all outlines."""
        checksum = 0
        for shape, bits in self._bank:
            checksum = zlib.crc32(bits.data, zlib.crc32(str(shape).encode(), checksum))
        return checksum

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        masks = np.empty((len(seeds), height, width), bool)
        for index, seed in enumerate(seeds):
            shape, bits = self._bank[child_rng(seed, "outline").integers(len(self._bank))]
            outline = np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape)
            masks[index] = resize_mask(outline.astype(bool), height, width)
        return masks


class GeneratedErosion:
    """Masks of a learned fragment generator, by its name."""

    def __init__(self, name: str) -> None:
        from puzzleflow.generation.fragments import fragment_generator

        self.name = name
        self._generator = fragment_generator(name)

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        drawn = self._generator.masks(list(seeds))  # (N, 128, 128)
        if drawn.shape[1:] == (height, width):
            return drawn
        return np.stack([resize_mask(mask, height, width) for mask in drawn])  # (N, h, w)


def erosion_model(name: str) -> ErosionModel:
    """The erosion model that ``name`` describes."""
    kind, _, argument = name.strip().replace("outlines ", "outlines:", 1).partition(":")
    if kind == "none" and not argument:
        return NoErosion()
    if kind == "linear" and not argument:
        return LinearErosion()
    if kind == "fixed":
        if not argument.isdecimal():
            raise InputError(f"erosion {name!r}: expected fixed:PX, for example fixed:32")
        return FixedErosion(int(argument))
    if kind == "outlines":
        if not argument:
            raise InputError("erosion 'outlines' needs a folder: outlines:DIR")
        return OutlineErosion(argument)
    try:
        return GeneratedErosion(name)
    except UnknownName as error:
        raise InputError(f"{error}; further erosions: {', '.join(PLAIN_NAMES)}") from error


def fingerprint(model: ErosionModel) -> str:
    """What tells two models of one name apart: a checksum of some or all of their masks."""
    if isinstance(model, OutlineErosion):
        return f"{model.checksum:08x}"
    masks = model.masks([0, 1, 2, 3], 64, 64)  # (4, 64, 64)
    return f"{zlib.crc32(np.packbits(masks).data):08x}"


def erosion_label(name: str) -> str:
    """A name to show: without the folder of the outlines."""
    return "outlines" if name.startswith("outlines") else name


def read_outline(path: str | Path) -> BoolArray:
    """(H, W) mask of a picture: its alpha where it has one that varies, else its brightness."""
    pixels = read_picture(path, "RGBA")
    alpha = pixels[..., 3]
    if alpha.min() == 255:
        alpha = pixels[..., :3].mean(axis=-1)
    mask: BoolArray = alpha > 127
    if not mask.any():
        raise FormatError(f"{path}: the outline is empty; expected white material on black")
    return mask


def resize_mask(mask: BoolArray, height: int, width: int) -> BoolArray:
    """Bilinear resize, then the threshold ½."""
    if mask.shape == (height, width):
        return mask
    grey: ByteArray = mask.astype(np.uint8) * np.uint8(255)
    return resize(grey, height, width) > 127


def _packed(mask: BoolArray) -> tuple[tuple[int, int], ByteArray]:
    return (mask.shape[0], mask.shape[1]), np.packbits(mask)
