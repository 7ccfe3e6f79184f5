"""Fragment generators by name: seeds in, finished 128x128 outlines out, many at once.

From a decoder's output to a clean outline lead the published steps, one function each.
Connectivity follows the paper's hole filling: background spreads over edges (4 neighbours), so
material hangs together over corners too (8 neighbours).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy import ndimage
from skimage import morphology

from puzzleflow.core.errors import InputError, PuzzleFlowError
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import BoolArray, FloatArray
from puzzleflow.masks import MASK_PX, bounding_box
from puzzleflow.parallel import bounded_map
from puzzleflow.registry import Registry

THRESHOLD = 0.5
CLOSING_RADIUS_PX = 2
LEAST_AREA_PART = 0.2  # a mask with less material is degenerate
LEAST_SIDE_PART = 0.6  # and so is one whose bounding box is shorter than this

_EIGHT_NEIGHBOURS = np.ones((3, 3), dtype=bool)
MAX_ATTEMPTS = 100

FRAGMENTS = Registry(
    what="fragment generator",
    group="puzzleflow.fragments",
    builtin={
        "gap": "puzzleflow.generation.generators:GapFragments",
        "outline": "puzzleflow.generation.generators:OutlineFragments",
        "vae": "puzzleflow.generation.generators:VAEFragments",
        "vae-prior": "puzzleflow.generation.generators:PriorFragments",
    },
)
CHUNK = 64


def threshold(probabilities: FloatArray, level: float = THRESHOLD) -> BoolArray:
    """Material where the probability exceeds ``level``; any shape."""
    return np.asarray(probabilities > level)


def fill_holes(mask: BoolArray) -> BoolArray:
    """Background that cannot be reached from the border becomes material."""
    labels, count = ndimage.label(~np.pad(mask, 1))  # over edges; the first is the outside
    return np.asarray(labels != 1)[1:-1, 1:-1] if count > 1 else mask.copy()


def largest_component(mask: BoolArray) -> BoolArray:
    """The largest piece of material; of equals, the first in reading order."""
    labels, count = ndimage.label(mask, structure=_EIGHT_NEIGHBOURS)
    if count <= 1:
        return mask.copy()
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    return np.asarray(labels == sizes.argmax())


def close_disk(mask: BoolArray, radius_px: int = CLOSING_RADIUS_PX) -> BoolArray:
    """Closing (dilation, then erosion) with a disk, as on an endless plane.

    Nothing is lost where the mask touches the border of its frame.
    """
    margin = 2 * radius_px
    disk = morphology.disk(radius_px)  # type: ignore[no-untyped-call]
    closed = ndimage.binary_closing(np.pad(mask, margin), disk)
    return np.asarray(closed[margin:-margin, margin:-margin])


def finish(probabilities: FloatArray) -> BoolArray:
    """The published post-processing of one (H, W) output, in the published order."""
    binary = threshold(probabilities)
    whole = fill_holes(binary)
    single = largest_component(whole)
    return close_disk(single)


def is_degenerate(mask: BoolArray) -> bool:
    """Too little material, or too thin, to stand for a fragment."""
    height, width = mask.shape
    top, bottom, left, right = bounding_box(mask)
    return bool(
        mask.sum() < LEAST_AREA_PART * mask.size
        or bottom - top < LEAST_SIDE_PART * height
        or right - left < LEAST_SIDE_PART * width
    )


class FragmentGenerator(Protocol):
    """Draws fragments; each mask is a function of its own seed alone."""

    name: str
    rejected: int  # degenerate samples that were drawn again so far

    def masks(self, seeds: Sequence[int]) -> BoolArray:
        """(len(seeds), 128, 128) bool."""
        ...


def list_fragment_generators() -> list[str]:
    """Names that ``fragment_generator`` takes."""
    return FRAGMENTS.names()


def fragment_generator(name: str = "vae", weights: str | None = None) -> FragmentGenerator:
    """A generator with its bundled weights, or with those of a file."""
    generator: FragmentGenerator = FRAGMENTS.build(name, weights)
    return generator


def draw_masks(
    seeds: Sequence[int], draw: Callable[[list[int], int], BoolArray]
) -> tuple[BoolArray, int]:
    """Masks for ``seeds`` and the number of degenerate samples drawn again.

    ``draw(seeds, attempt)`` returns one mask per seed; a degenerate one is
    drawn again with the next attempt number of its own seed.
    """
    if any(seed < 0 for seed in seeds):
        raise InputError("seeds are whole numbers from 0")
    masks = np.zeros((len(seeds), MASK_PX, MASK_PX), dtype=bool)
    waiting = list(range(len(seeds)))
    rejected = 0
    for attempt in range(MAX_ATTEMPTS):
        if not waiting:
            return masks, rejected
        drawn = draw([int(seeds[index]) for index in waiting], attempt)
        masks[waiting] = drawn
        good = [not is_degenerate(mask) for mask in drawn]
        waiting = [index for index, fine in zip(waiting, good, strict=True) if not fine]
        rejected += len(waiting)
    if waiting:
        raise PuzzleFlowError(
            f"seed {seeds[waiting[0]]} gave {MAX_ATTEMPTS} degenerate masks in a row"
        )
    return masks, rejected


def sample_seed(seed: int, index: int) -> int:
    """The seed of sample number ``index`` below a root ``seed``."""
    return child_seed(seed, "mask", index)


def sample_masks(
    name: str, count: int, seed: int, *, weights: str | None = None, num_workers: int = 1
) -> Iterator[tuple[BoolArray, int]]:
    """``count`` masks in chunks, in order, each with its number of rejected samples.

    The masks depend on the generator and ``seed`` alone, whatever the number
    of workers.
    """
    if count < 1:
        raise InputError(f"{count} masks: expected at least one")
    FRAGMENTS.target(name)  # an unknown name is an error before any work
    tasks = (
        (name, weights, seed, range(start, min(start + CHUNK, count)))
        for start in range(0, count, CHUNK)
    )
    yield from bounded_map(_sample_chunk, tasks, num_workers=num_workers)


def _sample_chunk(task: tuple[str, str | None, int, range]) -> tuple[BoolArray, int]:
    name, weights, seed, indices = task
    generator = _generator(name, weights)
    before = generator.rejected
    masks = generator.masks([sample_seed(seed, index) for index in indices])
    return masks, generator.rejected - before


@lru_cache(maxsize=2)
def _generator(name: str, weights: str | None) -> FragmentGenerator:
    return fragment_generator(name, weights)
