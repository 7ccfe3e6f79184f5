"""A folder of pictures, one for each piece, with or without a ``layout.json``.

One folder is one puzzle; a folder whose sub-folders hold a ``layout.json``
each, or pieces where none does, is a set of puzzles; what ``segment`` wrote is
the puzzle of its fragments.
A ``layout.json`` without a solver is the truth; one that a solver wrote tells
the grid and the order of the pieces, never the truth. Without one,
fragments are cut out of the pictures as in the workbench.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.canvas import UNPLACED, equal_cells, squared
from puzzleflow.core.ceiling import ceiling_bytes
from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import FormatError, InputError, NotAGrid, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.open_facts import OpenFacts
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.files import atomic_folder, plain_text
from puzzleflow.pictures import SUFFIXES, natural_key, read_picture, write_picture
from puzzleflow.storage.layout import SavedLayout, default_names, read_layout, write_layout
from puzzleflow.storage.source import PuzzleSource

LAYOUT = "layout.json"
SEGMENTS, FRAGMENTS = "segments.json", "fragments"  # what ``segment`` writes, side by side


class FolderSource(PuzzleSource):
    """One puzzle, or one per sub-folder."""

    kind = "folder"
    looks_like = "a folder of pictures of pieces"

    def __init__(
        self, path: str | Path, *, split: str | None = None, grid: Grid | None = None
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        self.folders = _puzzle_folders(self.path)
        if not self.folders:
            raise InputError(f"{self.path}: no pictures of pieces in it")
        self._layouts = lru_cache(maxsize=None)(self._read_layout)

    @classmethod
    def recognise(cls, path: Path) -> bool:
        return path.is_dir() and bool(_puzzle_folders(path))

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
            fits = [str(each) for each in Grid.factorisations(len(names))[:4:2]]
            raise NotAGrid(f"{folder}: {error}; say which grid: {' or '.join(fits)}") from error

    def _truth(self, index: int) -> IntArray | None:
        layout = self._layouts(index)
        return layout.position_of if layout.solver is None and layout.complete else None

    @property
    def grid(self) -> Grid | None:
        grids = {self._layouts(index).grid for index in range(len(self))}
        return grids.pop() if len(grids) == 1 else None

    @property
    def conditions(self) -> Conditions:
        told = (_conditions(self._layouts(index)) for index in range(len(self)))
        return next((conditions for conditions in told if not conditions.is_closed), CLOSED)

    @property
    def has_truth(self) -> bool:
        return all(self._truth(index) is not None for index in range(len(self)))

    def truths(self) -> IntArray | None:
        if self.grid is None:
            return None
        if not self.conditions.is_closed:
            return None  # puzzles differ in conditions: each says its own
        truths = [truth for truth in map(self._truth, range(len(self))) if truth is not None]
        return np.stack(truths) if len(truths) == len(self) else None  # (M, N)

    def __len__(self) -> int:
        return len(self.folders)

    def read(self, index: int) -> Puzzle:
        folder, layout = self.folders[index], self._layouts(index)
        cells = self._cells(folder, layout.names)
        told = layout.open
        return Puzzle(
            cells,
            layout.grid,
            self._truth(index),
            layout.names,
            puzzle_id=self.puzzle_id(index),
            conditions=_conditions(layout),
            true_turns=None if told is None or layout.solver else _turns(told),
        )

    def _cells(self, folder: Path, names: tuple[str, ...]) -> ByteArray:
        """(N, h, w, 4) the pieces of a folder, cut out and brought to one size."""
        left = ceiling_bytes() // 4  # pixels, of all pictures together
        pieces = []
        for name in names:
            pieces.append(read_picture(folder / name, "RGBA", max_pixels=left))
            left -= pieces[-1].shape[0] * pieces[-1].shape[1]
        with naming(folder):
            segmented = (folder.resolve().parent / SEGMENTS).is_file()
            if not segmented and not (folder / LAYOUT).exists():
                from puzzleflow.segmentation.cut_outs import cut_outs  # loads scikit-image

                pieces = cut_outs(pieces, [str(folder / name) for name in names])
            return equal_cells(pieces)

    def as_open(self, index: int, grid: Grid | None, conditions: Conditions) -> Puzzle:
        """The pieces of a folder without a layout, under conditions that somebody tells."""
        folder = self.folders[index]
        names = tuple(path.name for path in _pieces(folder))
        cells = self._cells(folder, names)
        if conditions.turned:
            cells = squared(cells)
        with naming(folder):
            return Puzzle(cells, grid, names=names, puzzle_id=folder.name, conditions=conditions)

    def has_layout(self, index: int) -> bool:
        """Whether a file tells the grid of puzzle ``index``."""
        return (self.folders[index] / LAYOUT).exists()

    def num_pieces(self, index: int) -> int:
        """Pictures of pieces in the folder of puzzle ``index``."""
        return len(_pieces(self.folders[index]))

    def puzzle_id(self, index: int) -> str:
        return plain_text(self._layouts(index).puzzle_id or self.folders[index].name)

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
    if puzzle.truth is None and not puzzle.is_closed:
        raise InputError(f"{folder}: a folder tells what is amiss with pieces by their truth")
    position_of = np.full(len(names), UNPLACED) if puzzle.truth is None else puzzle.truth
    turns = None if puzzle.true_turns is None else tuple(puzzle.true_turns.tolist())
    told = None if puzzle.is_closed else OpenFacts(str(puzzle.grid), turns)
    layout = SavedLayout(position_of, puzzle.grid, names, puzzle_id=puzzle.puzzle_id, open=told)
    with atomic_folder(folder) as inside:
        for piece, pixels in zip(names, puzzle.pieces, strict=True):
            write_picture(inside / piece, pixels)
        write_layout(inside / LAYOUT, layout)


def _pieces(folder: Path) -> list[Path]:
    """The pictures in a folder: ``piece_2`` comes before ``piece_10``."""
    try:
        paths = [p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and p.name[0] != "."]
    except OSError:
        return []
    return sorted(paths, key=lambda path: natural_key(path.name))


def _puzzle_folders(path: Path) -> list[Path]:
    """The folders of pieces: what ``segment`` found, the path itself, or folders in it."""
    if (path / SEGMENTS).is_file() and _pieces(path / FRAGMENTS):
        return [path / FRAGMENTS]
    if (path / LAYOUT).is_file() or _pieces(path):
        return [path]
    try:
        inside = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []
    told = [folder for folder in inside if (folder / LAYOUT).is_file()]
    return told or [folder for folder in inside if _pieces(folder)]


def _conditions(layout: SavedLayout) -> Conditions:
    """What a layout says to be amiss; of pieces left aside by a solver nobody knows."""
    if layout.open is None:
        return CLOSED
    aside = int(np.count_nonzero(layout.position_of == UNPLACED))
    missing = layout.grid.num_pieces - len(layout.names) + aside
    return Conditions(missing, aside, layout.open.turns is not None)


def _turns(told: OpenFacts) -> IntArray | None:
    return None if told.turns is None else np.array(told.turns)
