"""Official GAP folders.

::

    puzzles.h5             'puzzles'  uint8 (M, N, H, W, 4)
    labels_indices.h5      'labels'   int   (M, N)     piece → position, row-major
    labels_coordinates.h5  'labels'   int   (M, N, 2)  row and column
    metadata.json          one object
    reference.h5           'reference' uint8 (M, rows*H, cols*W, 3), ours, optional

In our sets of the open world metadata.json tells the ``conditions``; foreign pieces have
the label -1, and turned pieces::

    labels_turns.h5        'labels'   int   (M, N)     quarter turns that bring them upright

The label files and the metadata may be missing. :class:`GapSource` reads,
:func:`write_gap_split` writes.
"""

from __future__ import annotations

import math
import os
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.assignment import (
    as_permutation,
    as_permutations,
    as_placement,
    as_turns,
    whole_numbers,
)
from puzzleflow.core.ceiling import check_bytes, check_puzzle
from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.records import from_json
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.files import plain_text, read_json
from puzzleflow.storage import hdf5
from puzzleflow.storage.arrays import first_bytes
from puzzleflow.storage.gap_writer import (
    COORDINATES,
    INDICES,
    METADATA,
    PUZZLES,
    REFERENCE,
    TURNS,
    write_gap_split,
)
from puzzleflow.storage.source import PuzzleSource

__all__ = ["GapSource", "write_gap_split"]


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
        self._turns: IntArray | None = None
        self.grid  # noqa: B018  files that contradict each other are refused at once
        self._labels_path = self._find_labels()

    @classmethod
    def recognise(cls, path: Path) -> bool:
        if path.is_dir():
            return (path / PUZZLES).exists()
        return first_bytes(path) == hdf5.SIGNATURE or path.suffix in (".h5", ".hdf5")

    @cached_property
    def grid(self) -> Grid:
        if self._asked_grid is not None:
            grid = self._asked_grid
        else:
            told = self._told_grid()
            with naming(self.puzzles_path):
                grid = told or Grid.square(self._num_pieces)
        if self.conditions.is_complete and grid.num_pieces != self._num_pieces:
            raise NotAGrid(f"{self.puzzles_path}: {self._num_pieces} pieces do not fill {grid}")
        with naming(self.puzzles_path):
            self.conditions.check(self._num_pieces, grid)
        return grid

    @cached_property
    def conditions(self) -> Conditions:
        told = self.metadata().get("conditions")
        if told is None:
            return CLOSED
        with naming(self.folder / METADATA):
            return from_json(Conditions, told)

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
                with hdf5.reading(path), naming(path):
                    _check_puzzles(dataset, path)
            except BaseException:
                file.close()
                raise
            self._open = _Open(os.getpid(), file, dataset)
        return self._open.puzzles

    @property
    def has_truth(self) -> bool:
        return self._labels_path is not None

    def __len__(self) -> int:
        return int(self._num_puzzles)

    def read(self, index: int) -> Puzzle:
        with hdf5.reading(self.puzzles_path):
            pieces: ByteArray = self._puzzles[index]  # (N, H, W, 4)
        labels, turns = self.labels(), self.turns()
        truth = None
        if labels is not None:
            with naming(f"{self._labels_path}: puzzle {index}"):
                truth = self._checked_truth(labels[index])
        return Puzzle(
            pieces,
            self.grid,
            truth,
            puzzle_id=self.puzzle_id(index),
            conditions=self.conditions,
            true_turns=None if turns is None else turns[index],
        )

    def _checked_truth(self, labels: NDArray[Any]) -> IntArray:
        if self.conditions.is_complete:
            return as_permutation(labels, self._num_pieces)
        return as_placement(labels, self._num_pieces, self.grid.num_pieces)

    def puzzle_id(self, index: int) -> str:
        return plain_text(f"{self.path.name}/{index}")

    def labels(self) -> NDArray[Any] | None:
        """(M, N) the labels as they are, not yet proven permutations."""
        if self._labels is None and self._labels_path is not None:
            self._labels = self._read_labels(self._labels_path)
        return self._labels

    def _read_labels(self, path: Path) -> NDArray[Any]:
        as_coordinates = path.name == COORDINATES
        shape = (
            (len(self), self._num_pieces, 2) if as_coordinates else (len(self), self._num_pieces)
        )
        values = self._whole(path, shape)
        with naming(path):
            values = whole_numbers(values)
        if not as_coordinates:
            return values
        foreign = (values == -1).all(axis=-1) & bool(self.conditions.foreign)  # (M, N)
        outside = ((values < 0) | (values >= np.array(self.grid.shape))).any(axis=-1) & ~foreign
        if outside.any():
            row = int(np.argwhere(outside)[0, 0])
            raise NotAPermutation(f"{path}: puzzle {row} leaves the {self.grid} grid")
        cells = values.astype(np.int64)
        return np.where(foreign, -1, cells[..., 0] * self.grid.cols + cells[..., 1])  # (M, N)

    def _whole(self, path: Path, shape: tuple[int, ...]) -> NDArray[Any]:
        """The labels in a file, which must have this shape."""
        with hdf5.open_file(path) as file:
            dataset = hdf5.open_dataset(file, path, hdf5.only_dataset(file, path, "labels"))
            if dataset.shape != shape:
                raise FormatError(f"{path}: expected labels of shape {shape}, got {dataset.shape}")
            return hdf5.read_whole(dataset, path)

    def truths(self) -> IntArray | None:
        labels = self.labels()
        if labels is None or self._labels_path is None:
            return None
        with naming(self._labels_path):
            if self.conditions.is_complete:
                return as_permutations(labels, self._num_pieces)
            return np.stack([self._checked_truth(row) for row in labels])

    def turns(self) -> IntArray | None:
        path = self.folder / TURNS
        if self._turns is None and self.conditions.turned and path.exists():
            values = self._whole(path, (len(self), self._num_pieces))
            with naming(path):
                self._turns = as_turns(values.ravel(), values.size).reshape(values.shape)
        return self._turns

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
            check_bytes(math.prod(dataset.shape[1:]), f"{path}: a picture of {dataset.shape[1:]}")
            with hdf5.reading(path):
                picture: ByteArray = dataset[self._checked(index)]
        return picture

    def describe(self) -> dict[str, Any]:
        with hdf5.reading(self.puzzles_path):
            facts = {"piece_px": list(self.piece_px), **hdf5.storage_facts(self._puzzles)}
        return facts | {"metadata": self.metadata()}

    def files(self) -> list[Path]:
        beside = (self.folder / name for name in (INDICES, COORDINATES, TURNS, METADATA, REFERENCE))
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
    check_puzzle(*map(int, shape[1:4]))
