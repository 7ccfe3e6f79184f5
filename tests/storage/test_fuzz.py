"""Damaged files of every format: every reader gives an answer or one of our errors."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import PuzzleFlowError
from puzzleflow.core.grid import Grid
from puzzleflow.pictures import write_picture
from puzzleflow.storage.audit import inspect_path
from puzzleflow.storage.folder import write_folder
from puzzleflow.storage.gap import write_gap_split
from puzzleflow.storage.jpwleg import write_jpwleg
from puzzleflow.storage.layout import read_layout
from puzzleflow.storage.open import open_puzzles
from puzzleflow.storage.predictions import read_predictions, write_predictions
from puzzleflow.storage.repair import RepairSource
from puzzleflow.storage.solutions import read_solutions

GRID = Grid(3, 3)
ROUNDS = 60


def build_gap(folder: Path, puzzle_of) -> None:
    write_gap_split(folder, [puzzle_of(i, px=4) for i in range(3)], 3, GRID, 4)


def build_foreign_gap(folder: Path, puzzle_of) -> None:
    import h5py

    folder.mkdir()
    with h5py.File(folder / "puzzles.h5", "w", libver="latest") as file:
        pieces = np.stack([puzzle_of(i, px=4).pieces for i in range(3)])
        options = {"chunks": (2, 3, 4, 4, 4), "compression": "gzip", "shuffle": True}
        file.create_dataset("puzzles", data=pieces, fletcher32=True, **options)
    with h5py.File(folder / "labels_coordinates.h5", "w") as file:
        file["x"] = np.stack([np.stack(np.divmod(puzzle_of(i).truth, 3), 1) for i in range(3)])


def build_jpwleg(folder: Path, puzzle_of) -> None:
    puzzles = [puzzle_of(i, px=4, opaque=True) for i in range(3)]
    write_jpwleg(folder, puzzles, 3, GRID, 4)


def build_folder(folder: Path, puzzle_of) -> None:
    write_folder(folder, puzzle_of(0, Grid(1, 3), 4))


def build_repair_v1(folder: Path, puzzle_of) -> None:
    folder.mkdir()
    lines = ["rpf,x,y,rot"]
    for piece in range(3):
        write_picture(folder / f"RPf_{piece}.png", puzzle_of(piece, px=8).pieces[0])
        lines.append(f"RPf_{piece}.png,{9 * piece},3,{30 * piece}")
    (folder / "gt.csv").write_text("\n".join(lines))


def build_repair_v3(folder: Path, puzzle_of) -> None:
    folder.mkdir()
    fragments = []
    for idx in range(3):
        write_picture(folder / f"f{idx}.png", puzzle_of(idx, px=8).pieces[0])
        where = [10 * idx + 5, 6, 15 * idx]
        fragments.append({"idx": idx, "filename": f"f{idx}.png", "position_2d": where})
    data = {"metadata_version": 3, "solution_size": [40, 20], "adjacency": [[0, 1], [1, 2]]}
    (folder / "data.json").write_text(json.dumps(data | {"fragments": fragments}))


def build_predictions(folder: Path, puzzle_of) -> None:
    rows = np.stack([puzzle_of(i).truth for i in range(5)])
    write_predictions(folder / "p.npz", rows, targets=rows, grid=GRID, info={"split": "test"})
    write_predictions(folder / "p.npy", rows)


def read_puzzles(folder: Path) -> None:
    with open_puzzles(folder) as source:
        source.truths()
        for index in range(min(len(source), 3)):
            source[index]


def read_fragments(folder: Path) -> None:
    source = open_puzzles(folder)
    if isinstance(source, RepairSource):
        source.fragments(0).assemble()
    else:  # without its data.json it is a folder of pieces
        read_puzzles(folder)


def read_answers(folder: Path) -> None:
    read_predictions(folder / "p.npz")
    read_predictions(folder / "p.npy")


FORMATS: dict[str, tuple[Callable, Callable]] = {
    "gap": (build_gap, read_puzzles),
    "foreign gap": (build_foreign_gap, read_puzzles),
    "jpwleg": (build_jpwleg, read_puzzles),
    "folder": (build_folder, read_puzzles),
    "repair v1": (build_repair_v1, read_fragments),
    "repair v3": (build_repair_v3, read_fragments),
    "predictions": (build_predictions, read_answers),
}


def damage(content: bytes, rng: random.Random) -> bytes:
    """Truncate, flip bits, overwrite, insert or repeat; more often near the beginning."""
    data = bytearray(content)
    start = rng.randrange(len(data) if rng.random() < 0.4 else min(len(data), 1500))
    match rng.choice(["cut", "flip", "flip", "zeros", "ones", "noise", "insert", "twice"]):
        case "cut":
            del data[start:]
        case "flip":
            for _ in range(rng.choice([1, 1, 3, 20])):
                data[(start + rng.randrange(200)) % len(data)] ^= 1 << rng.randrange(8)
        case "zeros":
            data[start : start + 8] = bytes(8)
        case "ones":
            data[start : start + 8] = b"\xff" * 8
        case "noise":
            data[start : start + 30] = rng.randbytes(30)
        case "insert":
            data[start:start] = rng.randbytes(rng.randrange(1, 40))
        case "twice":
            data[start:start] = data[start : start + 100]
    return bytes(data)


@pytest.mark.parametrize("name", FORMATS)
def test_only_our_errors(tmp_path, puzzle_of, name):
    build, read = FORMATS[name]
    build(tmp_path / "whole", puzzle_of)
    read(tmp_path / "whole")
    messages = []
    for seed in range(ROUNDS):
        rng = random.Random(f"{name}/{seed}")
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        shutil.copytree(tmp_path / "whole", tmp_path / "damaged")
        victim = rng.choice(sorted((tmp_path / "damaged").iterdir()))
        if rng.random() < 0.05:
            victim.unlink()
        else:
            victim.write_bytes(damage(victim.read_bytes(), rng))
        try:
            read(tmp_path / "damaged")
        except PuzzleFlowError as error:
            messages.append(str(error))
    assert [text for text in messages if str(tmp_path / "damaged") not in text] == []
    assert len(messages) > ROUNDS / 10


@pytest.mark.parametrize("name", FORMATS)
def test_inspect_survives_too(tmp_path, puzzle_of, name):
    build, _ = FORMATS[name]
    build(tmp_path / "whole", puzzle_of)
    for seed in range(10):
        rng = random.Random(f"inspect/{name}/{seed}")
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        shutil.copytree(tmp_path / "whole", tmp_path / "damaged")
        victim = rng.choice(sorted((tmp_path / "damaged").iterdir()))
        victim.write_bytes(damage(victim.read_bytes(), rng))
        for path in (tmp_path / "damaged", victim):
            try:
                json.dumps(inspect_path(path, limit=3))
            except PuzzleFlowError:
                continue


@pytest.mark.parametrize("suffix", [".h5", ".npy", ".npz", ".json", ".png", ""])
def test_files_of_something_else(tmp_path, suffix):
    rng = random.Random(suffix)
    starts = [b"", b"\x89HDF\r\n\x1a\n", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n"]
    for start in starts:
        path = tmp_path / f"file{suffix}"
        path.write_bytes(start + rng.randbytes(300))
        for read in (open_puzzles, read_predictions, read_layout, read_solutions, inspect_path):
            with pytest.raises(PuzzleFlowError):
                read(path)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
    | st.sampled_from(["puzzleflow/layout", "RPf_0.png", "f0.png", "..", "/", 10**400, 1e308]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["row", "col", "name", "rows", "cols"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_json_in_place_of_ours(tmp_path_factory, puzzle_of, data):
    """Replace one value somewhere in a layout or in a data.json by anything."""
    root = tmp_path_factory.getbasetemp() / "json"
    if not root.exists():
        root.mkdir()
        build_repair_v3(root / "repair", puzzle_of)
        build_folder(root / "folder", puzzle_of)
        for name, file in (("repair", "data.json"), ("folder", "layout.json")):
            shutil.copy(root / name / file, root / f"{name}.json")
    for name, file, read in (
        ("repair", "data.json", read_fragments),
        ("folder", "layout.json", read_puzzles),
    ):
        content = json.loads((root / f"{name}.json").read_text())
        node = content
        while isinstance(node, dict | list) and node:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = data.draw(st.sampled_from(keys))
            if not isinstance(node[key], dict | list) or data.draw(st.booleans()):
                node[key] = data.draw(values)
                break
            node = node[key]
        (root / name / file).write_text(json.dumps(content))
        message = None
        try:
            read(root / name)
        except PuzzleFlowError as error:
            message = str(error)
        assert message is None or str(root / name) in message
