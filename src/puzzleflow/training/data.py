"""Where the puzzles of a training come from: pictures to cut fresh ones from, or stored ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.files import atomic_folder
from puzzleflow.formats.open import FORMATS, LAST, fetched, open_puzzles
from puzzleflow.generation.survey import kinds_of
from puzzleflow.models.pixels import to_tensor
from puzzleflow.solvers.seam_prior import seam_prior
from puzzleflow.storage.gap_writer import write_gap_split
from puzzleflow.storage.source import SPLITS, PuzzleSource
from puzzleflow.training.banks import MaskBank, PictureBank, Report, check_masks, split_pictures
from puzzleflow.training.stream import Batch, NumberedBatches, PuzzleStream, StreamConfig, straight

HELD_OUT_SEED = 7


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
    with atomic_folder(folder) as part:
        write_gap_split(part, puzzles, sum(map(len, batches)), grid, px)


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


Batches = PuzzleStream | StoredBatches


@dataclass(frozen=True)
class TrainingData:
    """Puzzles to train on and held-out ones; all that is quick to check is checked at once.

    path      a folder of pictures, or stored puzzles of any format, here or at an address
    stream    what to cut from pictures; of stored puzzles, how to read them
    masks     fresh puzzles only: source → share
    batch     stored puzzles only: puzzles in a batch
    held_out  the split that is not trained on
    """

    path: Path
    stream: StreamConfig
    cache: Path
    masks: Mapping[str, float] = field(default_factory=lambda: {"vae": 1.0})
    batch: int = 8
    seed: int = 0
    held_out: str = "val"

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", fetched(self.path, ("train", self.held_out)))
        if not self.path.exists():
            raise InputError(f"{self.path}: no such file or folder")
        if self.stored:
            train, other = self._stored()
            if train.grid != other.grid:
                raise InputError(f"{self.path}: its splits differ in grid")
            return
        for split in ("train", self.held_out):
            if not split_pictures(self.path, split):
                raise InputError(f"{self.path}: no pictures of split {split!r} to cut puzzles from")
            self._kinds(split_pictures(self.path, split))
        for name in self.masks:
            check_masks(name)

    @cached_property
    def stored(self) -> bool:
        """Whether the puzzles lie on disk."""
        return is_stored(self.path)

    @cached_property
    def sources(self) -> list[PuzzleSource]:
        """The stored puzzles: to train on, and held out."""
        return [open_split(self.path, split) for split in ("train", self.held_out)]

    @property
    def grids(self) -> list[Grid]:
        """Of the puzzles to train on."""
        if self.stored:
            return self._stored()[0].grids
        return [Grid.parse(text) for text in self.stream.grids]

    @property
    def batches_per_epoch(self) -> int | None:
        """Of stored puzzles; there is no end of fresh ones."""
        return len(self.sources[0]) // self.batch if self.stored else None

    @property
    def facts(self) -> dict[str, Any]:
        """What a run that goes on must find again, in JSON; folders may move."""
        if self.stored:
            source = self.sources[0]
            return {"puzzles": f"{len(source)} {source.kind} of {source.grid}", "batch": self.batch}
        names = "\n".join(path.name for path in split_pictures(self.path, "train"))
        digest = hashlib.blake2b(names.encode(), digest_size=8).hexdigest()
        pictures = f"{names.count(chr(10)) + 1} ({digest})"
        return {"pictures": pictures, "masks": dict(self.masks), **asdict(self.stream)}

    def open(self, report: Report = lambda *_: None) -> tuple[Batches, Batches]:
        """Batches to train on and held-out ones; masks and pictures are made ready."""
        if self.stored:
            return self._stored()
        masks = MaskBank.read(dict(self.masks), self.cache, report)
        train, other = (
            PuzzleStream(
                PictureBank(paths := split_pictures(self.path, split), self.cache),
                masks, self.stream, seed=seed, kinds=self._kinds(paths),
            )
            for split, seed in (("train", self.seed), (self.held_out, HELD_OUT_SEED))
        )  # fmt: skip
        return train, other

    def _kinds(self, paths: Sequence[Path]) -> list[str]:
        """Of these pictures, where strangers are chosen by kind."""
        if self.stream.foreign_kind == "any":
            return []
        names = [path.relative_to(self.path).as_posix() for path in paths]
        return list(kinds_of(self.path, names).values())

    def _stored(self) -> tuple[StoredBatches, StoredBatches]:
        train, other = (
            StoredBatches(
                source,
                piece_px=self.stream.piece_px,
                batch_size=size,
                seed=self.seed,
                with_prior=self.stream.with_prior,
            )
            for source, size in zip(self.sources, (self.batch, 1), strict=True)
        )
        return train, other


def held_out_batches(
    held_out: Batches, grids: Iterable[Grid], num_puzzles: int, batch: int = 16
) -> list[Batch]:
    """The same puzzles every time, grid by grid, so many in a batch."""
    return [one for grid in grids for one in held_out.validation(grid, num_puzzles, batch)]
