"""Do two puzzles show the same picture, though broken differently?

The fingerprint of a puzzle is the brightness of 16 × 16 spots of its solved
picture, and which of them carry material. Two puzzles show the same picture if
the spots that both have differ by at most :data:`SAME_LEVELS` on average (root
mean square, of 255). Between 1,500 museum pictures broken into 3x3 or 5x5
pieces no pair came below 16; the same picture broken twice stays near 0.
"""

from __future__ import annotations

import numpy as np

from puzzleflow.core.canvas import lay
from puzzleflow.core.puzzle import Puzzle, turned_pieces
from puzzleflow.core.types import FloatArray, IntArray

SPOTS = 16
SAME_LEVELS = 8.0
MIN_COMMON = 24
_REACH = 2  # a spot is 5 x 5 pixels
_BLOCK = 256
_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def fingerprint(puzzle: Puzzle) -> FloatArray:
    """(256,) brightness of every spot of the solved picture, NaN without material."""
    if puzzle.truth is None:
        raise ValueError("a fingerprint needs the truth")
    turns = puzzle.true_turns
    upright = puzzle.pieces if turns is None else turned_pieces(puzzle.pieces, turns)
    canvas = lay(upright, puzzle.truth, puzzle.grid)  # (H, W, 4)
    rows, cols = (_spots(size) for size in canvas.shape[:2])
    around = canvas[np.ix_(rows.ravel(), cols.ravel())]  # (16*5, 16*5, 4)
    width = 2 * _REACH + 1
    present = (around[..., 3] > 127).astype(np.float32)
    grey = (around[..., :3].astype(np.float32) @ _GREY) * present
    shape = (SPOTS, width, SPOTS, width)
    count = present.reshape(shape).sum((1, 3))  # (16, 16)
    total = grey.reshape(shape).sum((1, 3))  # (16, 16)
    enough = count * 2 >= width * width
    return np.where(enough, total / np.maximum(count, 1), np.float32(np.nan)).ravel()


def _spots(size: int) -> IntArray:
    """(16, 5) pixel indices of every spot along one side."""
    centres = ((np.arange(SPOTS) + 0.5) * size / SPOTS).astype(np.int64)
    reach = np.arange(-_REACH, _REACH + 1)
    return np.asarray(np.clip(centres[:, None] + reach, 0, size - 1))


def find_repeats(first: FloatArray, second: FloatArray | None = None) -> IntArray:
    """(R, 2) index pairs of (M, 256) fingerprints that show the same picture.

    Without ``second`` the pairs i < j within ``first``.
    """
    within = second is None
    other = first if second is None else second
    pairs: list[IntArray] = [np.empty((0, 2), dtype=np.int64)]
    there, values = _split(other)
    for start in range(0, len(first), _BLOCK):
        mine, own = _split(first[start : start + _BLOCK])  # (b, 256)
        common = mine @ there.T  # (b, M)
        squares = (own**2) @ there.T + mine @ (values**2).T - 2 * own @ values.T
        same = (common >= MIN_COMMON) & (squares <= SAME_LEVELS**2 * common)
        rows, cols = np.nonzero(same)
        found = np.stack([rows + start, cols], axis=1)  # (R, 2)
        pairs.append(found[found[:, 0] < found[:, 1]] if within else found)
    return np.concatenate(pairs)


def _split(fingerprints: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Presence (M, 256) and value with 0 where absent (M, 256)."""
    present = np.isfinite(fingerprints)
    return present.astype(np.float32), np.where(present, fingerprints, 0).astype(np.float32)
