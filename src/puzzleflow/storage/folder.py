"""A folder of PNG pieces, with or without a ``layout.json``.

One folder is one puzzle; a folder whose sub-folders hold a ``layout.json``
each is a set of puzzles. Pieces may be RGBA, or RGB where they are opaque
rectangles; smaller ones are centred on the size of the largest. A
``layout.json`` without a solver is the truth; one that a solver wrote tells
the grid and the order of the pieces, never the truth.
"""

from __future__ import annotations

import re
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.canvas import UNPLACED
from puzzleflow.core.errors import FormatError, InputError, NotAGrid, OutputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.pictures import read_picture, write_picture
from puzzleflow.storage.layout import (
    SavedLayout,
    default_names,
    read_layout,
    write_layout,
)
from puzzleflow.storage.source import PuzzleSource

LAYOUT = "layout.json"
MAX_PUZZLE_PIXELS = 1 << 28


class FolderSource(PuzzleSource):
    """One puzzle, or one per sub-folder."""

    kind = "folder"

    def __init__(
        self, path: str | Path, *, split: str | None = None, grid: Grid | None = None
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        self.folders = [self.path] if _is_puzzle(self.path) else _puzzle_folders(self.path)
        if not self.folders:
            raise InputError(f"{self.path}: no PNG pieces in it")
        self._layouts = lru_cache(maxsize=None)(self._read_layout)

    @classmethod
    def recognise(cls, path: Path) -> bool:
        return path.is_dir() and (_is_puzzle(path) or bool(_puzzle_folders(path)))

    def _read_layout(self, index: int) -> SavedLayout:
        """The layout of a folder; without a file, sorted pieces on the asked or square grid."""
        folder = self.folders[index]
        if (folder / LAYOUT).exists():
            layout = read_layout(folder / LAYOUT, partial=True)
            for name in layout.names:
                if Path(name).name != name or "\0" in name:
                    raise FormatError(f"{folder / LAYOUT}: {name[:60]!r} is no plain file name")
            if self._asked_grid not in (None, layout.grid):
                raise NotAGrid(f"{folder / LAYOUT}: says {layout.grid}, not {self._asked_grid}")
            return layout
        names = tuple(path.name for path in _pieces(folder))
        try:
            grid = self._asked_grid or Grid.square(len(names))
            return SavedLayout(np.full(len(names), UNPLACED), grid, names)
        except NotAGrid as error:
            raise NotAGrid(f"{folder}: {error}; say which grid, for example 2x3") from error

    def _truth(self, index: int) -> IntArray | None:
        layout = self._layouts(index)
        return layout.position_of if layout.solver is None and layout.complete else None

    @property
    def grid(self) -> Grid | None:
        grids = {self._layouts(index).grid for index in range(len(self))}
        return grids.pop() if len(grids) == 1 else None

    @property
    def has_truth(self) -> bool:
        return all(self._truth(index) is not None for index in range(len(self)))

    def truths(self) -> IntArray | None:
        if self.grid is None:
            return None
        truths = [truth for truth in map(self._truth, range(len(self))) if truth is not None]
        return np.stack(truths) if len(truths) == len(self) else None  # (M, N)

    def __len__(self) -> int:
        return len(self.folders)

    def read(self, index: int) -> Puzzle:
        folder, layout = self.folders[index], self._layouts(index)
        left = MAX_PUZZLE_PIXELS
        pieces = []
        for name in layout.names:
            pieces.append(read_picture(folder / name, "RGBA", max_pixels=left))
            left -= pieces[-1].shape[0] * pieces[-1].shape[1]
        return Puzzle(
            _stacked(pieces, folder),
            layout.grid,
            self._truth(index),
            layout.names,
            puzzle_id=self.puzzle_id(index),
        )

    def puzzle_id(self, index: int) -> str:
        return self._layouts(index).puzzle_id or self.folders[index].name

    def pins(self, index: int) -> dict[int, int]:
        layout = self._layouts(index)
        placed = (piece for piece in layout.pinned if layout.position_of[piece] != UNPLACED)
        return {piece: int(layout.position_of[piece]) for piece in placed}

    def describe(self) -> dict[str, Any]:
        return {"with_layout": sum((folder / LAYOUT).exists() for folder in self.folders)}

    def files(self) -> list[Path]:
        held = [[*_pieces(folder), folder / LAYOUT] for folder in self.folders]
        return [path for paths in held for path in paths if path.exists()]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_layouts"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._layouts = lru_cache(maxsize=None)(self._read_layout)


def write_folder(folder: str | Path, puzzle: Puzzle) -> None:
    """Write pieces and ``layout.json`` into a folder that does not exist yet.

    Without truth the layout tells the grid and leaves every piece unplaced.
    """
    folder = Path(folder)
    names = puzzle.names or default_names(puzzle.num_pieces)
    if len(set(names)) < len(names) or any(Path(name).name != name for name in names):
        raise InputError(f"{folder}: the names of the pieces are no distinct file names")
    names = tuple(name if name.lower().endswith(".png") else f"{name}.png" for name in names)
    position_of = np.full(len(names), UNPLACED) if puzzle.truth is None else puzzle.truth
    layout = SavedLayout(position_of, puzzle.grid, names, puzzle_id=puzzle.puzzle_id)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as name:
            inside = Path(name) / "pieces"
            inside.mkdir()
            for piece, pixels in zip(names, puzzle.pieces, strict=True):
                write_picture(inside / piece, pixels)
            write_layout(inside / LAYOUT, layout)
            inside.rename(folder)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error


def _stacked(pieces: list[ByteArray], folder: Path) -> ByteArray:
    """(N, H, W, 4): every piece centred on the size of the largest, transparent around."""
    height = max(piece.shape[0] for piece in pieces)
    width = max(piece.shape[1] for piece in pieces)
    if len(pieces) * height * width > MAX_PUZZLE_PIXELS:
        raise FormatError(f"{folder}: {len(pieces)} pieces of {width}x{height} px are too large")
    stacked = np.zeros((len(pieces), height, width, 4), dtype=np.uint8)
    for index, piece in enumerate(pieces):
        top, left = (height - piece.shape[0]) // 2, (width - piece.shape[1]) // 2
        stacked[index, top : top + piece.shape[0], left : left + piece.shape[1]] = piece
    return stacked


def _pieces(folder: Path) -> list[Path]:
    """The PNG files of a folder: ``piece_2`` comes before ``piece_10``."""
    try:
        paths = [p for p in folder.iterdir() if p.suffix.lower() == ".png" and p.name[0] != "."]
    except OSError:
        return []
    return sorted(paths, key=lambda p: [(len(d), d) for d in re.split(r"(\d+)", p.name)])


def _is_puzzle(folder: Path) -> bool:
    return (folder / LAYOUT).is_file() or bool(_pieces(folder))


def _puzzle_folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if (path / LAYOUT).is_file())
    except OSError:
        return []
