"""RePAIR 2D folders: real fresco fragments with ground-truth poses.

v1     RPobj_g1_o0001/RPf_00001.png …, poses in a text file ``rpf,x,y,rot`` inside
       the folder, or named like it beside it or one folder away
v2     puzzle_…/data.json, every fragment drawn on the full canvas; the poses are
       those of the drawings, because the numbers of v2 are known to be wrong
v3     puzzle_…/data.json with ``metadata_version`` 3 and ``position_2d``

These are no grid puzzles: ``source.fragments(i)`` gives a
:class:`~puzzleflow.storage.fragment_set.FragmentSet`, which assembles itself by its poses.
"""

from __future__ import annotations

import glob
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.cells import crop_to_material
from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.files import read_json, read_table
from puzzleflow.pictures import read_picture
from puzzleflow.storage.fragment_set import FragmentSet, centroid, pose_of_corner
from puzzleflow.storage.source import Source

DATA = "data.json"
_ROOTS = (
    ".",
    "SOLVED",
    "assembled_objects",
    "2D_Images",
    "2D_Images/assembled_objects",
    "2D_Fragments/2D_Images",
    "2D_Fragments/2D_Images/assembled_objects",
)
_PREVIEWS = re.compile(r".*preview.*", re.IGNORECASE)
MAX_FRAGMENTS = 10_000
MAX_POSE = 1e6


