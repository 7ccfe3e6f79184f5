"""The sides of pieces as arrays: what lies on the border, what lies on the outline.

A side is read row by row (left and right sides) or column by column (upper
and lower sides), each line from the outside inward; L lines, depth pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.grid import Direction
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.masks import bounding_box

OPAQUE = 127  # alpha above this is material


@dataclass(frozen=True, eq=False)
class Side:
    """One side of all N pieces.

    edge   (N, L, 3) uint8 colour of the outermost pixel of every line
    inner  (N, L, 3) uint8 colour of the next pixel inward
    void   (N, L) int64 pixels of void outside ``edge``
    solid  (N, L) True where the line holds material at all
    """

    edge: ByteArray
    inner: ByteArray
    void: IntArray
    solid: BoolArray


def common_box(pieces: ByteArray) -> ByteArray:
    """``pieces`` cropped to the bounding box of all their material together.

    A frame that is void in every piece (JPwLEG's straight gaps) says nothing
    and goes; the outlines of GAP fill their cells and stay as they are.
    """
    material: BoolArray = np.any(pieces[..., 3] > OPAQUE, axis=0)  # (H, W)
    if not material.any():
        return pieces
    top, bottom, left, right = bounding_box(material)
    return pieces[:, top:bottom, left:right]


def oriented(pieces: ByteArray, direction: Direction) -> ByteArray:
    """(N, L, depth, C) view whose lines run inward from the side towards ``direction``."""
    if direction in (Direction.UP, Direction.DOWN):
        pieces = pieces.swapaxes(1, 2)  # (N, W, H, C)
    return pieces[:, :, ::-1] if direction in (Direction.RIGHT, Direction.DOWN) else pieces


def border_side(pieces: ByteArray, direction: Direction) -> Side:
    """The outermost pixels of the arrays, material or not."""
    lines = oriented(pieces, direction)
    shape = lines.shape[:2]
    second = min(1, lines.shape[2] - 1)
    return Side(
        lines[:, :, 0, :3], lines[:, :, second, :3], np.zeros(shape, np.int64), np.ones(shape, bool)
    )


def outline_side(pieces: ByteArray, direction: Direction) -> Side:
    """The outermost *opaque* pixel of every line, and its neighbour inward if opaque too."""
    lines = oriented(pieces, direction)  # (N, L, depth, 4)
    opaque: BoolArray = np.asarray(lines[..., 3] > OPAQUE)
    solid: BoolArray = np.asarray(opaque.any(axis=2))
    void = np.where(solid, opaque.argmax(axis=2), 0)  # (N, L)
    second = np.minimum(void + 1, lines.shape[2] - 1)
    piece, line = np.ogrid[: lines.shape[0], : lines.shape[1]]
    second = np.where(opaque[piece, line, second], second, void)
    return Side(lines[piece, line, void, :3], lines[piece, line, second, :3], void, solid)
