"""One picture of shuffled square pieces, as puzzle programs write and read them."""

from __future__ import annotations

from functools import cached_property
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.canvas import cells_of
from puzzleflow.core.errors import FormatError, NotAGrid, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.pictures import SUFFIXES, read_picture
from puzzleflow.storage.source import PuzzleSource

LEAST_PX = 8  # a smaller piece shows nothing
CLEAR = 0.5  # of the clearest cuts: the smallest pieces that are cut so clearly
PLAIN = 0.15  # cuts that stand out less from the rest of the picture are none


class ShuffledSource(PuzzleSource):
    """One puzzle; its pieces are told by the grid, or guessed by where the picture breaks off."""

    kind = "shuffled"
    looks_like = "one picture of shuffled square pieces"

    def __init__(
        self, path: str | Path, *, split: str | None = None, grid: Grid | None = None
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        self.grid  # noqa: B018  a file that only looks like a picture is refused at once

    @classmethod
    def recognise(cls, path: Path) -> bool:
        return path.suffix.lower() in SUFFIXES and path.is_file()

    @property
    def grid(self) -> Grid:
        return self._puzzle.grid

    @property
    def has_truth(self) -> bool:
        return False

    def truths(self) -> IntArray | None:
        return None

    def __len__(self) -> int:
        return 1

    def read(self, index: int) -> Puzzle:
        return self._puzzle

    @cached_property
    def _puzzle(self) -> Puzzle:
        picture = read_picture(self.path, "RGBA")  # (H, W, 4)
        grid = self._asked_grid or guess_grid(picture, str(self.path))
        return Puzzle(cut(picture, grid, str(self.path)), grid, puzzle_id=self.path.stem)

    def close(self) -> None:
        self.__dict__.pop("_puzzle", None)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_puzzle"}


def grid_of(path: Path, piece_px: int) -> Grid:
    """The grid of a picture whose pieces measure ``piece_px``."""
    height, width = read_picture(path, "RGBA").shape[:2]
    if height % piece_px or width % piece_px:
        raise NotAGrid(f"{path}: {width}x{height} pixels are no whole pieces of {piece_px} px")
    return Grid(height // piece_px, width // piece_px)


def cut(picture: ByteArray, grid: Grid, name: str) -> ByteArray:
    """(N, h, w, 4) the cells of a picture, row by row."""
    with naming(name):
        pieces = cells_of(picture, grid)
    if min(pieces.shape[1:3]) < LEAST_PX:
        raise FormatError(
            f"{name}: pieces of {pieces.shape[2]}x{pieces.shape[1]} px; expected {LEAST_PX} or more"
        )
    return np.ascontiguousarray(pieces)


def guess_grid(picture: ByteArray, name: str) -> Grid:
    """The grid of square pieces along whose cuts the picture breaks off.

    Nearly every cut of the true pieces is strong. Half of those of smaller pieces are not;
    those of larger ones are, so the smallest of the clear ones are taken.
    """
    height, width = picture.shape[:2]
    side = gcd(height, width)
    sizes = [px for px in range(LEAST_PX, side + 1) if side % px == 0]
    sizes = [px for px in sizes if (height // px) * (width // px) > 1]
    seen = picture[..., :3].astype(np.float32)
    right = np.abs(np.diff(seen, axis=1)).mean(axis=(0, 2))  # (W - 1) steps between columns
    down = np.abs(np.diff(seen, axis=0)).mean(axis=(1, 2))  # (H - 1)
    usual = float(np.median(np.concatenate([right, down]))) + 1e-6 if sizes else 1.0
    strength = {
        px: np.quantile(np.concatenate([right[px - 1 :: px], down[px - 1 :: px]]), 0.25) - usual
        for px in sizes
    }
    best = max(strength.values(), default=0.0)
    if best < PLAIN * usual:
        raise NotAGrid(f"{name}: the size of its pieces cannot be seen; say it, or the grid")
    px = next(px for px in sizes if strength[px] >= CLEAR * best)
    return Grid(height // px, width // px)
