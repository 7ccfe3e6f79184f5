"""RePAIR 2D folders: real fresco fragments with ground-truth poses.

v1     RPobj_g1_o0001/RPf_00001.png …, poses in a table ``rpf,x,y,rot`` inside the
       folder, or named like it, beside it or one or two folders away. The real tree:
       2D_Images/assembled_objects/RPobj_*/RPf_*_intact_mesh.png and
       2D_Ground_Truth/RPobj_*.txt beside 2D_Images. A picture keeps its size, is
       turned by ``rot`` about its centre, and its corner lies at (x, y): so the
       published evaluation draws it, and so its estimate of adjacency centres it.
v2     puzzle_…/data.json, every fragment drawn on the full canvas; the poses are
       those of the drawings, because the numbers of v2 are known to be wrong
v1     as ReassembleNet keeps it: data.json with ``original_id``, and for every
       fragment ``pixel_position`` and ``rotation``, the x, y and rot of the table
v3     puzzle_…/data.json with ``metadata_version`` 3 and ``position_2d``: centroid
       of the material and angle

Angles are counter-clockwise. Fragments are cut down to their material.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose, rotation
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.files import read_json, read_table
from puzzleflow.pictures import read_picture
from puzzleflow.storage.free_form.source import MAX_FRAGMENTS, FragmentSource, sub_folders
from puzzleflow.storage.free_form.text import number, numbers, plain_name

DATA = "data.json"
PIXELS_PER_MM = 7.369  # of the v1 renders, by the published evaluation
_ROOTS = (
    ".",
    "SOLVED",
    "assembled_objects",
    "2D_Images",
    "2D_Images/assembled_objects",
    "2D_Fragments/2D_Images",
    "2D_Fragments/2D_Images/assembled_objects",
)
_TRUTH = "2D_Ground_Truth"
_PREVIEWS = re.compile(r".*preview.*", re.IGNORECASE)


class RepairSource(FragmentSource):
    """Sets below a RePAIR root, or one of its puzzle folders."""

    kind = "repair"
    looks_like = "a RePAIR folder"

    @classmethod
    def find(cls, path: Path) -> list[Path]:
        if _is_puzzle(path):
            return [path]
        found = [folder for root in _ROOTS for folder in sub_folders(path / root)]
        return [folder for folder in found if _is_puzzle(folder)]

    def read(self, folder: Path) -> FragmentSet:
        return _read_json_set(folder) if (folder / DATA).exists() else _read_v1(folder)

    def describe(self) -> dict[str, Any]:
        return {"versions": sorted({_version(folder) for folder in self.folders})}


def _is_puzzle(folder: Path) -> bool:
    try:
        if (folder / DATA).is_file():
            return next(folder.glob("*.png"), None) is not None
        return next(folder.glob("RPf_*.png"), None) is not None
    except OSError:
        return False


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
    told = _told_poses(content, entries, folder / DATA)
    of_corner = "metadata_version" not in content
    fragments, poses = [], []
    canvas: tuple[int, ...] | None = None
    for index, entry in enumerate(entries):
        name = plain_name(entry.get("filename"), folder / DATA)
        path = folder / re.sub(r"\.obj$", ".png", name)  # v2 writes .obj and means .png
        picture = read_picture(path, "RGBA")
        whole = _fragment(picture, path)
        if told is None:
            if canvas not in (None, picture.shape):
                raise FormatError(f"{path}: expected the canvas of the other fragments")
            canvas = picture.shape
            pose = Pose(*map(float, whole.centre))
        elif of_corner:
            pose = _pose_of_corner(picture, *map(float, told[index]))
        else:
            pose = _pose_of_centroid(whole, *map(float, told[index]))
        fragment, offset = whole.cropped()
        fragments.append(fragment)
        poses.append(pose @ Pose(*map(float, offset)))
    adjacency = _adjacency(content.get("adjacency"), [entry.get("idx") for entry in entries])
    return FragmentSet(tuple(fragments), tuple(poses), adjacency=adjacency, name=folder.name)


def _told_poses(content: dict[str, Any], entries: list[Any], path: Path) -> FloatArray | None:
    """(N, 3) x, y and angles; None where fragments are drawn in their places."""
    if "metadata_version" in content:
        rows = [numbers(e.get("position_2d"), 3, f"{path}: position_2d") for e in entries]
    elif all("rotation" in entry for entry in entries):
        rows = [
            np.append(
                numbers((e.get("pixel_position") or [None])[:2], 2, f"{path}: pixel_position"),
                numbers([e["rotation"]], 1, f"{path}: rotation"),
            )
            for e in entries
        ]
    else:
        return None
    return np.array(rows).reshape(-1, 3)


def _read_v1(folder: Path) -> FragmentSet:
    paths = sorted(p for p in folder.glob("*.png") if not _PREVIEWS.fullmatch(p.name))
    corners = _read_poses(folder)
    fragments: list[Fragment] = []
    poses: list[Pose | None] = []
    for path in paths[: MAX_FRAGMENTS + 1]:
        picture = read_picture(path, "RGBA")
        fragment, offset = _fragment(picture, path, PIXELS_PER_MM).cropped()
        where = corners.get(_stem(path.name))
        fragments.append(fragment)
        poses.append(
            None if where is None else _pose_of_corner(picture, *where) @ Pose(*map(float, offset))
        )
    return FragmentSet(tuple(fragments), tuple(poses), name=folder.name)


def _fragment(picture: ByteArray, path: Path, pixels_per_mm: float | None = None) -> Fragment:
    with naming(path):
        return Fragment(picture, path.name, pixels_per_mm)


def _pose_of_corner(picture: ByteArray, x: float, y: float, angle: float) -> Pose:
    """The pose of a picture turned about its centre, with its corner at (x, y) before."""
    height, width = picture.shape[:2]
    return Pose(x + width / 2, y + height / 2, angle)


def _pose_of_centroid(fragment: Fragment, x: float, y: float, angle: float) -> Pose:
    """The pose that takes the mean pixel that is not transparent to pixel (x, y)."""
    rows, cols = np.nonzero(fragment.pixels[..., 3])
    offset = np.array([cols.mean() + 0.5, rows.mean() + 0.5]) - fragment.centre
    middle = np.array([x + 0.5, y + 0.5]) - rotation(angle) @ offset
    return Pose(float(middle[0]), float(middle[1]), angle)


def _read_poses(folder: Path) -> dict[str, tuple[float, float, float]]:
    """x, y, rotation by fragment from the table of a v1 puzzle; empty without one."""
    inside = sorted(path for path in _tables(folder))
    names = {f"{folder.name}{suffix}" for suffix in (".txt", ".csv")}
    near = [folder.parent, folder.parent.parent, folder.parent.parent.parent]
    places = [place for each in near for place in (each, each / _TRUTH, *sub_folders(each))]
    named = [place / name for place in places for name in sorted(names)]
    for path in [*inside, *(path for path in named if path.is_file())]:
        poses = _read_table(path)
        if poses is not None:
            return poses
    return {}


def _tables(folder: Path) -> list[Path]:
    return [*folder.glob("*.txt"), *folder.glob("*.csv")]


def _read_table(path: Path) -> dict[str, tuple[float, float, float]] | None:
    """Rows of ``rpf,x,y,rot``; None if the file has another header."""
    header, *rows = read_table(path) or [[]]
    columns = [name.strip() for name in header]
    if not {"rpf", "x", "y", "rot"} <= set(columns):
        return None
    poses: dict[str, tuple[float, float, float]] = {}
    for fields in rows:
        row = dict(zip(columns, fields, strict=False))
        x, y, rot = (number(row.get(name), path) for name in ("x", "y", "rot"))
        poses[_stem(row.get("rpf", ""))] = x, y, rot
    return poses


def _stem(name: str) -> str:
    """The fragment that a file or a table row means: ``RPf_00012``."""
    return re.sub(r"(_intact_mesh)?(\.png|\.obj)?$", "", name.strip())


def _adjacency(values: Any, idx: list[Any]) -> BoolArray | None:
    """(N, N) from a square matrix or from pairs of ``idx``; None for anything else."""
    try:
        table = np.array(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    n = len(idx)
    if table.shape == (n, n):
        return np.asarray((table != 0) & ~np.eye(n, dtype=np.bool_))
    if table.ndim != 2 or table.shape[1] != 2 or not all(isinstance(i, int) for i in idx):
        return None
    touching = np.zeros((n, n), dtype=np.bool_)
    for first, second in table:
        if first in idx and second in idx and first != second:
            a, b = idx.index(first), idx.index(second)
            touching[a, b] = touching[b, a] = True
    return touching
