"""What every reader of free-form fragments offers: a lazy sequence of fragment sets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.grid import Grid
from puzzleflow.storage.source import Source

MAX_FRAGMENTS = 10_000
MAX_POSE = 1e6


class FragmentSource(Source):
    """M sets of fragments somewhere on disk, read one at a time; may be pickled."""

    def __init__(
        self, path: str | Path, *, split: str | None = None, grid: Grid | None = None
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        self.folders = self.find(self.path)
        if not self.folders:
            raise FormatError(f"{self.path}: no {self.kind} fragments in it")

    @classmethod
    def recognise(cls, path: Path) -> bool:
        return path.is_dir() and bool(cls.find(path))

    @classmethod
    @abstractmethod
    def find(cls, path: Path) -> list[Path]:
        """Folders below ``path`` that hold one set each, in order; never raises."""

    @abstractmethod
    def read(self, folder: Path) -> FragmentSet:
        """The set that a folder of :meth:`find` holds."""

    @property
    def names(self) -> list[str]:
        """Names of the sets."""
        return [folder.name for folder in self.folders]

    def files(self) -> list[Path]:
        return [p for folder in self.folders for p in sorted(folder.rglob("*")) if p.is_file()]

    def __len__(self) -> int:
        return len(self.folders)

    def fragments(self, index: int) -> FragmentSet:
        """The fragments of set ``index`` with their poses."""
        folder = self.folders[self._checked(index)]
        with naming(folder):
            return self.read(folder)

    def __getitem__(self, index: int) -> FragmentSet:
        return self.fragments(index)

    def __iter__(self) -> Iterator[FragmentSet]:
        return (self[index] for index in range(len(self)))


def sub_folders(path: Path) -> list[Path]:
    """Folders in ``path`` that are not hidden, sorted; none where it cannot be read."""
    try:
        return sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []


def here_or_below(path: Path, *marks: str) -> list[Path]:
    """``path`` itself, else those of its folders, that hold all files ``marks``."""

    def marked(folder: Path) -> bool:
        return all((folder / mark).is_file() for mark in marks)

    return [path] if marked(path) else [folder for folder in sub_folders(path) if marked(folder)]
