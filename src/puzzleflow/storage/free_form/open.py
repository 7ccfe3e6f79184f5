"""One door to every kind of free-form fragments: ``open_fragments(path)``."""

from __future__ import annotations

import importlib
from pathlib import Path

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.storage.free_form.source import FragmentSource

FRAGMENT_KINDS = {
    "puzzleflow": "puzzleflow.storage.free_form.own:OwnSource",
    "repair": "puzzleflow.storage.free_form.repair:RepairSource",
    "jigsawnet": "puzzleflow.storage.free_form.jigsawnet:JigsawNetSource",
    "dafne": "puzzleflow.storage.free_form.dafne:DafneSource",
    "derech": "puzzleflow.storage.free_form.derech:DerechSource",
}
POSE_FILES = ("fragments.json", "groundtruth.json", "fragmentList.txt", "fragments.txt")
CUT_OUTS = "puzzleflow.storage.free_form.cutouts:CutOutSource"

_EXPECTED = (
    "no fragments recognised; expected a folder with fragments.json, RePAIR, JigsawNet "
    "(fragmentList.txt), DAFNE (fragments.txt), Derech's series (groundtruth.json), "
    "or a folder of pictures with transparency"
)


def open_fragments(path: str | Path) -> FragmentSource:
    """The sets of fragments at ``path``, whatever their format; one folder may hold many."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    folder = _folder(path)
    for name in (*FRAGMENT_KINDS.values(), CUT_OUTS):
        reader = _load(name)
        if reader.recognise(folder):
            return reader(folder)
    raise FormatError(f"{path}: {_EXPECTED}")


def is_free_form(path: str | Path) -> bool:
    """Whether the files at ``path`` say that they are fragments without a grid.

    A bare folder of cut-outs does not: it may be a puzzle of any kind.
    """
    folder = _folder(Path(path))
    return any(_load(name).recognise(folder) for name in FRAGMENT_KINDS.values())


def _folder(path: Path) -> Path:
    """The folder that a path to its file of poses means."""
    return path.parent if path.is_file() and path.name in POSE_FILES else path


def _load(name: str) -> type[FragmentSource]:
    module_name, _, class_name = name.partition(":")
    reader: type[FragmentSource] = getattr(importlib.import_module(module_name), class_name)
    return reader
