"""Where the puzzles of a training come from: pictures to cut fresh ones from, or stored ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.formats.elsewhere import fetched
from puzzleflow.generation.kinds import kinds_of
from puzzleflow.storage.source import PuzzleSource
from puzzleflow.training.banks import (
    MaskBank,
    PictureBank,
    Report,
    check_masks,
    split_pictures,
)
from puzzleflow.training.stored import StoredBatches, is_stored, open_split
from puzzleflow.training.stream import Batch, PuzzleStream, StreamConfig

HELD_OUT_SEED = 7
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
