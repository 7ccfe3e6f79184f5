"""What kind of thing a picture shows: a table tells it, or the folder that it lies in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.files import read_table

FOREIGN_KINDS = ("any", "same", "other")  # of strangers, compared with the picture they come to


def check_foreign_kind(name: str) -> str:
    """``name`` itself, or an error that lists the known names."""
    if name not in FOREIGN_KINDS:
        raise UnknownName("kind of strangers", name, FOREIGN_KINDS)
    return name


def is_stranger(own: str, other: str, foreign_kind: str) -> bool:
    """Whether a picture of kind ``other`` may be a stranger to one of kind ``own``."""
    return foreign_kind == "any" or (own == other) == (foreign_kind == "same")


def picture_table(folder: Path) -> Path | None:
    """The ``images.csv`` in ``folder`` or beside it."""
    tables = (folder / "images.csv", folder.parent / "images.csv")
    return next((table for table in tables if table.is_file()), None)


def kinds_of(folder: Path, pictures: Iterable[str]) -> dict[str, str]:
    """Picture → kind, from the table at ``folder``, else by the uppermost subfolder.

    Raises :class:`InputError` for a picture whose kind nobody tells.
    """
    table = picture_table(folder)
    kinds = None if table is None else read_kinds(table)
    found = {}
    for picture in pictures:
        if not (kind := kind_of(picture, kinds)):
            where = "lies in no subfolder, and there is no images.csv" if table is None else table
            raise InputError(f"{folder / picture}: of unknown kind ({where})")
        found[picture] = kind
    return found


def kind_of(name: str, kinds: Mapping[str, str] | None) -> str | None:
    """The kind of a picture below a folder, by a table or, without one, by its subfolder."""
    path = PurePosixPath(name)
    if kinds is None:
        return path.parts[0] if len(path.parts) > 1 else None
    return kinds.get(name) or kinds.get(path.name)


def read_kinds(path: Path, merged: Sequence[str] = ()) -> dict[str, str]:
    """File → kind from a CSV table with the columns ``file`` and ``kind``.

    merged  ``NEW=OLD,OLD``: several kinds under one name
    """
    heading, *lines = read_table(path) or [[]]
    if not {"file", "kind"} <= set(heading):
        raise FormatError(f"{path}: expected the columns file and kind")
    rows = [dict(zip(heading, line, strict=False)) for line in lines]
    kinds = {row.get("file", ""): row.get("kind", "").strip() for row in rows}
    new_name = {}
    for text in merged:
        new, _, old = text.partition("=")
        names = [name.strip() for name in old.split(",") if name.strip()]
        if not new.strip() or not names:
            raise InputError(f"{text!r}: expected NEW=OLD,OLD, for example objects=lamps,ambers")
        new_name.update(dict.fromkeys(names, new.strip()))
    if unknown := sorted(set(new_name) - set(kinds.values())):
        raise InputError(f"{path}: has no kind {', '.join(unknown)} to merge")
    return {file: new_name.get(kind, kind) for file, kind in kinds.items() if kind}
