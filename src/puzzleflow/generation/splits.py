"""Which picture goes to which split."""

from __future__ import annotations

import re

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import IntArray

SPLIT_NAMES = ("train", "val", "test")


def parse_shares(text: str) -> tuple[float, float, float]:
    """``"70/15/15"`` → shares of train, val and test that sum to 1."""
    numbers = re.split(r"[/,:]", text)
    try:
        shares = [float(number) for number in numbers]
    except ValueError:
        shares = []
    if len(shares) != 3 or not all(0 <= s < 1e9 for s in shares) or sum(shares) <= 0:
        raise InputError(f"splits {text!r}: expected TRAIN/VAL/TEST, for example 70/15/15")
    total = sum(shares)
    return shares[0] / total, shares[1] / total, shares[2] / total


def split_sizes(count: int, shares: tuple[float, float, float]) -> list[int]:
    """Whole numbers that sum to ``count``, each as near to its share as can be."""
    exact = [share * count for share in shares]
    sizes = [int(size + 1e-9) for size in exact]
    remainders = [size - whole for size, whole in zip(exact, sizes, strict=True)]
    for index in sorted(range(3), key=lambda i: (-remainders[i], i))[: count - sum(sizes)]:
        sizes[index] += 1
    return sizes


def assign_splits(
    groups: IntArray, shares: tuple[float, float, float], seed: int
) -> dict[str, IntArray]:
    """Indices of the pictures of every split, in a random order; groups stay whole.

    groups  (M,) pictures with the same number belong together

    Large groups are dealt first, each to a split drawn by the room that is left,
    so that single pictures fill every split to its exact size at the end.
    """
    rng = child_rng(seed, "splits")
    numbers, counts = np.unique(groups, return_counts=True)
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(counts)[:-1])
    order = rng.permutation(len(numbers))
    order = order[np.argsort(-counts[order], kind="stable")]
    room = np.array(split_sizes(len(groups), shares), dtype=np.int64)
    dealt: list[list[int]] = [[], [], []]
    for index in order:
        fits = np.where(room >= counts[index], room, 0)
        if fits.sum() > 0:
            chosen = int(np.searchsorted(np.cumsum(fits), rng.integers(fits.sum()), side="right"))
        else:
            chosen = int(np.argmax(room))
        room[chosen] -= counts[index]
        dealt[chosen].extend(members[index].tolist())
    return {
        name: rng.permutation(np.array(sorted(indices), dtype=np.int64))
        for name, indices in zip(SPLIT_NAMES, dealt, strict=True)
    }
