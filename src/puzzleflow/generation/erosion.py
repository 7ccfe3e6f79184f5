"""Erosion models by name: which pixels of a cell are material and which are gap.

none           every pixel is material
fixed:PX       a straight gap of PX pixels between neighbours, as in JPwLEG
linear         straight gaps of random width on every side, as in Deepzzle
outlines:DIR   given outlines, one PNG each, drawn at random
vae, ...       a fragment generator of :mod:`puzzleflow.generation.fragments`
NAME:shrink=K  the masks of NAME, outlines moved inward by K % of the cell's side
               (outward for K < 0), for example vae:shrink=5

Every model turns a seed into a mask by itself, so that a mask depends on its
seed and its size alone, never on the batch or the worker that makes it.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.generation.shrinking import move_outline
from puzzleflow.pictures import list_pictures, read_picture, resize

if TYPE_CHECKING:
    from puzzleflow.generation.fragments import FragmentGenerator

PLAIN_NAMES = ("none", "linear", "fixed:PX", "outlines:DIR", "NAME:shrink=K")
SHRINK = ":shrink="
MOST_REMEMBERED = 8192  # drawn masks of one generator, 2 KB each
MOST_SHRINK = 50.0  # percent of the side: an outline has met itself by then
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
    """Masks of a learned fragment generator, by its name; the last ones are remembered.

    Sweeps cut the same masks again and again, and drawing one takes longer than cutting it.
    """

    def __init__(self, name: str, make: Callable[[str], FragmentGenerator]) -> None:
        self.name = name
        self._generator = make(name)
        self._drawn: dict[int, ByteArray] = {}  # seed → (128, 16) packed
        self._lock = threading.Lock()

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        if not len(seeds):
            return np.zeros((0, height, width), bool)
        drawn = self._draw(seeds)  # (N, 128, 128)
        if drawn.shape[1:] == (height, width):
            return drawn
        return np.stack([resize_mask(mask, height, width) for mask in drawn])  # (N, h, w)

    def _draw(self, seeds: Sequence[int]) -> BoolArray:
        """(N, 128, 128) bool, drawn or remembered."""
        with self._lock:
            new = [seed for seed in dict.fromkeys(seeds) if seed not in self._drawn]
            if new:
                packed = np.packbits(self._generator.masks(new), axis=-1)  # (M, 128, 16)
                self._drawn.update(zip(new, packed, strict=True))
            found = np.stack([self._drawn[seed] for seed in seeds])
            for seed in list(self._drawn)[: max(0, len(self._drawn) - MOST_REMEMBERED)]:
                del self._drawn[seed]
        return np.unpackbits(found, axis=-1).astype(bool)


@lru_cache(maxsize=4)
def _generated(name: str, make: Callable[[str], FragmentGenerator]) -> GeneratedErosion:
    return GeneratedErosion(name, make)


class ShrunkErosion:
    """Masks of another model with their outlines moved, so that gaps grow by twice as much."""

    def __init__(self, base: ErosionModel, percent: float) -> None:
        if not -MOST_SHRINK <= percent <= MOST_SHRINK:
            raise InputError(
                f"erosion {base.name}{SHRINK}{percent:g}: expected -{MOST_SHRINK:g} to "
                f"{MOST_SHRINK:g} percent of the side"
            )
        self.base, self.percent = base, percent
        self.name = f"{base.name}{SHRINK}{percent:g}"

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        masks = self.base.masks(seeds, height, width)
        inward_px = self.percent / 100 * min(height, width)
        return np.stack([move_outline(mask, inward_px) for mask in masks])  # (N, h, w)


def split_shrink(name: str) -> tuple[str, str]:
    """``"vae:shrink=5"`` → ``("vae", ":shrink=5")``; the second is empty where nothing shrinks."""
    base, mark, percent = name.rpartition(SHRINK)
    return (base, mark + percent) if mark else (name, "")


def erosion_model(name: str) -> ErosionModel:
    """The erosion model that ``name`` describes."""
    base, shrink = split_shrink(name.strip())
    if shrink:
        try:
            percent = float(shrink.removeprefix(SHRINK))
        except ValueError:
            raise InputError(f"erosion {name!r}: expected NAME{SHRINK}PERCENT") from None
        return ShrunkErosion(erosion_model(base), percent)
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
    from puzzleflow.generation.fragments import fragment_generator

    try:
        return _generated(name, fragment_generator)
    except UnknownName as error:
        raise InputError(f"{error}; further erosions: {', '.join(PLAIN_NAMES)}") from error


def fingerprint(model: ErosionModel) -> str:
    """What tells two models of one name apart: a checksum of some or all of their masks."""
    if isinstance(model, OutlineErosion):
        return f"{model.checksum:08x}"
    if isinstance(model, ShrunkErosion) and isinstance(model.base, OutlineErosion):
        return fingerprint(model.base)
    masks = model.masks([0, 1, 2, 3], 64, 64)  # (4, 64, 64)
    return f"{zlib.crc32(np.packbits(masks).data):08x}"


def erosion_label(name: str) -> str:
    """A name to show: without the folder of the outlines."""
    return f"outlines{split_shrink(name)[1]}" if name.startswith("outlines") else name


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
