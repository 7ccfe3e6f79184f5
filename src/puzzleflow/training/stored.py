"""Stored puzzles (GAP folders, recipes …) as the numbered batches that training wants."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.core.splits import SPLITS
from puzzleflow.formats.open import FORMATS, LAST, open_puzzles
from puzzleflow.models.pixels import to_tensor
from puzzleflow.solvers.seam_prior import seam_prior
from puzzleflow.storage.gap_writer import write_gap_split
from puzzleflow.storage.source import PuzzleSource
from puzzleflow.training.stream import Batch, NumberedBatches, straight


def is_stored(path: Path) -> bool:
    """Puzzles on disk, not a folder of pictures: a folder of PNGs needs a layout to be pieces."""
    if path.is_file():
        return True
    folders = [path, *(path / name for spellings in SPLITS.values() for name in spellings)]
    kinds = [FORMATS.load(name) for name in FORMATS.names() if name != LAST]
    return any(kind.recognise(folder) for folder in folders for kind in kinds) or any(
        next(folder.glob(pattern), None) is not None
        for folder in folders
        for pattern in ("layout.json", "*/layout.json")
    )


def open_split(path: Path, split: str) -> PuzzleSource:
    """Stored puzzles; the piece that a protocol gives away is shuffled like the others."""
    source = open_puzzles(path, split=split)
    return source.with_centre_free() if source.kind == "jpwleg" else source


def store_puzzles(folder: Path, batches: Sequence[Batch]) -> None:
    """Write the puzzles of batches of one grid as a GAP folder, whole or not at all.

    Pieces become as they are in data sets: a pixel is material or it is not.
    """
    grid, px = batches[0].grid, batches[0].pieces.shape[-1]
    puzzles = (
        Puzzle(straight(pieces.numpy()), grid, truth.numpy())
        for batch in batches
        for pieces, truth in zip(batch.pieces, batch.position_of, strict=True)
    )
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # a killed run's
    write_gap_split(part, puzzles, sum(map(len, batches)), grid, px)
    part.rename(folder)


class StoredBatches(NumberedBatches):
    """Epoch after epoch of a source, shuffled anew each time, entered at any batch."""

    def __init__(
        self, source: PuzzleSource, *, piece_px: int, batch_size: int, seed: int,
        first_batch: int = 0, with_prior: bool = False,
    ) -> None:  # fmt: skip
        if source.grid is None or not source.has_truth:
            raise InputError(f"{source.path}: training needs one grid and labels")
        if len(source) < batch_size:
            raise InputError(f"{source.path}: {len(source)} puzzles fill no batch of {batch_size}")
        self.source = source
        self.grid: Grid = source.grid
        self.grids = [self.grid]
        self.piece_px = piece_px
        self.batch_size = batch_size
        self.seed = seed
        self.first_batch = first_batch
        self.with_prior = with_prior

    @property
    def batches_per_epoch(self) -> int:
        return len(self.source) // self.batch_size

    def batch(self, number: int) -> Batch:
        """Batch ``number``, always the same."""
        epoch, place = divmod(number, self.batches_per_epoch)
        order = child_rng(self.seed, "epoch", epoch).permutation(len(self.source))
        chosen = order[place * self.batch_size : (place + 1) * self.batch_size]
        return self._read(chosen.tolist(), number)

    def validation(self, grid: Grid, num_puzzles: int, batch_size: int = 16) -> Iterator[Batch]:
        """The first puzzles in their stored order."""
        num_puzzles = min(num_puzzles, len(self.source)) if grid == self.grid else 0
        for first in range(0, num_puzzles, batch_size):
            yield self._read(list(range(first, min(first + batch_size, num_puzzles))), 0)

    def _read(self, indices: list[int], number: int) -> Batch:
        puzzles = [self.source[index] for index in indices]
        pixels = torch.stack([to_tensor(puzzle.pieces, self.piece_px) for puzzle in puzzles])
        known = [puzzle.truth for puzzle in puzzles if puzzle.truth is not None]
        truths = torch.from_numpy(np.stack(known))
        priors = [seam_prior(puzzle.pieces) for puzzle in puzzles] if self.with_prior else None
        prior = torch.from_numpy(np.stack(priors)) if priors else None
        return Batch((pixels * 255).round().byte(), truths, self.grid, prior, number)
