"""What solvers see of pieces, however large they were photographed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import reduced

LARGEST_PX = 192  # no solver looks closer than this


def seen(puzzle: Puzzle) -> Puzzle:
    """What a solver is shown of ``puzzle``: pieces as it sees them, and no truth."""
    return replace(puzzle.without_truth(), pieces=for_solver(puzzle.pieces))


def for_solver(pieces: ByteArray) -> ByteArray:
    """(N, h, w, 4) small enough to be compared quickly; alpha is 0 or 255, no colour below it."""
    small = np.stack([reduced(piece, LARGEST_PX) for piece in pieces])
    inside = small[..., 3] > 127
    small[..., 3] = np.where(inside, 255, 0)
    small[..., :3][~inside] = 0
    return small
