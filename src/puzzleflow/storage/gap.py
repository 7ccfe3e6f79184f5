"""Official GAP folders.

::

    puzzles.h5             'puzzles'  uint8 (M, N, H, W, 4)
    labels_indices.h5      'labels'   int   (M, N)     piece → position, row-major
    labels_coordinates.h5  'labels'   int   (M, N, 2)  row and column
    metadata.json          one object
    reference.h5           'reference' uint8 (M, rows*H, cols*W, 3), ours, optional

The label files and the metadata may be missing. :class:`GapSource` reads,
:func:`write_gap_split` writes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.assignment import as_permutation, as_permutations, whole_numbers
from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.files import read_json
from puzzleflow.storage import hdf5
from puzzleflow.storage.arrays import first_bytes
from puzzleflow.storage.gap_writer import (
    COORDINATES,
    INDICES,
    METADATA,
    PUZZLES,
    REFERENCE,
    write_gap_split,
)
from puzzleflow.storage.source import PuzzleSource

__all__ = ["GapSource", "write_gap_split"]

MAX_PUZZLE_BYTES = 1 << 30
MAX_LABELS = 1 << 27


class _Open(NamedTuple):
    """Handles that belong to one process."""

    process: int
    file: h5py.File
    puzzles: h5py.Dataset


class GapSource(PuzzleSource):
    """Puzzles of a GAP folder, or of one HDF5 file given directly."""

    kind = "gap"
    looks_like = "a GAP folder (puzzles.h5)"

    def __init__(
        self, path: str | Path, *, split: str | None = None, grid: Grid | None = None
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        is_folder = self.path.is_dir()
        self.folder = self.path if is_folder else self.path.parent
        self.puzzles_path = self.path / PUZZLES if is_folder else self.path
        self._open: _Open | None = None
        self._labels: NDArray[Any] | None = None
        self._num_puzzles, *piece_shape = self._puzzles.shape
        self._num_pieces = piece_shape[0]
        self.piece_px = (piece_shape[1], piece_shape[2])
        self._grid = self._find_grid()
        self._labels_path = self._find_labels()

    @classmethod
    def recognise(cls, path: Path) -> bool:
        if path.is_dir():
            return (path / PUZZLES).exists()
        return first_bytes(path) == hdf5.SIGNATURE or path.suffix in (".h5", ".hdf5")

    def _find_grid(self) -> Grid:
        if self._asked_grid is not None:
            grid = self._asked_grid
        else:
            told = self._told_grid()
            with naming(self.puzzles_path):
                grid = told or Grid.square(self._num_pieces)
        if grid.num_pieces != self._num_pieces:
            raise NotAGrid(f"{self.puzzles_path}: {self._num_pieces} pieces do not fill {grid}")
        return grid

    def _told_grid(self) -> Grid | None:
        told = self.metadata().get("grid")
        if not isinstance(told, dict):
            return None
        with naming(self.folder / METADATA):
            return Grid(told.get("rows"), told.get("cols"))  # type: ignore[arg-type]

    def metadata(self) -> dict[str, Any]:
        """The content of metadata.json; empty without the file."""
        path = self.folder / METADATA
        if not path.exists():
            return {}
        content = read_json(path)
        if not isinstance(content, dict):
            raise FormatError(f"{path}: expected one JSON object")
        return content

    def _find_labels(self) -> Path | None:
        for name in (INDICES, COORDINATES):
            if (self.folder / name).exists():
                return self.folder / name
        return None

    @property
    def _puzzles(self) -> h5py.Dataset:
        if self._open is None or self._open.process != os.getpid():
            path = self.puzzles_path
            file = hdf5.open_file(path)
            try:
                dataset = hdf5.open_dataset(file, path, hdf5.only_dataset(file, path, "puzzles"))
                with hdf5.reading(path):
                    _check_puzzles(dataset, path)
            except BaseException:
                file.close()
                raise
            self._open = _Open(os.getpid(), file, dataset)
        return self._open.puzzles

    @property
    def grid(self) -> Grid:
        return self._grid

    @property
    def has_truth(self) -> bool:
        return self._labels_path is not None

    def __len__(self) -> int:
        return int(self._num_puzzles)

    def read(self, index: int) -> Puzzle:
        with hdf5.reading(self.puzzles_path):
            pieces: ByteArray = self._puzzles[index]  # (N, H, W, 4)
        labels = self.labels()
        truth = None
        if labels is not None:
            with naming(f"{self._labels_path}: puzzle {index}"):
                truth = as_permutation(labels[index], self._num_pieces)
        return Puzzle(pieces, self._grid, truth, puzzle_id=self.puzzle_id(index))

    def puzzle_id(self, index: int) -> str:
        return f"{self.path.name}/{index}"

    def labels(self) -> NDArray[Any] | None:
        """(M, N) the labels as they are, not yet proven permutations."""
        if self._labels is None and self._labels_path is not None:
            self._labels = self._read_labels(self._labels_path)
        return self._labels

    def _read_labels(self, path: Path) -> NDArray[Any]:
        as_coordinates = path.name == COORDINATES
        values = _read_whole(path, "labels")
        shape = (
            (len(self), self._num_pieces, 2) if as_coordinates else (len(self), self._num_pieces)
        )
        if values.shape != shape:
            raise FormatError(f"{path}: expected labels of shape {shape}, got {values.shape}")
        with naming(path):
            values = whole_numbers(values)
        if not as_coordinates:
            return values
        outside = (values < 0) | (values >= np.array(self._grid.shape))
        if outside.any():
            row = int(np.argwhere(outside)[0, 0])
            raise NotAPermutation(f"{path}: puzzle {row} leaves the {self._grid} grid")
        cells = values.astype(np.int64)
        return np.asarray(cells[..., 0] * self._grid.cols + cells[..., 1])  # (M, N)

    def truths(self) -> IntArray | None:
        labels = self.labels()
        if labels is None or self._labels_path is None:
            return None
        with naming(self._labels_path):
            return as_permutations(labels, self._num_pieces)

    def contradictions(self) -> list[str]:
        path, truths = self.folder / COORDINATES, self.truths()
        if truths is None or not path.exists():
            return []
        if np.array_equal(self._read_labels(path), truths):
            return []
        return [f"{COORDINATES} and {INDICES} contradict each other"]

    def reference(self, index: int) -> ByteArray:
        """(rows*H, cols*W, 3) the picture before it was broken, where it was kept."""
        path = self.folder / REFERENCE
        with hdf5.open_file(path) as file:
            dataset = hdf5.open_dataset(file, path, hdf5.only_dataset(file, path, "reference"))
            if dataset.ndim != 4 or len(dataset) != len(self) or dataset.dtype != np.uint8:
                raise FormatError(f"{path}: expected uint8 (M, H, W, 3), got {dataset.shape}")
            with hdf5.reading(path):
                picture: ByteArray = dataset[self._checked(index)]
        return picture

    def describe(self) -> dict[str, Any]:
        with hdf5.reading(self.puzzles_path):
            facts = {"piece_px": list(self.piece_px), **hdf5.storage_facts(self._puzzles)}
        return facts | {"metadata": self.metadata()}

    def files(self) -> list[Path]:
        beside = (self.folder / name for name in (INDICES, COORDINATES, METADATA, REFERENCE))
        return [self.puzzles_path, *(path for path in beside if path.exists())]

    def close(self) -> None:
        if self._open is not None and self._open.process == os.getpid():
            self._open.file.close()
        self._open = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_open": None}


def _check_puzzles(dataset: h5py.Dataset, path: Path) -> None:
    shape = dataset.shape
    if dataset.dtype != np.uint8 or len(shape) != 5 or shape[-1] != 4:
        raise FormatError(
            f"{path}: expected puzzles, uint8 of shape (M, N, H, W, 4), "
            f"got {dataset.dtype} of shape {shape}"
        )
    if 0 in shape:
        raise InputError(f"{path}: holds no puzzles (shape {shape})")
    if int(np.prod(shape[1:], dtype=object)) > MAX_PUZZLE_BYTES:
        raise FormatError(f"{path}: puzzles of shape {shape[1:]} are too large")


def _read_whole(path: Path, key: str) -> NDArray[Any]:
    with hdf5.open_file(path) as file:
        dataset = hdf5.open_dataset(file, path, hdf5.only_dataset(file, path, key))
        with hdf5.reading(path):
            if int(np.prod(dataset.shape, dtype=object)) > MAX_LABELS:
                raise FormatError(f"{path}: labels of shape {dataset.shape} are too many")
            return np.asarray(dataset[()])
