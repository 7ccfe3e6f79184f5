"""The lattice of cells on which a puzzle is laid."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np

from puzzleflow.core.errors import NotAGrid
from puzzleflow.core.types import IntArray


class Direction(IntEnum):
    """Where a neighbour lies, in the order of the official evaluation."""

    RIGHT = 0
    DOWN = 1
    LEFT = 2
    UP = 3

    @property
    def opposite(self) -> Direction:
        return Direction((self + 2) % 4)

    @property
    def step(self) -> tuple[int, int]:
        """(rows, cols) from a cell to its neighbour in this direction."""
        return ((0, 1), (1, 0), (0, -1), (-1, 0))[self]


@dataclass(frozen=True, order=True)
class Grid:
    """rows × cols cells; positions count row-major: ``row * cols + col``."""

    rows: int
    cols: int

    def __post_init__(self) -> None:
        for name in ("rows", "cols"):
            try:
                count = operator.index(getattr(self, name))
            except TypeError:
                raise NotAGrid(
                    f"rows and columns are whole numbers, not {getattr(self, name)!r}"
                ) from None
            object.__setattr__(self, name, count)
        if self.rows < 1 or self.cols < 1:
            raise NotAGrid(f"a grid needs at least 1x1 cells, not {self.rows}x{self.cols}")

    @classmethod
    def parse(cls, text: str) -> Grid:
        """Read ``"3x5"`` (3 rows, 5 columns) or ``"3"`` (3 by 3)."""
        match = re.fullmatch(r"\s*(\d{1,4})\s*(?:[xX×*]\s*(\d{1,4}))?\s*", text)
        if match is None:
            raise NotAGrid(f"{text!r} is no grid; write ROWSxCOLS, for example 3x3")
        rows = int(match[1])
        return cls(rows, int(match[2]) if match[2] else rows)

    @classmethod
    def square(cls, num_pieces: int) -> Grid:
        """The k × k grid of ``num_pieces`` cells."""
        side = math.isqrt(max(num_pieces, 0))
        if num_pieces < 1 or side * side != num_pieces:
            raise NotAGrid(f"{num_pieces} pieces fill no square grid")
        return cls(side, side)

    @classmethod
    def factorisations(cls, num_pieces: int) -> list[Grid]:
        """Every grid of ``num_pieces`` cells, the most square ones first."""
        if num_pieces < 1:
            raise NotAGrid("no pieces, no grid")
        grids = [cls(r, num_pieces // r) for r in range(1, num_pieces + 1) if num_pieces % r == 0]
        return sorted(grids, key=lambda g: (abs(g.rows - g.cols), g.rows))

    @property
    def num_pieces(self) -> int:
        return self.rows * self.cols

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols}"

    def cell(self, position: int) -> tuple[int, int]:
        """(row, col) of a position."""
        return divmod(position, self.cols)

    def position(self, row: int, col: int) -> int:
        return row * self.cols + col

    @property
    def coordinates(self) -> IntArray:
        """(N, 2) row and column of every position."""
        return np.stack(np.divmod(np.arange(self.num_pieces), self.cols), axis=1)

    def turned(self, turns: int) -> Grid:
        """The grid after quarter turns of the whole."""
        return Grid(self.cols, self.rows) if turns % 2 else self

    def turned_position(self, position: IntArray, turns: int) -> IntArray:
        """Where positions come to lie on ``turned(turns)``, turned against the clock."""
        cells = np.rot90(np.arange(self.num_pieces).reshape(self.shape), turns)
        where = np.empty(self.num_pieces, dtype=np.int64)
        where[cells.ravel()] = np.arange(self.num_pieces)
        return where[position]

    def shifted_position(self, position: IntArray, down: int, right: int) -> IntArray:
        """Where positions come to lie when all is moved, round the edges."""
        row, col = np.divmod(position, self.cols)
        moved: IntArray = (row + down) % self.rows * self.cols + (col + right) % self.cols
        return moved

    def neighbours(self, direction: Direction) -> IntArray:
        """(E, 2) positions (a, b) such that b lies in ``direction`` of a."""
        return _neighbours(self, direction)

    def on_frame(self, direction: Direction) -> IntArray:
        """Positions whose side towards ``direction`` lies on the outer frame."""
        cells = np.arange(self.num_pieces).reshape(self.shape)
        return (cells[:, -1], cells[-1], cells[:, 0], cells[0])[direction]


@lru_cache(maxsize=64)
def _neighbours(grid: Grid, direction: Direction) -> IntArray:
    cells = np.arange(grid.num_pieces).reshape(grid.shape)
    if direction in (Direction.RIGHT, Direction.LEFT):
        first, second = cells[:, :-1], cells[:, 1:]
    else:
        first, second = cells[:-1], cells[1:]
    if direction in (Direction.LEFT, Direction.UP):
        first, second = second, first
    pairs = np.stack([first.ravel(), second.ravel()], axis=1)  # (E, 2)
    pairs.flags.writeable = False
    return pairs
