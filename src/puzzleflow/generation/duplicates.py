"""Pictures that show the same thing: a perceptual hash, compared all against all.

The signature of a picture is a 128-bit difference hash (does it get brighter to
the right, to the bottom, on a 9 × 9 miniature) and a 16 × 16 grey miniature. Two
pictures count as near-duplicates if their hashes differ in at most 10 bits, or in
at most 20 while their miniatures correlate by 0.965 or more: chosen by eye on
pairs of museum pictures, where recoloured reproductions of one painting meet both
and different paintings meet neither. Rather too many than too few are kept together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.pictures import to_image

MAX_BITS = 10
MAX_BITS_ALIKE = 20
MIN_CORRELATION = 0.965
_BLOCK = 1024


@dataclass(frozen=True)
class Signature:
    """128-bit hash as 32 hex digits, and 256 grey values as 512 hex digits."""

    bits: str
    miniature: str


def signature(picture: ByteArray) -> Signature:
    """What (H, W, 3) uint8 looks like from afar."""
    grey = to_image(picture).convert("L")
    small = np.asarray(grey.resize((9, 9), resample=4), np.int16)  # 4: the mean over boxes
    rightward = small[:-1, 1:] > small[:-1, :-1]  # (8, 8)
    downward = small[1:, :-1] > small[:-1, :-1]  # (8, 8)
    bits = np.packbits(np.concatenate([rightward.ravel(), downward.ravel()]))
    miniature = np.asarray(grey.resize((16, 16), resample=4), np.uint8)
    return Signature(bits.tobytes().hex(), miniature.tobytes().hex())


def near_duplicate_groups(signatures: list[Signature]) -> IntArray:
    """(M,) the group of every picture: the smallest index among its near-duplicates."""
    count = len(signatures)
    groups = np.arange(count)
    if count < 2:
        return groups
    bits = np.frombuffer(bytes.fromhex("".join(s.bits for s in signatures)), np.uint64)
    bits = bits.reshape(count, 2)
    first, second = np.ascontiguousarray(bits[:, 0]), np.ascontiguousarray(bits[:, 1])
    miniatures = _normalised(signatures)  # (M, 256)
    for start in range(0, count, _BLOCK):
        rows = slice(start, min(start + _BLOCK, count))
        close = np.bitwise_count(first[rows, None] ^ first[None, start:])  # (b, M - start)
        left, right = np.nonzero(close <= MAX_BITS_ALIKE)
        later = right > left
        left, right = left[later] + start, right[later] + start  # (P,)
        distance = np.bitwise_count(first[left] ^ first[right]).astype(np.int64)
        distance += np.bitwise_count(second[left] ^ second[right])
        near = distance <= MAX_BITS_ALIKE
        left, right, distance = left[near], right[near], distance[near]
        alike = np.einsum("pi,pi->p", miniatures[left], miniatures[right])
        same = (distance <= MAX_BITS) | (alike >= MIN_CORRELATION)
        groups = _joined(groups, left[same], right[same])
    return groups


def _normalised(signatures: list[Signature]) -> np.typing.NDArray[np.float32]:
    grey = np.frombuffer(bytes.fromhex("".join(s.miniature for s in signatures)), np.uint8)
    centred = grey.reshape(len(signatures), 256).astype(np.float32)  # (M, 256)
    centred -= centred.mean(axis=1, keepdims=True)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True) + 1e-6
    return centred


def _joined(groups: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Groups, each called by its smallest index, after joining the pairs (left, right)."""
    ends = np.concatenate([groups, left]), np.concatenate([np.arange(len(groups)), right])
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(len(groups), len(groups)))
    labels = connected_components(graph, directed=False)[1]  # (M,)
    return np.asarray(np.unique(labels, return_index=True)[1][labels])
