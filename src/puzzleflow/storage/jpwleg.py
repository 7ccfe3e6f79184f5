"""JPwLEG-3 and JPwLEG-5: ``.npy`` pairs of shuffled pictures and one-hot labels.

::

    test_img_48gap_33.npy    uint8 (M, 3*H, 3*W, 3): the shuffled pieces glued without gaps
    test_label_48gap_33.npy  (M, 8, 8): row = non-centre slot, 1 in the column of the true one

The gap that was cut away stands in the name alone, in pixels of pieces of 96: as read, pieces
have it around them as void, so that they lie as far apart as they did in the picture.

The centre piece is never shuffled and has neither row nor column. Two
protocols follow: *centre given* (the default; :meth:`JpwlegSource.pins` names
the known piece) and *centre free*, where all pieces are shuffled once more, by
a seed that depends on the puzzle alone, and nothing is given away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.assignment import invert
from puzzleflow.core.ceiling import check_bytes, check_puzzle
from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.files import atomic_path, plain_text
from puzzleflow.masks import bounding_box
from puzzleflow.storage.arrays import NPY_MAGIC, first_bytes, map_npy
from puzzleflow.storage.source import SPLITS, PuzzleSource, chosen_split, split_named

_IMAGES = re.compile(r"(train|valid|val|test)_img[^/]*\.npy")
_GAP = re.compile(r"_(\d+)gap")
_PIECE_PX = 96
SPLIT_NAMES = {"train": "train", "val": "valid", "test": "test"}


class JpwlegSource(PuzzleSource):
    """Puzzles of a JPwLEG folder or of one of its image files; pieces are opaque squares."""

    kind = "jpwleg"
    looks_like = "JPwLEG .npy files"

    def __init__(
        self,
        path: str | Path,
        *,
        split: str | None = None,
        grid: Grid | None = None,
        centre_free: bool = False,
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        self.centre_free = centre_free
        self.images_path = self._find_images()
        self.labels_path = _labels_beside(self.images_path)
        self._images_map: NDArray[Any] | None = None
        self._labels_map: NDArray[Any] | None = None
        self._shape = self._images.shape
        height, width = self._shape[1] // self.grid.rows, self._shape[2] // self.grid.cols
        self._void_px = [_gap_px(self.images_path, side) for side in (height, width)]
        self.piece_px = (height + self._void_px[0], width + self._void_px[1])
        with naming(self.images_path):
            check_puzzle(self.grid.num_pieces, *self.piece_px)

    @classmethod
    def recognise(cls, path: Path) -> bool:
        if path.is_dir():
            return bool(_image_files(path))
        return first_bytes(path).startswith(NPY_MAGIC) and "_label" not in path.name

    @classmethod
    def splits(cls, path: Path) -> list[str]:
        return list(_image_files(path)) if path.is_dir() else []

    def _find_images(self) -> Path:
        if self.path.is_file():
            return self.path
        found = _image_files(self.path)
        if not found:
            raise InputError(f"{self.path}: no JPwLEG image files (test_img….npy) in it")
        self.split = chosen_split(self.path, found, self.split)
        return found[self.split]

    @property
    def _images(self) -> NDArray[Any]:
        """(M, rows*H, cols*W, 3) mapped."""
        if self._images_map is None:
            images = map_npy(self.images_path)
            if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8:
                raise FormatError(
                    f"{self.images_path}: expected pictures, uint8 of shape (M, H, W, 3), "
                    f"got {images.dtype} of shape {images.shape}"
                )
            if images.size == 0:
                raise InputError(f"{self.images_path}: holds no puzzles (shape {images.shape})")
            with naming(self.images_path):
                check_puzzle(1, *images.shape[1:3])
            self._images_map = images
        return self._images_map

    @property
    def _labels(self) -> NDArray[Any] | None:
        """(M, N-1, N-1) mapped."""
        if self._labels_map is None and self.labels_path is not None:
            labels = map_npy(self.labels_path)
            square = labels.ndim == 3 and labels.shape[1] == labels.shape[2]
            if not square or labels.dtype.kind not in "buif" or len(labels) != self._shape[0]:
                raise FormatError(
                    f"{self.labels_path}: expected one-hot labels of shape "
                    f"({self._shape[0]}, N-1, N-1), got {labels.dtype} of shape {labels.shape}"
                )
            self._labels_map = labels
        return self._labels_map

    @cached_property
    def grid(self) -> Grid:
        labels = self._labels
        if self._asked_grid is not None:
            grid = self._asked_grid
        elif labels is not None:
            with naming(self.files()[-1]):
                grid = Grid.square(labels.shape[1] + 1)
        else:
            grid = Grid(max(1, self._shape[1] // _PIECE_PX), max(1, self._shape[2] // _PIECE_PX))
        if labels is not None and (grid.num_pieces != labels.shape[1] + 1 or _has_no_centre(grid)):
            raise NotAGrid(f"{self.labels_path}: {labels.shape[1]} + 1 pieces do not fill {grid}")
        if self._shape[1] % grid.rows or self._shape[2] % grid.cols:
            raise NotAGrid(
                f"{self.images_path}: {self._shape[1:3]} pixels do not split into {grid}"
            )
        return grid

    @property
    def has_truth(self) -> bool:
        return self.labels_path is not None

    def __len__(self) -> int:
        return int(self._shape[0])

    def read(self, index: int) -> Puzzle:
        pieces = _cut(np.asarray(self._images[index]), self.grid, *self._void_px)
        truth = None if self._labels is None else self._decode(self._labels[index][None], index)[0]
        if self.centre_free:
            order = self._order(index)
            pieces, truth = pieces[order], None if truth is None else truth[order]
        return Puzzle(pieces, self.grid, truth, puzzle_id=self.puzzle_id(index))

    def puzzle_id(self, index: int) -> str:
        return plain_text(f"{self.images_path.name}/{index}")

    def _order(self, index: int) -> IntArray:
        """(N,) which piece of the file comes where when the centre is free."""
        return child_rng(0, "jpwleg", "centre free", index).permutation(self.grid.num_pieces)

    def with_centre_free(self) -> JpwlegSource:
        return JpwlegSource(self.path, split=self.split, grid=self._asked_grid, centre_free=True)

    def pins(self, index: int) -> dict[int, int]:
        centre = self.grid.num_pieces // 2
        return {} if self.centre_free or _has_no_centre(self.grid) else {centre: centre}

    def truths(self) -> IntArray | None:
        labels = self._labels
        if labels is None:
            return None
        check_bytes(4 * labels.size, f"{self.labels_path}: labels of shape {labels.shape}")
        truths = self._decode(np.asarray(labels), 0)  # (M, N)
        if self.centre_free:
            for index, row in enumerate(truths):
                truths[index] = row[self._order(index)]
        return truths

    def _decode(self, labels: NDArray[Any], first: int) -> IntArray:
        """(M, N-1, N-1) one-hot → (M, N) piece → position."""
        ones: BoolArray = labels == 1
        exact = (labels == 0) | ones
        fine = exact.all((1, 2)) & (ones.sum(1) == 1).all(1) & (ones.sum(2) == 1).all(1)  # (M,)
        if not fine.all():
            index = first + int(np.argmin(fine))
            raise NotAPermutation(f"{self.labels_path}: puzzle {index}: labels are not one-hot")
        centre = self.grid.num_pieces // 2
        slots = ones.argmax(2)  # (M, N-1)
        slots = slots + (slots >= centre)
        return np.asarray(np.insert(slots, centre, centre, axis=1), dtype=np.int64)  # (M, N)

    def describe(self) -> dict[str, Any]:
        return {
            "shape": list(self._shape),
            "dtype": "uint8",
            "piece_px": list(self.piece_px),
            "centre": "free" if self.centre_free else "given",
        }

    def files(self) -> list[Path]:
        return [path for path in (self.images_path, self.labels_path) if path is not None]

    def close(self) -> None:
        self._images_map = self._labels_map = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_images_map": None, "_labels_map": None}


def _gap_px(images: Path, side_px: int) -> int:
    """The gap that the file's name tells, for pieces of ``side_px``; 0 where it tells none."""
    named = _GAP.search(images.name)
    gap = int(named[1]) if named else 0
    if gap > 2 * _PIECE_PX:
        raise InputError(f"{images}: a gap of {gap} px is too wide for pieces of {_PIECE_PX}")
    return round(gap * side_px / _PIECE_PX)


