"""Fragment generators by name: seeds in, finished 128x128 outlines out, many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from puzzleflow.core.errors import InputError, PuzzleFlowError
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.masks import is_degenerate
from puzzleflow.masks import MASK_PX
from puzzleflow.parallel import bounded_map
from puzzleflow.registry import Registry

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