class RepairSource(Source):
    """Sets of fragments below a RePAIR root, or one of its puzzle folders."""

    kind = "repair"
    looks_like = "a RePAIR folder"

    def __init__(
        self, path: str | Path, *, split: str | None = None, grid: Grid | None = None
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        self.folders = _puzzle_folders(self.path)
        if not self.folders:
            raise InputError(f"{self.path}: no RePAIR puzzle folders in it")

    @classmethod
    def recognise(cls, path: Path) -> bool:
        return path.is_dir() and bool(_puzzle_folders(path))

    def __len__(self) -> int:
        return len(self.folders)

    def fragments(self, index: int) -> FragmentSet:
        """The fragments of puzzle ``index`` with their poses."""
        folder = self.folders[self._checked(index)]
        with naming(folder):
            return _read_json_set(folder) if (folder / DATA).exists() else _read_v1(folder)

    def describe(self) -> dict[str, Any]:
        versions = sorted({_version(folder) for folder in self.folders})
        return {"versions": versions, "puzzles": [folder.name for folder in self.folders]}

    def files(self) -> list[Path]:
        return [path for folder in self.folders for path in sorted(folder.iterdir())]


def _puzzle_folders(path: Path) -> list[Path]:
    if _is_puzzle(path):
        return [path]
    found = [folder for root in _ROOTS for folder in _sub_folders(path / root)]
    return [folder for folder in found if _is_puzzle(folder)]


def _sub_folders(path: Path) -> Iterator[Path]:
    try:
        yield from sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return


def _is_puzzle(folder: Path) -> bool:
    if (folder / DATA).is_file():
        return next(folder.glob("*.png"), None) is not None
    return next(folder.glob("RPf_*.png"), None) is not None


def _version(folder: Path) -> str:
    if not (folder / DATA).exists():
        return "v1"
    content = read_json(folder / DATA)
    return "v3" if isinstance(content, dict) and "metadata_version" in content else "v2"


def _read_json_set(folder: Path) -> FragmentSet:
    content = read_json(folder / DATA)
    entries = content.get("fragments") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FormatError(f"{folder / DATA}: expected a list 'fragments' of objects")
    if len(entries) > MAX_FRAGMENTS:
        raise FormatError(f"{folder / DATA}: {len(entries)} fragments are too many")
    drawn_in_place = "metadata_version" not in content
    pieces, names, poses = [], [], []
    canvas: tuple[int, int] | None = None
    for entry in entries:
        path = folder / _file_name(entry.get("filename"), folder)
        picture = read_picture(path, "RGBA")
        if drawn_in_place:
            pose = np.append(_inside(picture, path), 0.0)
            if canvas not in (None, picture.shape[:2]):
                raise FormatError(f"{path}: expected the canvas of the other fragments")
            canvas = picture.shape[0], picture.shape[1]
        else:
            pose = _numbers(entry.get("position_2d"), 3, f"{folder / DATA}: position_2d")
        pieces.append(_cropped(picture, path))
        names.append(path.name)
        poses.append(pose)
    if not drawn_in_place and "solution_size" in content:
        width, height = _numbers(content["solution_size"], 2, f"{folder / DATA}: solution_size")
        canvas = math.ceil(height), math.ceil(width)
    return FragmentSet(
        folder,
        tuple(pieces),
        tuple(names),
        np.array(poses).reshape(-1, 3),
        _adjacency(content.get("adjacency"), [entry.get("idx") for entry in entries]),
        canvas,
    )


def _read_v1(folder: Path) -> FragmentSet:
    paths = sorted(p for p in folder.glob("*.png") if not _PREVIEWS.fullmatch(p.name))
    corners = _read_poses(folder)
    pieces, poses = [], []
    for path in paths[: MAX_FRAGMENTS + 1]:
        picture = read_picture(path, "RGBA")
        where = corners.get(_stem(path.name))
        _inside(picture, path)
        poses.append(np.full(3, np.nan) if where is None else pose_of_corner(picture, *where))
        pieces.append(_cropped(picture, path))
    names = tuple(path.name for path in paths)
    return FragmentSet(folder, tuple(pieces), names, np.array(poses).reshape(-1, 3))


def _read_poses(folder: Path) -> dict[str, FloatArray]:
    """x, y, rotation by fragment from the text file of a v1 puzzle; empty without one."""
    named = f"{glob.escape(folder.name)}.[ct][sx][vt]"  # .csv or .txt
    candidates = [*folder.glob("*.[ct][sx][vt]"), *folder.parent.glob(named)]
    candidates += [*folder.parent.glob(f"*/{named}"), *folder.parent.parent.glob(f"*/{named}")]
    for path in sorted(candidates, key=lambda p: (p.parent != folder, str(p))):
        poses = _read_table(path)
        if poses is not None:
            return poses
    return {}


def _read_table(path: Path) -> dict[str, FloatArray] | None:
    """Rows of ``rpf,x,y,rot``; None if the file has another header."""
    poses: dict[str, FloatArray] = {}
    heading, *lines = read_table(path) or [[]]
    if not {"rpf", "x", "y", "rot"} <= set(heading):
        return None
    for line in filter(None, lines):
        row = dict(zip(heading, line, strict=False))
        values = [_number(row.get(name), path) for name in ("x", "y", "rot")]
        poses[_stem(row.get("rpf", ""))] = np.array(values)
    return poses


def _number(text: str | None, path: Path) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not abs(value) <= MAX_POSE:
        raise FormatError(f"{path}: expected a number, got {str(text)[:40]!r}")
    return value


def _stem(name: str) -> str:
    """The fragment that a file or a table row means: ``RPf_00012``."""
    return re.sub(r"(_intact_mesh)?(\.png|\.obj)?$", "", name.strip())


def _numbers(values: Any, count: int, what: str) -> FloatArray:
    fine = isinstance(values, list) and len(values) == count
    if fine:
        fine = all(isinstance(v, int | float) and abs(v) <= MAX_POSE for v in values)
    if not fine:
        raise FormatError(f"{what}: expected {count} numbers, got {str(values)[:60]}")
    return np.array(values, dtype=np.float64)


def _file_name(value: Any, folder: Path) -> str:
    """The PNG that an entry means; v2 writes ``.obj``. Never a path elsewhere."""
    if not isinstance(value, str) or Path(value).name != value or "\0" in value:
        raise FormatError(f"{folder / DATA}: expected a file name, got {str(value)[:60]!r}")
    return re.sub(r"\.obj$", ".png", value)


def _inside(picture: ByteArray, path: Path) -> FloatArray:
    with naming(path):
        return centroid(picture)


def _cropped(picture: ByteArray, path: Path) -> ByteArray:
    with naming(path):
        return crop_to_material(picture)


def _adjacency(values: Any, idx: list[Any]) -> BoolArray | None:
    """(N, N) from a square matrix or from pairs of ``idx``; None for anything else."""
    try:
        table = np.array(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    n = len(idx)
    if table.shape == (n, n):
        return np.asarray(table != 0)
    if table.ndim != 2 or table.shape[1] != 2 or not all(isinstance(i, int) for i in idx):
        return None
    touching = np.zeros((n, n), dtype=np.bool_)
    for first, second in table:
        if first in idx and second in idx:
            a, b = idx.index(first), idx.index(second)
            touching[a, b] = touching[b, a] = True
    return touching
