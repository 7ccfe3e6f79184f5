"""Damaged files of every format: every reader gives an answer or one of our errors."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from damaging import damage
from format_samples import GRID, SAMPLES, read_source, small_puzzle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import PuzzleFlowError
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import FORMATS, open_source
from puzzleflow.storage.layout import read_layout
from puzzleflow.storage.predictions import read_predictions, write_predictions
from puzzleflow.storage.solutions import read_solutions

ROUNDS = 60


def build_predictions(folder: Path) -> None:
    rows = np.stack([small_puzzle(i).truth for i in range(5)])
    write_predictions(folder / "p.npz", rows, targets=rows, grid=GRID, info={"split": "test"})
    write_predictions(folder / "p.npy", rows)


def read_answers(folder: Path) -> None:
    read_predictions(folder / "p.npz")
    read_predictions(folder / "p.npy")


CASES: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    name: (build, read_source) for name, (_, build) in SAMPLES.items()
} | {"predictions": (build_predictions, read_answers)}


def test_every_format_of_ours_is_damaged_here():
    one_file = {"shuffled"}  # damaged in tests/storage/test_shuffled.py
    assert {name for name, _ in SAMPLES.values()} == set(FORMATS.builtin) - one_file


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", CASES)
def test_only_our_errors(tmp_path, name):
    build, read = CASES[name]
    build(tmp_path / "whole")
    read(tmp_path / "whole")
    messages = []
    for seed in range(ROUNDS):
        rng = random.Random(f"{name}/{seed}")
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        shutil.copytree(tmp_path / "whole", tmp_path / "damaged")
        victim = rng.choice(files_below(tmp_path / "damaged"))
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


@pytest.mark.parametrize("name", CASES)
def test_inspect_survives_too(tmp_path, name):
    build, _ = CASES[name]
    build(tmp_path / "whole")
    for seed in range(10):
        rng = random.Random(f"inspect/{name}/{seed}")
        shutil.rmtree(tmp_path / "damaged", ignore_errors=True)
        shutil.copytree(tmp_path / "whole", tmp_path / "damaged")
        victim = rng.choice(files_below(tmp_path / "damaged"))
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
        for read in (open_source, read_predictions, read_layout, read_solutions, inspect_path):
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


HEADS = {
    "repair v3": "data.json",
    "own fragments": "fragments.json",
    "folder": "layout.json",
    "recipe": "recipe.json",
}


@pytest.mark.parametrize("name", HEADS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_json_in_place_of_ours(tmp_path_factory, name, data):
    """Replace one value somewhere in the JSON of a format by anything."""
    folder = tmp_path_factory.getbasetemp() / f"json of {name}"
    head = folder / HEADS[name]
    if not folder.exists():
        SAMPLES[name][1](folder)
        shutil.copy(head, folder.with_suffix(".json"))
    content = json.loads(folder.with_suffix(".json").read_text())
    node = content
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or data.draw(st.booleans()):
            node[key] = data.draw(values)
            break
        node = node[key]
    head.write_text(json.dumps(content))
    message = None
    try:
        read_source(folder)
    except PuzzleFlowError as error:
        message = str(error)
    assert message is None or str(folder) in message
