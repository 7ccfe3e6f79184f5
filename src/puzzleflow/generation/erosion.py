"""Erosion models by name: which pixels of a cell are material and which are gap.

none           every pixel is material
fixed:PX       a straight gap of PX pixels between neighbours, as in JPwLEG
linear         straight gaps of random width on every side, as in Deepzzle
outlines:PATH  given outlines (a folder of PNGs or a packed .npz), drawn at random
vae, ...       a fragment generator of :mod:`puzzleflow.generation.fragments`
NAME:shrink=K  the masks of NAME, outlines moved inward by K % of the cell's side
               (outward for K < 0), for example vae:shrink=5

Other packages add theirs through the entry-point group ``puzzleflow.erosions``:
``NAME`` calls what is registered without arguments, ``NAME:TEXT`` with TEXT, which
:mod:`puzzleflow.options` checks.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Annotated, Protocol, runtime_checkable

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray
from puzzleflow.options import Within, checked_call
from puzzleflow.registry import Registry

EROSIONS = Registry(
    what="erosion",
    group="puzzleflow.erosions",
    builtin={
        "fixed": "puzzleflow.generation.erosion:FixedErosion",
        "gap": "puzzleflow.generation.erosion_models:gap",
        "linear": "puzzleflow.generation.erosion:LinearErosion",
        "none": "puzzleflow.generation.erosion:NoErosion",
        "outline": "puzzleflow.generation.erosion_models:outline",
        "outlines": "puzzleflow.generation.erosion_models:OutlineErosion",
        "vae": "puzzleflow.generation.erosion_models:vae",
        "vae-prior": "puzzleflow.generation.erosion_models:vae_prior",
    },
)
SHRINK = ":shrink="
# Deepzzle lays 96 px squares at a pitch of 144 px and moves each by up to 7 px.
LINEAR_MARGIN = (17 / 144, 31 / 144)


@runtime_checkable
class ErosionModel(Protocol):
    """Seeds → masks; ``name`` is what :func:`erosion_model` accepts to make it again.

    A mask depends on its seed and its size alone, never on the batch or the
    worker that makes it.
    """

    name: str

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        """(N, height, width) bool, True = material; one mask for every seed."""
        ...


def list_erosions() -> list[str]:
    """The names of all erosion models, sorted and without arguments; imports none of them."""
    return EROSIONS.names()


def erosion_model(name: str) -> ErosionModel:
    """The erosion model that ``name`` describes."""
    base, shrink = split_shrink(name.strip())
    if shrink:
        from puzzleflow.generation.erosion_models import ShrunkErosion

        percent = shrink.removeprefix(SHRINK)
        shrunk: ErosionModel = checked_call(
            f"erosion {name!r}", ShrunkErosion, erosion_model(base), percent
        )
        return shrunk
    kind, _, argument = base.partition(":")
    model = EROSIONS.build(kind, *([argument] if argument else []))
    if not isinstance(model, ErosionModel):
        raise InputError(f"erosion {kind!r} ({EROSIONS.target(kind)}) has no name and masks()")
    return model


def split_shrink(name: str) -> tuple[str, str]:
    """``"vae:shrink=5"`` → ``("vae", ":shrink=5")``; the second is empty where nothing shrinks."""
    base, mark, percent = name.rpartition(SHRINK)
    return (base, mark + percent) if mark else (name, "")


def fingerprint(model: ErosionModel) -> str:
    """What tells two models of one name apart: their own checksum, or that of some masks."""
    checksum: int | None = getattr(model, "checksum", None)
    if checksum is None:
        checksum = zlib.crc32(np.packbits(model.masks([0, 1, 2, 3], 64, 64)).data)
    return f"{checksum:08x}"


def erosion_label(name: str) -> str:
    """A name to show: without the folder of the outlines."""
    return f"outlines{split_shrink(name)[1]}" if name.startswith("outlines") else name


class NoErosion:
    """Whole square pieces."""

    name = "none"

    def masks(self, seeds: Sequence[int], height: int, width: int) -> BoolArray:
        return np.ones((len(seeds), height, width), bool)


class FixedErosion:
    """A gap of ``px`` between neighbouring pieces; the seed changes nothing."""

    def __init__(self, px: Annotated[int, Within(0)]) -> None:
        self.gap_px = px
        self.name = f"fixed:{self.gap_px}"

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
