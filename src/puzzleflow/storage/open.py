"""One door to every kind of puzzle file: ``open_puzzles(path)``.

Kinds are import strings, so that a kind may live in a layer above and listing
them loads nothing. Each names a :class:`~puzzleflow.storage.source.PuzzleSource`
with a ``recognise(path)`` class method; the first that says yes is taken.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from puzzleflow.core.errors import CannotSolve, FormatError, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.storage.free_form.open import is_free_form
from puzzleflow.storage.source import PuzzleSource

KINDS = {
    "gap": "puzzleflow.storage.gap:GapSource",
    "jpwleg": "puzzleflow.storage.jpwleg:JpwlegSource",
    "recipe": "puzzleflow.generation.recipe:RecipeSource",
    "folder": "puzzleflow.storage.folder:FolderSource",
}

SPLITS = {
    "train": ("train",),
    "val": ("val", "valid", "validation"),
    "test": ("test",),
}


def open_puzzles(
    path: str | Path,
    *,
    split: str | None = None,
    grid: Grid | None = None,
    centre_free: bool = False,
) -> PuzzleSource:
    """The puzzles at ``path``, whatever their format.

    path    a GAP folder or its puzzles.h5, a folder or image file of JPwLEG,
            a recipe folder, a folder of PNG pieces, or a data set root that
            holds one folder per split
    split   "train", "val" (also "valid", "validation") or "test"; needed only
            where the path holds several, refused where it holds none
    grid    rows x cols, needed only where the files do not say it
    centre_free  JPwLEG only: shuffle the centre piece too, give nothing away

    Fragments that lie anywhere and turned are no grid puzzles and raise
    CannotSolve: ``open_fragments`` of :mod:`puzzleflow.storage.free_form.open` reads them.
    """
    source = _open(path, split, grid)
    return source.with_centre_free() if centre_free else source


def _open(path: str | Path, split: str | None, grid: Grid | None) -> PuzzleSource:
    path = Path(path)
    split = None if split is None else canonical_split(split)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    folders = split_folders(path)
    if folders:
        if split is None and len(folders) > 1:
            raise InputError(f"{path} holds the splits {', '.join(folders)}: choose one of them")
        name = split or next(iter(folders))
        if name not in folders:
            raise InputError(f"{path} has no split {name!r}; it holds {', '.join(folders)}")
        reader = _reader(folders[name])
        if reader is None:
            raise FormatError(f"{folders[name]}: {_EXPECTED}")
        return reader(folders[name], split=name, grid=grid)
    reader = _reader(path)
    if (reader is None or reader.kind == "folder") and is_free_form(path):
        raise CannotSolve(f"{path}: fragments that lie anywhere and turned, not on a grid")
    if reader is None:
        raise FormatError(f"{path}: {_EXPECTED}")
    if split is not None and not reader.splits(path) and _own_split(path) != split:
        raise InputError(f"{path}: has no split {split!r}; it is one set of puzzles")
    return reader(path, split=split, grid=grid)


def _own_split(path: Path) -> str | None:
    """The split that a path is itself, by its name: test/, test/puzzles.h5, test_img.npy."""
    names = [path.name, path.name.split("_")[0], path.parent.name if path.is_file() else ""]
    for split, spellings in SPLITS.items():
        if any(name.lower() in spellings for name in names):
            return split
    return None


_EXPECTED = (
    "no puzzles recognised; expected a GAP folder (puzzles.h5), JPwLEG .npy files, "
    "a recipe.json or a folder of PNG pieces"
)


def canonical_split(name: str) -> str:
    """ "train", "val" or "test", whichever ``name`` means."""
    for split, spellings in SPLITS.items():
        if name.lower() in spellings:
            return split
    raise UnknownName("split", name, [s for spellings in SPLITS.values() for s in spellings])


def split_folders(root: Path) -> dict[str, Path]:
    """The folders of a data set root by split; empty if ``root`` is no such root."""
    if not root.is_dir():
        return {}
    return {
        split: root / spelling
        for split, spellings in SPLITS.items()
        for spelling in reversed(spellings)
        if _reader(root / spelling) is not None
    }


def open_all(path: str | Path, *, grid: Grid | None = None) -> dict[str, PuzzleSource]:
    """Every split below ``path`` by name; a source without splits is named ``""``."""
    path = Path(path)
    names = list(split_folders(path))
    if not names:
        reader = _reader(path) if path.exists() else None
        names = reader.splits(path) if reader is not None else []
    if not names:
        return {"": open_puzzles(path, grid=grid)}
    return {name: open_puzzles(path, split=name, grid=grid) for name in names}


def _reader(path: Path) -> type[PuzzleSource] | None:
    if not path.exists():
        return None
    readers = (load_kind(name) for name in KINDS)
    return next((reader for reader in readers if reader.recognise(path)), None)


def load_kind(name: str) -> type[PuzzleSource]:
    """The reader class of a kind."""
    if name not in KINDS:
        raise UnknownName("kind of puzzles", name, KINDS)
    module_name, _, class_name = KINDS[name].partition(":")
    reader: type[PuzzleSource] = getattr(importlib.import_module(module_name), class_name)
    return reader
