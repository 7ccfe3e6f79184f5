"""Cut-outs of differing sizes → equal cells: the one way from pieces to a puzzle's array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import ByteArray

MAX_PIXELS = 1 << 28  # of all pieces of a puzzle together


def equal_cells(pieces: Sequence[ByteArray], max_pixels: int = MAX_PIXELS) -> ByteArray:
    """(N, H, W, 4) of (h, w, 4) pieces.

    Pieces of one size are cells already and stay as they are. Others are centred, scale
    kept and transparent around, on a square that the longest side of any of them fills:
    solvers learn from pieces that reach, or nearly reach, the border of the cell.
    """
    shapes = {piece.shape[:2] for piece in pieces}
    if not shapes:
        raise InputError("no pieces")
    height, width = shapes.pop()
    if shapes:
        height = width = max(height, width, *(side for shape in shapes for side in shape))
    if len(pieces) * height * width > max_pixels:
        raise InputError(
            f"{len(pieces)} pieces of {width}x{height} pixels are more than the "
            f"{max_pixels:,} pixels allowed: make the pictures smaller"
        )
    cells = np.zeros((len(pieces), height, width, 4), np.uint8)
    for cell, piece in zip(cells, pieces, strict=True):
        tall, wide = piece.shape[:2]
        top, left = (height - tall) // 2, (width - wide) // 2
        cell[top : top + tall, left : left + wide] = piece
    return cells


def crop_to_material(piece: ByteArray) -> ByteArray:
    """(h, w, 4) the smallest rectangle that holds all material."""
    rows = np.flatnonzero(piece[..., 3].any(axis=1))
    cols = np.flatnonzero(piece[..., 3].any(axis=0))
    if not len(rows):
        raise FormatError("a fragment without material")
    return piece[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1].copy()
