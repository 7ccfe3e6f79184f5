"""A folder of cut-outs, and what ``puzzleflow segment`` writes: no poses.

Every PNG (or other picture with transparency) of the folder is a fragment. The
output of ``segment`` is its folder ``fragments`` beside ``segments.json``.
Pictures without transparency are refused: what is ground in them is a guess
that ``segment`` makes better.
"""

from __future__ import annotations

import re
from pathlib import Path

from puzzleflow.core.errors import FormatError
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.pictures import read_picture
from puzzleflow.storage.free_form.source import FragmentSource

SEGMENTS = "segments.json"
_PREVIEW = re.compile(r".*preview.*", re.IGNORECASE)
_SUFFIXES = {".png", ".webp", ".tif", ".tiff"}


class CutOutSource(FragmentSource):
    """One set: the pictures of one folder."""

    kind = "cut-outs"
    looks_like = "a folder of cut-outs"

    @classmethod
    def find(cls, path: Path) -> list[Path]:
        if (path / SEGMENTS).is_file() and _pictures(path / "fragments"):
            return [path / "fragments"]
        return [path] if _pictures(path) else []

    def read(self, folder: Path) -> FragmentSet:
        fragments = []
        for path in _pictures(folder):
            pixels = read_picture(path, "RGBA")
            if pixels[..., 3].min() == 255:
                raise FormatError(f"{path}: expected transparency around the fragment")
            fragments.append(Fragment(pixels, path.name))
        name = folder.parent.name if (folder.parent / SEGMENTS).is_file() else folder.name
        return FragmentSet(tuple(fragments), name=name)


def _pictures(folder: Path) -> list[Path]:
    """The pictures of a folder: ``piece_2`` comes before ``piece_10``."""
    try:
        paths = [
            path
            for path in folder.iterdir()
            if path.suffix.lower() in _SUFFIXES
            and path.name[0] != "."
            and not _PREVIEW.fullmatch(path.name)
        ]
    except OSError:
        return []
    return sorted(paths, key=lambda p: [(len(d), d) for d in re.split(r"(\d+)", p.name)])
