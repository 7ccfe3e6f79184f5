"""Which masks train, which choose, and which are held out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_seed

LEAST_MASKS = 20  # below this an 80/10/10 split leaves nothing to choose by


@dataclass(frozen=True)
class MaskSplit:
    """Indices into one list of masks, each part in rising order."""

    train: list[int]
    validation: list[int]
    test: list[int]


def split_masks(names: Sequence[str], seed: int = 0) -> MaskSplit:
    """80/10/10, drawn within each subfolder so that every source is in each part.

    A mask's part depends on the names in its own folder and the seed alone.
    """
    if len(names) < LEAST_MASKS:
        raise InputError(
            f"an 80/10/10 split needs at least {LEAST_MASKS} masks, there are {len(names)}"
        )
    folders: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        folders[name.rpartition("/")[0]].append(index)
    split = MaskSplit([], [], [])
    for indices in folders.values():
        drawn = sorted(indices, key=lambda index: child_seed(seed, "split", names[index]))
        tenth = round(len(drawn) / 10)
        split.validation.extend(drawn[:tenth])
        split.test.extend(drawn[tenth : 2 * tenth])
        split.train.extend(drawn[2 * tenth :])
    for part in (split.train, split.validation, split.test):
        part.sort()
    if not split.validation:
        raise InputError(f"{len(names)} masks in {len(folders)} folders are too few for a split")
    return split
