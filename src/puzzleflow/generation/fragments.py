"""Fragment generators by name: seeds in, finished 128x128 outlines out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from puzzleflow.core.errors import InputError, PuzzleFlowError
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.masks import is_degenerate
from puzzleflow.masks import MASK_PX
from puzzleflow.registry import Registry

MAX_ATTEMPTS = 100

FRAGMENTS = Registry(
    what="fragment generator",
    group="puzzleflow.fragments",
    builtin={
        "gap": "puzzleflow.generation.gap_fragments:GapFragments",
        "outline": "puzzleflow.generation.outline_fragments:OutlineFragments",
        "vae": "puzzleflow.generation.vae_fragments:VAEFragments",
        "vae-prior": "puzzleflow.generation.vae_fragments:PriorFragments",
    },
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
