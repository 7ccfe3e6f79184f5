"""Erosion along outlines: real ones, those of a fragment generator, and others moved inward."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Annotated

import numpy as np
from scipy import ndimage

from puzzleflow.core.ceiling import check_time
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.generation.erosion import SHRINK, ErosionModel
from puzzleflow.generation.fragments import (
    FragmentGenerator,
    fill_holes,
    fragment_generator,
    largest_component,
)
from puzzleflow.masks import each_mask, resize_mask
from puzzleflow.options import Within

MOST_REMEMBERED = 8192  # drawn masks of one generator, 2 KB each
# percent of the side: an outline has met itself by the half
Shrink = Annotated[float, Within(-50, 50)]


class OutlineErosion:
    """Outlines of real fragments; every seed draws one of them, all equally likely."""

    def __init__(self, path: str) -> None:
        self.name = f"outlines:{path}"
        self._bank = [(mask.shape, np.packbits(mask)) for _, mask, _ in each_mask(path)]

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
            check_time()
            shape, bits = self._bank[child_rng(seed, "outline").integers(len(self._bank))]
            outline = np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape)
            masks[index] = resize_mask(outline.astype(bool), height, width)
        return masks


class GeneratedErosion:
    """Masks of a fragment generator; the last ones are remembered.

    Sweeps cut the same masks again and again, and drawing one takes longer than cutting it.
    """

    def __init__(self, name: str, generator: FragmentGenerator) -> None:
        self.name = name
        self._generator = generator
        self._drawn: dict[int, ByteArray] = {}  # seed → (128, 16) packed
        self._lock = threading.Lock()

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        if not len(seeds):
            return np.zeros((0, height, width), bool)
        drawn = self._draw(seeds)  # (N, 128, 128)
        masks = np.empty((len(drawn), height, width), bool)
        for index, mask in enumerate(drawn):
            check_time()
            masks[index] = resize_mask(mask, height, width)
        return masks

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
def generated(name: str) -> GeneratedErosion:
    """The erosion of the fragment generator ``name``, made once."""
    return GeneratedErosion(name, fragment_generator(name))


gap = partial(generated, "gap")
outline = partial(generated, "outline")
vae = partial(generated, "vae")
vae_prior = partial(generated, "vae-prior")


class ShrunkErosion:
    """Masks of another model with their outlines moved, so that gaps grow by twice as much."""

    def __init__(self, base: ErosionModel, shrink: Shrink) -> None:
        self.name = f"{base.name}{SHRINK}{shrink:g}"
        self.base, self.percent = base, shrink

    @property
    def checksum(self) -> int | None:
        """That of the base, where it has one: outlines may have moved, their name tells how."""
        checksum: int | None = getattr(self.base, "checksum", None)
        return checksum

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        masks = self.base.masks(seeds, height, width).copy()
        inward_px = self.percent / 100 * min(height, width)
        for index, mask in enumerate(masks):
            check_time()
            masks[index] = move_outline(mask, inward_px)
        return masks


def move_outline(mask: BoolArray, inward_px: float) -> BoolArray:
    """(H, W) ``mask`` with its outline moved inward, or outward where negative.

    Outside the cell there is no material, so a side that lies on the frame moves
    as well. What remains is one fragment: of several parts the largest, without
    holes, and never less than the pixels that lie deepest inside.
    """
    if inward_px > 0:
        depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]  # 1 at the border
        level = min(inward_px, np.nextafter(depth.max(), 0))
        return largest_component(depth > level)
    if inward_px < 0:
        return fill_holes(ndimage.distance_transform_edt(~mask) <= -inward_px)
    return mask
