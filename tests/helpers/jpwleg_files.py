"""JPwLEG files as its authors publish them, made from our puzzles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.puzzle import Puzzle


def write_jpwleg(folder: Path, puzzles: Sequence[Puzzle], *, split: str = "test") -> None:
    """Image and label file of puzzles with truth and opaque pieces on one grid with a centre.

    The format demands the centre piece in the centre slot: where it lies elsewhere it changes
    places with the piece that is there.
    """
    grid = puzzles[0].grid
    name = f"{split}_{{}}_48gap_{grid.rows}{grid.cols}.npy"
    pictures, labels = zip(*map(_encode, puzzles), strict=True)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / name.format("img"), np.stack(pictures))
    np.save(folder / name.format("label"), np.stack(labels))


def _encode(puzzle: Puzzle) -> tuple[np.ndarray, np.ndarray]:
    """Glued picture (rows*H, cols*W, 3) and one-hot labels (N-1, N-1)."""
    assert puzzle.truth is not None
    n = puzzle.num_pieces
    centre = n // 2
    order = np.arange(n)
    middle = int(invert(puzzle.truth)[centre])
    order[[centre, middle]] = middle, centre
    slots = np.delete(puzzle.truth[order], centre)  # (N-1,)
    one_hot = np.zeros((n - 1, n - 1), dtype=np.bool_)
    one_hot[np.arange(n - 1), slots - (slots > centre)] = True
    rows, cols = puzzle.grid.shape
    height, width = puzzle.piece_px
    tiles = puzzle.pieces[order, :, :, :3].reshape(rows, cols, height, width, 3)
    return tiles.swapaxes(1, 2).reshape(rows * height, cols * width, 3), one_hot
