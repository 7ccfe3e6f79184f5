"""PuzzleFlow's own format: a folder of PNGs and ``fragments.json``.

    {"format": "puzzleflow-fragments", "version": 1, "name": …,
     "convention": …,                       for people; readers ignore it
     "fragments": [{"file": …, "name": …, "pose": [x, y, angle] or null,
                    "foreign": false, "pixels_per_mm": null}, …],
     "adjacency": [[0, 1], …] or null,      pairs of indices
     "facts": {…}}                          whatever the writer wants to be remembered

Poses are those of :mod:`puzzleflow.core.pose`. A folder whose sub-folders hold
such a file each is a collection of sets. Everything that a FragmentSet knows
comes back as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.core.types import BoolArray
from puzzleflow.files import atomic_folder, read_json, write_json
from puzzleflow.pictures import read_picture, write_picture
from puzzleflow.storage.free_form.source import MAX_FRAGMENTS, FragmentSource, here_or_below
from puzzleflow.storage.free_form.text import numbers, plain_name

DATA = "fragments.json"
FORMAT, VERSION = "puzzleflow-fragments", 1
CONVENTION = (
    "pose = [x, y, angle]: the centre of the picture lies at (x, y) pixels, x right, y down; "
    "the fragment is turned about it by angle degrees, counter-clockwise as seen"
)


class OwnSource(FragmentSource):
    """One set, or one per sub-folder."""

    kind = "puzzleflow"
    looks_like = "fragments in our own format (fragments.json)"

    @classmethod
    def find(cls, path: Path) -> list[Path]:
        return here_or_below(path, DATA)

    def read(self, folder: Path) -> FragmentSet:
        path = folder / DATA
        content = read_json(path)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FormatError(f"{path}: expected the format {FORMAT!r}")
        if content.get("version") != VERSION:
            raise FormatError(f"{path}: version {content.get('version')}, this reads {VERSION}")
        entries = content.get("fragments")
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise FormatError(f"{path}: expected a list 'fragments' of objects")
        if len(entries) > MAX_FRAGMENTS:
            raise FormatError(f"{path}: {len(entries)} fragments are too many")
        fragments = tuple(_fragment(entry, path) for entry in entries)
        poses = tuple(_pose(entry, path) for entry in entries)
        foreign = frozenset(i for i, entry in enumerate(entries) if entry.get("foreign") is True)
        name = content.get("name")
        return FragmentSet(
            fragments,
            poses,
            foreign,
            _adjacency(content.get("adjacency"), len(entries), path),
            name if isinstance(name, str) else folder.name,
        )

    def facts(self, index: int) -> dict[str, Any]:
        """What the writer of a set wanted to be remembered."""
        facts = read_json(self.folders[index] / DATA).get("facts")
        return facts if isinstance(facts, dict) else {}


def _fragment(entry: dict[str, Any], path: Path) -> Fragment:
    picture = path.parent / plain_name(entry.get("file"), path)
    name, scale = entry.get("name", picture.name), entry.get("pixels_per_mm")
    if not isinstance(name, str) or not isinstance(scale, int | float | None):
        raise FormatError(f"{path}: expected a name and a scale of {picture.name}")
    with naming(picture):
        return Fragment(read_picture(picture, "RGBA"), name, scale)


def _pose(entry: dict[str, Any], path: Path) -> Pose | None:
    if entry.get("pose") is None:
        return None
    return Pose(*map(float, numbers(entry["pose"], 3, f"{path}: pose of {entry.get('name')}")))


def _adjacency(pairs: Any, count: int, path: Path) -> BoolArray | None:
    if pairs is None:
        return None
    table = np.zeros((count, count), dtype=np.bool_)
    for pair in pairs if isinstance(pairs, list) else [pairs]:
        first, second = map(int, numbers(pair, 2, f"{path}: adjacency"))
        if not (0 <= first < count and 0 <= second < count and first != second):
            raise FormatError(f"{path}: adjacency {pair} of {count} fragments")
        table[first, second] = table[second, first] = True
    return table


def write_fragments(
    folder: str | Path, fragments: FragmentSet, *, facts: Mapping[str, Any] | None = None
) -> None:
    """Write a set into a folder that does not exist yet, whole or not at all."""
    folder = Path(folder)
    files = _file_names(fragments.names)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "name": fragments.name,
        "convention": CONVENTION,
        "fragments": [
            {
                "file": file,
                "name": fragment.name,
                "pose": None if pose is None else [pose.x, pose.y, pose.angle],
                "foreign": index in fragments.foreign,
                "pixels_per_mm": fragment.pixels_per_mm,
            }
            for index, (file, fragment, pose) in enumerate(
                zip(files, fragments.fragments, fragments.poses, strict=True)
            )
        ],
        "adjacency": None
        if fragments.adjacency is None
        else np.argwhere(np.triu(fragments.adjacency | fragments.adjacency.T, 1)),
        "facts": dict(facts or {}),
    }
    with atomic_folder(folder) as inside:
        for file, fragment in zip(files, fragments.fragments, strict=True):
            write_picture(inside / file, fragment.pixels)
        write_json(inside / DATA, content)


def _file_names(names: tuple[str, ...]) -> list[str]:
    """Names of PNG files: those of the fragments where they can be file names."""
    files = [
        str(Path(name).with_suffix(".png")) if name not in ("", ".", "..") else "" for name in names
    ]
    plain = all(file and Path(file).name == file and "\0" not in file for file in files)
    if plain and len({file.lower() for file in files}) == len(files):
        return files
    digits = max(2, len(str(len(names))))
    return [f"fragment_{index:0{digits}d}.png" for index in range(1, len(names) + 1)]
