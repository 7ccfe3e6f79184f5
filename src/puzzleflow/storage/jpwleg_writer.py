"""Writing JPwLEG files: pairs of .npy as published, the centre piece in the centre."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.errors import InputError
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.files import atomic_path

SPLIT_NAMES = {"train": "train", "val": "valid", "test": "test"}


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
    places with the piece that is there. Puzzles are read one after the other.
    """
    first = puzzles[0]
    grid = first.grid
    if grid is None or grid.num_pieces % 2 == 0:
        raise InputError(f"{folder}: JPwLEG puzzles have a centre piece, {grid} has none")
    rows, cols = grid.shape
    height, width = first.piece_px
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
    N, (rows, cols), (height, width) = puzzle.num_pieces, puzzle.grid.shape, puzzle.piece_px
    centre = N // 2
    order = np.arange(N)
    middle = int(invert(puzzle.truth)[centre])
    order[[centre, middle]] = middle, centre
    slots = np.delete(puzzle.truth[order], centre)  # (N-1,)
    one_hot = np.zeros((N - 1, N - 1), dtype=np.bool_)
    one_hot[np.arange(N - 1), slots - (slots > centre)] = True
    tiles = puzzle.pieces[order, :, :, :3].reshape(rows, cols, height, width, 3)
    return tiles.swapaxes(1, 2).reshape(rows * height, cols * width, 3), one_hot
