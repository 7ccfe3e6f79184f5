"""One door to every file format: ``open_puzzles(path)``.

Formats are registered here, above ``storage`` and ``generation``, because recipes are
rendered by the generator while all other formats are only read. Other packages add theirs
through the entry-point group ``puzzleflow.formats``: a subclass of
:class:`~puzzleflow.storage.source.PuzzleSource`, or of
:class:`~puzzleflow.storage.free_form.source.FragmentSource` for fragments without a grid.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from puzzleflow.addresses import address_of, located
from puzzleflow.core.errors import CannotSolve, FormatError, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.registry import Registry
from puzzleflow.storage.free_form.cutouts import CutOutSource
from puzzleflow.storage.free_form.source import FragmentSource
from puzzleflow.storage.source import SPLITS, PuzzleSource, Source, chosen_split, split_named

FORMATS = Registry(
    what="file format",
    group="puzzleflow.formats",
    builtin={
        "dafne": "puzzleflow.storage.free_form.dafne:DafneSource",
        "derech": "puzzleflow.storage.free_form.derech:DerechSource",
        "folder": "puzzleflow.storage.folder:FolderSource",
        "gap": "puzzleflow.storage.gap:GapSource",
        "jigsawnet": "puzzleflow.storage.free_form.jigsawnet:JigsawNetSource",
        "jpwleg": "puzzleflow.storage.jpwleg:JpwlegSource",
        "parquet": "puzzleflow.storage.parquet:ParquetSource",
        "puzzleflow": "puzzleflow.storage.free_form.own:OwnSource",
        "recipe": "puzzleflow.generation.recipe_file:RecipeSource",
        "repair": "puzzleflow.storage.free_form.repair:RepairSource",
        "shuffled": "puzzleflow.storage.shuffled:ShuffledSource",
    },
)
LAST = "folder"  # takes any folder of pictures, so every other format is asked before it
POSE_FILES = ("fragments.json", "groundtruth.json", "fragmentList.txt", "fragments.txt")
_TABLES = (
    ".npy",
    ".parquet",
    ".csv",
    ".json",
    ".h5",
)  # files whose own name may begin with a split


def open_puzzles(
    path: str | Path,
    *,
    split: str | None = None,
    grid: Grid | None = None,
    centre_free: bool = False,
) -> PuzzleSource:
    """The puzzles at ``path``, whatever their format.

    path    hf://OWNER/NAME, or a GAP folder or its puzzles.h5, a folder or image file of JPwLEG,
            a recipe folder, a folder of pictures of pieces, one picture of shuffled
            square pieces, or a data set root that holds one folder per split
    split   "train", "val" (also "valid", "validation") or "test"; needed only
            where the path holds several, refused where it holds none
    grid    rows x cols, needed only where the files do not say it
    centre_free  JPwLEG only: shuffle the centre piece too, give nothing away

    Raises CannotSolve for free-form sets such as RePAIR; :func:`open_source` opens them.
    """
    source = on_grid(open_source(path, split=split, grid=grid))
    return source.with_centre_free() if centre_free else source


def on_grid(source: Source) -> PuzzleSource:
    """The same source, provided that it holds puzzles on grids."""
    if not isinstance(source, PuzzleSource):
        raise CannotSolve(
            f"{source.path}: a free-form set ({source.kind}), whose fragments lie anywhere "
            "and turned, not on a grid"
        )
    return source


def open_source(path: str | Path, *, split: str | None = None, grid: Grid | None = None) -> Source:
    """What lies at ``path``: puzzles on grids, or free-form sets."""
    split = None if split is None else canonical_split(split)
    path = fetched(path, () if split is None else (split,))
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    _check_readable(path)
    folders = split_folders(path)
    if folders:
        split = chosen_split(path, folders, split)
        path = folders[split]
    reader = _reader(path)
    if reader is None:
        known = ", ".join(each.looks_like for each in _readers())
        raise FormatError(f"{path}: no puzzles recognised; expected one of: {known}")
    if not folders and split and not reader.splits(path) and _own_split(path) != split:
        raise InputError(f"{path}: has no split {split!r}; it is one set of puzzles")
    return reader(path, split=split, grid=grid)


def open_fragments(path: str | Path) -> FragmentSource:
    """The free-form sets at ``path``, whatever their format; one folder may hold many.

    A bare folder of pictures, which :func:`open_source` takes for a puzzle, is a set of
    cut-outs here.
    """
    path = fetched(path, None)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    _check_readable(path)
    readers: list[type[FragmentSource]] = [*_free_form_readers(), CutOutSource]
    folder = _poses_folder(path)
    for reader in readers:
        if reader.recognise(folder):
            return reader(folder)
    known = ", ".join(reader.looks_like for reader in readers)
    raise FormatError(f"{path}: no fragments recognised; expected one of: {known}")


def is_free_form(path: str | Path) -> bool:
    """Whether the files at ``path`` say that they are fragments without a grid."""
    folder = _poses_folder(Path(path))
    return any(reader.recognise(folder) for reader in _free_form_readers())


def _poses_folder(path: Path) -> Path:
    """The folder that a path to its file of poses means."""
    return path.parent if path.is_file() and path.name in POSE_FILES else path


def _check_readable(path: Path) -> None:
    """Refuse folders, and folders in them, that may not be read, lest they seem to be empty."""
    inside: list[Path] = []
    try:
        if path.is_dir():
            inside = [p for p in path.iterdir() if p.is_dir() and not p.name.startswith(".")]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    for folder in inside:
        if not os.access(folder, os.R_OK | os.X_OK):
            raise InputError(f"cannot read {folder}: Permission denied")


def _own_split(path: Path) -> str | None:
    """The split that a path is itself, by its name: test/, test/puzzles.h5, test_img.npy."""
    names = [path.name, path.name.split("_")[0], path.parent.name if path.is_file() else ""]
    return next((split for name in names if (split := split_named(name))), None)


def canonical_split(name: str) -> str:
    """ "train", "val" or "test", whichever ``name`` means."""
    split = split_named(name)
    if split is None:
        raise UnknownName("split", name, [s for spellings in SPLITS.values() for s in spellings])
    return split


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


def open_all(path: str | Path, *, grid: Grid | None = None) -> dict[str, Source]:
    """Every split below ``path`` by name; a source without splits is named ``""``."""
    path = fetched(path, None)
    reader = _reader(path)
    names = list(split_folders(path)) or (reader.splits(path) if reader else [])
    if not names:
        return {"": open_source(path, grid=grid)}
    return {name: open_source(path, split=name, grid=grid) for name in names}


def _readers() -> list[type[Source]]:
    """The reader classes, in the order in which they are asked."""
    return [FORMATS.load(name) for name in sorted(FORMATS.names(), key=lambda n: n == LAST)]


def _free_form_readers() -> list[type[FragmentSource]]:
    return [reader for reader in _readers() if issubclass(reader, FragmentSource)]


def _reader(path: Path) -> type[Source] | None:
    if not path.exists():
        return None
    return next((reader for reader in _readers() if reader.recognise(path)), None)


def fetched(path: str | Path, splits: Collection[str] | None) -> Path:
    """The same path, or where the files of an address lie now.

    splits  those that are wanted; empty for the only one there may be, None for all
    """
    address = address_of(path)
    if address is None:
        return Path(path)

    def choose(names: list[str]) -> list[str]:
        found = {name: split_of(name) for name in names}
        held = [split for split in SPLITS if split in found.values()]
        sets = _sets(names)
        if sets:
            raise InputError(
                f"{address}: its data sets lie deeper; choose one of "
                + ", ".join(f"{address.rstrip('/')}/{name}" for name in sets)
            )
        if splits is None:
            return names
        if not splits and len(held) > 1:
            raise InputError(f"{address} holds the splits {', '.join(held)}: choose one of them")
        for split in splits:
            if held and split not in held:
                raise InputError(f"{address} has no split {split!r}; it holds {', '.join(held)}")
        return [name for name in names if found[name] in (None, *(splits or held))]

    return located(address, choose)


def split_of(name: str) -> str | None:
    """The split that a file belongs to, by a folder on its way or its own first word."""
    path = PurePosixPath(name)
    own = path.stem.replace("-", "_").split("_")[0] if path.suffix in _TABLES else ""
    return next((split for part in (*path.parts[:-1], own) if (split := split_named(part))), None)


def _sets(names: list[str]) -> list[str]:
    """Folders that each have splits of their own, where no split lies beside them."""
    parts = [PurePosixPath(name).parts for name in names]
    if any(split_named(part[0]) for part in parts if len(part) > 1):
        return []
    return sorted(
        {part[0] for part in parts if len(part) > 2 and split_named(part[1])} - {"recipe"}
    )
