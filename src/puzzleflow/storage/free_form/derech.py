"""The series of Derech, Tal and Shimshoni: fragments on a plain ground.

``groundtruth.json`` stands beside the folders of the series and holds, per
series, ``options.series`` and ``fragments`` with ``name`` and ``T`` = [row
shift, column shift, degrees] of the centre of the fragment's picture. Its
names may differ from those of the files in their last part and in the kind of
file (``_p1.jpg`` means ``_p1_m.jpg``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.files import read_json
from puzzleflow.pictures import read_picture
from puzzleflow.storage.free_form.ground import cut_out
from puzzleflow.storage.free_form.source import FragmentSource, sub_folders
from puzzleflow.storage.free_form.text import numbers

TRUTH = "groundtruth.json"
_FRAGMENT = re.compile(r"(.+_p(\d+))(?:_\w+)?\.(?:png|jpe?g)", re.IGNORECASE)


class DerechSource(FragmentSource):
    """One set a series: the folder that holds all of them, or one of its folders."""

    kind = "derech"
    looks_like = "Derech's series (groundtruth.json)"

    @classmethod
    def find(cls, path: Path) -> list[Path]:
        if (path / TRUTH).is_file():
            return [folder for folder in sub_folders(path) if _pictures(folder)]
        return [path] if (path.parent / TRUTH).is_file() and _pictures(path) else []

    def read(self, folder: Path) -> FragmentSet:
        where = _series(folder.parent / TRUTH, folder.name)
        fragments, poses = [], []
        for key, path in _pictures(folder).items():
            with naming(path):
                fragments.append(Fragment(cut_out(read_picture(path)), path.name))
            poses.append(where.get(key))
        return FragmentSet(tuple(fragments), tuple(poses), name=folder.name)


def _series(path: Path, name: str) -> dict[str, Pose]:
    """Poses of one series by the first part of the file name."""
    content = read_json(path)
    for entry in content if isinstance(content, list) else []:
        options = entry.get("options") if isinstance(entry, dict) else None
        if isinstance(options, dict) and options.get("series") == name:
            return dict(_fragment(each, path) for each in _listed(entry, path))
    raise FormatError(f"{path}: expected a list with an entry for the series {name!r}")


def _listed(entry: dict[str, Any], path: Path) -> list[Any]:
    fragments = entry.get("fragments")
    if not isinstance(fragments, list):
        raise FormatError(f"{path}: expected a list 'fragments' in every series")
    return fragments


def _fragment(entry: Any, path: Path) -> tuple[str, Pose]:
    name = entry.get("name") if isinstance(entry, dict) else None
    matched = _FRAGMENT.fullmatch(name) if isinstance(name, str) else None
    if matched is None:
        raise FormatError(f"{path}: expected the name of a fragment, got {str(name)[:60]!r}")
    row, col, degrees = map(float, numbers(entry.get("T"), 3, f"{path}: T of {name}"))
    return matched[1], Pose(col, row, degrees)


def _pictures(folder: Path) -> dict[str, Path]:
    """Fragments by the first part of their name, in the order of their numbers."""
    found: list[tuple[int, str, Path]] = []
    try:
        for path in folder.iterdir():
            if matched := _FRAGMENT.fullmatch(path.name):
                found.append((int(matched[2]), matched[1], path))
    except OSError:
        return {}
    return {key: path for _, key, path in sorted(found)}
