"""Pairwise costs of seams, by which the classical solvers lay pieces, and the sides they come from.

A side is read row by row (left and right sides) or column by column (upper
and lower sides), each line from the outside inward; L lines, depth pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray, IntArray
from puzzleflow.masks import bounding_box
from puzzleflow.search.energy import Energy

OPAQUE = 127  # alpha above this is material


@dataclass(frozen=True, eq=False)
class SeamCosts:
    """``right[i, j]``: piece j directly right of piece i; ``down[i, j]``: j directly below i.

    Both (N, N) float64, lower is better; the diagonal is infinite.
    """

    right: FloatArray
    down: FloatArray

    def __post_init__(self) -> None:
        for name in ("right", "down"):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.ndim != 2 or array.shape[0] != array.shape[1]:
                raise InputError(f"{name} costs must have shape (N, N), not {array.shape}")
            np.fill_diagonal(array, np.inf)
            if np.isnan(array).any():
                raise InputError(f"{name} costs hold NaN")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if self.right.shape != self.down.shape:
            raise InputError(f"costs differ in shape: {self.right.shape}, {self.down.shape}")

    @property
    def num_pieces(self) -> int:
        return len(self.right)

    def between_pieces(self, copies: int) -> SeamCosts:
        """The same where every piece is there in so many copies: none lies beside another."""
        piece = np.arange(self.num_pieces) // copies
        same = piece[:, None] == piece
        return SeamCosts(np.where(same, np.inf, self.right), np.where(same, np.inf, self.down))

    def among(self, chosen: IntArray) -> SeamCosts:
        """The costs of some of the pieces alone."""
        box = np.ix_(chosen, chosen)
        return SeamCosts(self.right[box], self.down[box])

    def tamed(self) -> SeamCosts:
        """The same order without negative or infinite costs off the diagonal.

        All costs are raised until none is negative, which changes no layout's
        rank; infinite ones become dearer than any sum of the others.
        """
        both = np.stack([self.right, self.down])  # (2, N, N)
        finite = both[np.isfinite(both)]
        if not finite.size:
            return SeamCosts(np.ones_like(self.right), np.ones_like(self.down))
        raised = both - min(0.0, float(finite.min()))
        dear = 4 * self.num_pieces * (1.0 + float(raised[np.isfinite(raised)].max()))
        raised[~np.isfinite(raised)] = dear
        return SeamCosts(raised[0], raised[1])

    def stacked(self) -> FloatArray:
        """(4, N, N): ``[d, i, j]`` is the cost of j lying in direction d of i."""
        by_direction = {
            Direction.RIGHT: self.right,
            Direction.DOWN: self.down,
            Direction.LEFT: self.right.T,
            Direction.UP: self.down.T,
        }
        return np.stack([by_direction[direction] for direction in Direction])

    def energy(self, grid: Grid) -> Energy:
        """The sum of the costs of all seams on ``grid``."""
        right, down = self.right.copy(), self.down.copy()
        np.fill_diagonal(right, 0.0)  # never used, and 0 keeps sums finite
        np.fill_diagonal(down, 0.0)
        return Energy.of(grid, right=right, down=down)


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
