"""Many fragments at once: chunks of seeds over worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_seed
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.fragments import FRAGMENTS, FragmentGenerator, fragment_generator
from puzzleflow.parallel import bounded_map

CHUNK = 64


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