def _cut(picture: ByteArray, grid: Grid, void_h: int, void_w: int) -> ByteArray:
    """(rows*H, cols*W, 3) → (N, H + void, W + void, 4), alpha 255 where the picture is."""
    height, width = picture.shape[0] // grid.rows, picture.shape[1] // grid.cols
    tiles = picture.reshape(grid.rows, height, grid.cols, width, 3).swapaxes(1, 2)
    pieces = np.zeros((grid.num_pieces, height + void_h, width + void_w, 4), dtype=np.uint8)
    inner = pieces[:, void_h // 2 :, void_w // 2 :][:, :height, :width]  # (N, H, W, 4)
    inner[..., :3] = tiles.reshape(grid.num_pieces, height, width, 3)
    inner[..., 3] = 255
    return pieces


def _has_no_centre(grid: Grid) -> bool:
    return grid.num_pieces % 2 == 0


def _image_files(folder: Path) -> dict[str, Path]:
    """Image files by split, in the order train, val, test."""
    found: dict[str, Path] = {}
    try:
        names = sorted(folder.iterdir())
    except OSError:
        return {}
    for path in names:
        match = _IMAGES.fullmatch(path.name)
        if match is not None:
            found.setdefault(split_named(match[1]) or "", path)
    return {split: found[split] for split in SPLITS if split in found}


def _labels_beside(images: Path) -> Path | None:
    """The label file of an image file, also if a download numbered one of them."""
    plain = re.sub(r"-\d{3}\.npy$", ".npy", images.name.replace("_img", "_label"))
    if plain == images.name:
        return None
    exact = images.with_name(plain)
    if exact.exists():
        return exact
    numbered = sorted(images.parent.glob(f"{exact.stem}-[0-9][0-9][0-9].npy"))
    return numbered[0] if numbered else None


def write_jpwleg(
    folder: Path,
    puzzles: Sequence[Puzzle],
    *,
    split: str = "test",
    gap_px: int = 48,
    report: Callable[[int], None] = lambda done: None,
) -> list[Path]:
    """Image and label file of puzzles with truth, square pieces and one grid with a centre.

    The format demands the centre piece in the centre: where it lies elsewhere it changes
    places with the piece that is there. Void around the squares is left out. Puzzles are read
    one after the other.
    """
    first = puzzles[0]
    grid = first.grid
    if grid is None or grid.num_pieces % 2 == 0:
        raise InputError(f"{folder}: JPwLEG puzzles have a centre piece, {grid} has none")
    rows, cols = grid.shape
    height, width = _squares(first).shape[1:3]
    name = f"{SPLIT_NAMES.get(split, split)}_{{}}_{gap_px}gap_{rows}{cols}.npy"
    images, labels = folder / name.format("img"), folder / name.format("label")
    one_hot = np.zeros((len(puzzles), grid.num_pieces - 1, grid.num_pieces - 1), np.bool_)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_path(images) as temporary:
        glued = np.lib.format.open_memmap(
            temporary, mode="w+", dtype=np.uint8,
            shape=(len(puzzles), rows * height, cols * width, 3),
        )  # fmt: skip
        for index in range(len(puzzles)):
            glued[index], one_hot[index] = _encoded(puzzles[index])
            report(index + 1)
        glued.flush()
        del glued
    with atomic_path(labels) as temporary, temporary.open("wb") as stream:
        np.save(stream, one_hot)
    return [images, labels]


def _encoded(puzzle: Puzzle) -> tuple[ByteArray, BoolArray]:
    """Glued picture (rows*H, cols*W, 3) and one-hot labels (N-1, N-1)."""
    if puzzle.truth is None or puzzle.grid is None:
        raise InputError(f"{puzzle.puzzle_id}: JPwLEG files need grid and truth")
    N, (rows, cols) = puzzle.num_pieces, puzzle.grid.shape
    pieces = _squares(puzzle)  # (N, H, W, 3)
    height, width = pieces.shape[1:3]
    centre = N // 2
    order = np.arange(N)
    middle = int(invert(puzzle.truth)[centre])
    order[[centre, middle]] = middle, centre
    slots = np.delete(puzzle.truth[order], centre)  # (N-1,)
    one_hot = np.zeros((N - 1, N - 1), dtype=np.bool_)
    one_hot[np.arange(N - 1), slots - (slots > centre)] = True
    tiles = pieces[order].reshape(rows, cols, height, width, 3)
    return tiles.swapaxes(1, 2).reshape(rows * height, cols * width, 3), one_hot


def _squares(puzzle: Puzzle) -> ByteArray:
    """(N, H, W, 3): the material of square pieces, without the void around it."""
    material: BoolArray = np.any(puzzle.pieces[..., 3] > 0, axis=0)  # (H, W)
    top, bottom, left, right = bounding_box(material)
    return puzzle.pieces[:, top:bottom, left:right, :3]
