"""What every reader offers: a lazy, picklable sequence of puzzles or of fragment sets.

A :class:`PuzzleSource` has puzzles on grids. Fragments that lie anywhere and turned
are no puzzles: they come from a :class:`~puzzleflow.storage.free_form.source.FragmentSource`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import IntArray

SPLITS = {
    "train": ("train",),
    "val": ("val", "valid", "validation"),
    "test": ("test",),
}


def chosen_split(path: Path, held: Collection[str], wanted: str | None) -> str:
    """Of the splits that ``path`` holds the one that is meant; an error lists them."""
    if wanted is None and len(held) > 1:
        listed = ", ".join(split or "unnamed" for split in held)
        raise InputError(f"{path} holds the splits {listed}: choose one of them")
    split = wanted or next(iter(held))
    if split not in held:
        raise InputError(f"{path} has no split {split!r}; it holds {', '.join(held)}")
    return split


class Source(ABC):
    """M puzzles or fragment sets somewhere on disk, read one at a time.

    A reader is made as ``Reader(path, split=..., grid=...)``. It opens its
    files when they are first needed, lets go of them in :meth:`close`, and may
    be pickled: the copy opens the files again in its own process.
    """

    kind: ClassVar[str]  # the name under which the format is registered
    looks_like: ClassVar[str]  # "a GAP folder (puzzles.h5)": what a user must bring

    def __init__(
        self, path: str | Path, *, split: str | None = None, grid: Grid | None = None
    ) -> None:
        self.path = Path(path)
        self.split = split
        self._asked_grid = grid

    @classmethod
    @abstractmethod
    def recognise(cls, path: Path) -> bool:
        """Whether ``path`` looks like this kind of source; cheap, never raises."""

    @classmethod
    def splits(cls, path: Path) -> list[str]:
        """The splits that ``path`` itself holds side by side; mostly none."""
        return []

    @abstractmethod
    def __len__(self) -> int: ...

    def describe(self) -> dict[str, Any]:
        """Facts for ``inspect`` beyond the common ones; JSON values only."""
        return {}

    def files(self) -> list[Path]:
        """The files that hold this source."""
        return [self.path] if self.path.is_file() else []

    def close(self) -> None:
        """Let go of open files; the next read opens them again."""
        return

    def _checked(self, index: int) -> int:
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"{self.path}: no puzzle {index} among {size}")
        return index % size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, split={self.split!r})"


class PuzzleSource(Source):
    """Puzzles on grids."""

    @property
    @abstractmethod
    def grid(self) -> Grid | None:
        """The grid that all puzzles share, or None where they differ."""

    @property
    @abstractmethod
    def has_truth(self) -> bool:
        """Whether every puzzle knows its truth."""

    @property
    def conditions(self) -> Conditions:
        """What may be amiss with the puzzles; mostly nothing."""
        return CLOSED

    def turns(self) -> IntArray | None:
        """(M, N) the true turns of all pieces; None where they lie upright or it is not known."""
        return None

    @abstractmethod
    def truths(self) -> IntArray | None:
        """(M, N) int64 ``position_of[piece]``; None without truth or with mixed grids."""

    @abstractmethod
    def read(self, index: int) -> Puzzle:
        """Puzzle ``index``, which lies in ``range(len(self))``."""

    def puzzle_id(self, index: int) -> str:
        """``read(index).puzzle_id``, without reading pixels where the reader can."""
        return self.read(index).puzzle_id

    def pins(self, index: int) -> dict[int, int]:
        """Pieces that the protocol of the source gives away (piece → position)."""
        return {}

    def contradictions(self) -> list[str]:
        """Where the files of the source say different things; sentences for ``inspect``."""
        return []

    def with_centre_free(self) -> PuzzleSource:
        """The same puzzles without the piece that their protocol gives away."""
        raise InputError(f"{self.path}: no piece is given away in {self.kind} puzzles")

    def __getitem__(self, index: int) -> Puzzle:
        return self.read(self._checked(index))

    def __iter__(self) -> Iterator[Puzzle]:
        return (self.read(index) for index in range(len(self)))


def split_named(name: str) -> str | None:
    """The split that a name stands for, whichever its spelling; None if it names none."""
    return next((split for split, names in SPLITS.items() if name.lower() in names), None)
