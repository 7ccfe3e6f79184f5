"""DAFNE's folders: eroded fragments of a fresco, some of them spurious.

``fragments.txt``    ``number x y degrees`` of those that belong, see :func:`_pose`
``fragments_s.txt``  numbers of the spurious ones; may be missing
``frag_eroded/frag_eroded_N.png``  the fragments, RGBA; any folder of PNGs whose
                     names end in their number will do
"""

from __future__ import annotations

import re
from pathlib import Path

from puzzleflow.core.errors import FormatError
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.pictures import read_picture
from puzzleflow.storage.free_form.source import FragmentSource, here_or_below, sub_folders
from puzzleflow.storage.free_form.text import number, read_lines, whole

TRUTH, SPURIOUS = "fragments.txt", "fragments_s.txt"
_NUMBERED = re.compile(r".*?(\d+)\.png", re.IGNORECASE)


class DafneSource(FragmentSource):
    """One set a fresco."""

    kind = "dafne"
    looks_like = "a DAFNE folder (fragments.txt)"

    @classmethod
    def find(cls, path: Path) -> list[Path]:
        return [folder for folder in here_or_below(path, TRUTH) if _pictures(folder)]

    def read(self, folder: Path) -> FragmentSet:
        where = _table(folder / TRUTH)
        listed = read_lines(folder / SPURIOUS) if (folder / SPURIOUS).exists() else []
        spurious = {whole(words[0], folder / SPURIOUS) for words in listed}
        pictures = _pictures(folder)
        for fragment in sorted(where.keys() | spurious):
            if fragment not in pictures:
                raise FormatError(f"{folder}: no picture of fragment {fragment}")
        fragments, poses = [], []
        for key, path in pictures.items():
            fragments.append(Fragment(read_picture(path, "RGBA"), path.name))
            poses.append(_pose(*where[key]) if key in where else None)
        foreign = {index for index, key in enumerate(pictures) if key in spurious - where.keys()}
        return FragmentSet(tuple(fragments), tuple(poses), frozenset(foreign), name=folder.name)


def _pose(x: float, y: float, degrees: float) -> Pose:
    """x and y are the pixel of the fresco on which the middle of the picture lies.

    Measured against the fresco itself: colours differ least half a pixel from the
    pixel's corner, and degrees are counter-clockwise.
    """
    return Pose(x + 0.5, y + 0.5, degrees)


def _table(path: Path) -> dict[int, tuple[float, float, float]]:
    table = {}
    for words in read_lines(path):
        if len(words) != 4:
            raise FormatError(
                f"{path}: expected 'number x y degrees', got {' '.join(words)[:60]!r}"
            )
        x, y, degrees = (number(word, path) for word in words[1:])
        table[whole(words[0], path)] = x, y, degrees
    return table


def _pictures(folder: Path) -> dict[int, Path]:
    """The fragments by number, of the first folder that holds some."""
    for place in [*sub_folders(folder), folder]:
        found = {}
        for path in place.glob("*.png"):
            if matched := _NUMBERED.fullmatch(path.name):
                found[int(matched[1])] = path
        if found:
            return dict(sorted(found.items()))
    return {}
