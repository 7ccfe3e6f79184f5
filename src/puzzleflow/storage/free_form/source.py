"""What every reader of free-form fragments offers: a lazy sequence of fragment sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.fragments import FragmentSet

MAX_FRAGMENTS = 10_000
MAX_POSE = 1e6


class FragmentSource(ABC):
    """M sets of fragments somewhere on disk, read one at a time; may be pickled."""

    kind: ClassVar[str]

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.folders = self.find(self.path)
        if not self.folders:
            raise FormatError(f"{self.path}: no {self.kind} fragments in it")

    @classmethod
    def recognise(cls, path: Path) -> bool:
        """Whether ``path`` looks like this kind of source; cheap, never raises."""
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

    def describe(self) -> dict[str, Any]:
        """Facts for ``inspect`` beyond the common ones; JSON values only."""
        return {}

    def files(self) -> list[Path]:
        """The files that hold this source."""
        return [p for folder in self.folders for p in sorted(folder.rglob("*")) if p.is_file()]

    def __len__(self) -> int:
        return len(self.folders)

    def __getitem__(self, index: int) -> FragmentSet:
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"{self.path}: no set {index} among {size}")
        folder = self.folders[index]
        with naming(folder):
            return self.read(folder)

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
