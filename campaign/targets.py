"""Everything that reads files, by name: how a sound one is made and how it is read.

The names of formats, solvers, networks and generators come from their registries, so that a
new one is damaged here without being told.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from format_samples import GRID, SAMPLES, read_source, small_puzzle
from official_checkpoint import save_official
from PIL import Image

from puzzleflow.core.assembly import Assembly
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.files import read_json, read_table
from puzzleflow.formats.audit import inspect_path
from puzzleflow.formats.open import open_fragments
from puzzleflow.masks import read_masks, write_masks
from puzzleflow.pictures import FORMATS as PICTURE_FORMATS
from puzzleflow.pictures import read_picture
from puzzleflow.storage.free_form.answer import read_assembly, write_assembly
from puzzleflow.storage.layout import SavedLayout, default_names, read_layout, write_layout
from puzzleflow.storage.predictions import read_predictions, write_predictions
from puzzleflow.storage.solutions import Solved, read_solutions

Build = Callable[[Path], object]
Read = Callable[[Path], str]


@dataclass(frozen=True)
class Target:
    """``build`` fills a new folder, ``read`` reads it and says what it read.

    exact  what is read from a damaged file must be what the whole one holds, or be refused
    """

    name: str
    build: Build
    read: Read
    exact: bool = False


def digest(*values: Any) -> str:
    """A short text that differs where arrays, tensors or plain values differ."""
    found = hashlib.blake2b(digest_size=8)
    for value in values:
        plain = value.numpy() if isinstance(value, torch.Tensor) else value
        found.update(plain.tobytes() if isinstance(plain, np.ndarray) else repr(plain).encode())
    return found.hexdigest()


def formats() -> Iterator[Target]:
    """The readers of puzzles and fragments, and the report that ``inspect`` makes of them."""

    def reading(folder: Path) -> str:
        read_source(folder)
        return ""

    def inspecting(folder: Path) -> str:
        return json.dumps(inspect_path(folder, limit=3))[:100]

    for name, (_, build) in SAMPLES.items():
        yield Target(f"format {name}", build, reading)
        yield Target(f"inspect {name}", build, inspecting)


def answers() -> Iterator[Target]:
    """Predictions, solutions, layouts and assemblies."""
    rows = np.stack([small_puzzle(i).truth for i in range(5)])

    def predictions(folder: Path) -> None:
        folder.mkdir()
        write_predictions(folder / "p.npz", rows, targets=rows, grid=GRID, info={"split": "test"})
        write_predictions(folder / "p.npy", rows)

    def read_both(folder: Path) -> str:
        told = [read_predictions(folder / name) for name in ("p.npz", "p.npy")]
        return digest(*(one.position_of for one in told))

    def solutions(folder: Path) -> None:
        folder.mkdir()
        lines = [Solved(index=i, grid="3x3", layout=tuple(rows[i].tolist())) for i in range(5)]
        text = [json.dumps(vars(one) | {"open": None, "alternatives": []}) for one in lines]
        (folder / "s.jsonl").write_text("\n".join(text) + "\n")

    def layout(folder: Path) -> None:
        folder.mkdir()
        write_layout(folder / "l.json", SavedLayout(rows[0], GRID, default_names(9)))

    def assembly(folder: Path) -> None:
        SAMPLES["own fragments"][1](folder)
        fragments = _fragments(folder)
        answer = Assembly(3, ({0: Pose(0, 0), 1: Pose(5, 5, 10)},), np.array([0.5, 0.5, np.nan]))
        write_assembly(folder / "assembly.json", answer, fragments)

    def read_answer(folder: Path) -> str:
        return repr(read_assembly(folder / "assembly.json", _fragments(folder)))[:100]

    yield Target("predictions", predictions, read_both)
    yield Target("solutions", solutions, lambda f: repr(read_solutions(f / "s.jsonl"))[:100])
    yield Target("layout", layout, lambda f: repr(read_layout(f / "l.json"))[:100])
    yield Target("assembly", assembly, read_answer)


def _fragments(folder: Path) -> FragmentSet:
    with open_fragments(folder) as source:
        return source.fragments(0)


def pictures_and_masks() -> Iterator[Target]:
    """Pictures of every format, masks of both kinds, tables."""
    for kind in PICTURE_FORMATS:
        for mode in ("RGB", "RGBA"):
            if (kind, mode) != ("JPEG", "RGBA"):
                yield _picture(kind, mode)

    def packed(folder: Path) -> None:
        folder.mkdir()
        write_masks(folder / "m.npz", [_discs()])

    def table(folder: Path) -> None:
        folder.mkdir()
        (folder / "t.csv").write_text('file,kind\n"a.png",1\nb.png,"x\ny"\n' * 3)

    def heads(folder: Path) -> None:
        folder.mkdir()
        (folder / "h.json").write_text(json.dumps({"grid": "3x3", "rows": [1, 2.5, {"a": []}]}))

    yield Target("packed masks", packed, lambda f: digest(read_masks(f / "m.npz").masks), True)
    yield Target(
        "mask pictures", lambda f: write_masks(f, [_discs()]), lambda f: digest(read_masks(f).masks)
    )
    yield Target("table", table, lambda f: digest(read_table(f / "t.csv")))
    yield Target("JSON", heads, lambda f: digest(read_json(f / "h.json")))


def _discs() -> np.ndarray[Any, Any]:
    y, x = np.mgrid[-64:64, -64:64]
    return np.stack([x**2 + y**2 < radius**2 for radius in (50, 56, 62)])


def _picture(kind: str, mode: str) -> Target:
    name = f"a.{kind.lower()}"
    pixels = np.random.default_rng(1).integers(0, 256, (40, 30, len(mode)), dtype=np.uint8)

    def build(folder: Path) -> None:
        folder.mkdir()
        options = {"progressive": True} if kind == "JPEG" else {}
        Image.fromarray(pixels).save(folder / name, kind, **options)

    return Target(f"{kind} {mode}", build, lambda f: digest(read_picture(f / name, "RGBA")))


def official() -> Iterator[Target]:
    """Checkpoints of the paper's own repository."""
    from puzzleflow.models.checkpoint import build_network
    from puzzleflow.models.official import read_official
    from puzzleflow.models.puzzleflow import build_puzzleflow

    def build(folder: Path) -> None:
        folder.mkdir()
        save_official(folder / "m.pt")

    def read(folder: Path) -> str:
        weights, config = read_official(folder / "m.pt")
        build_network(lambda: build_puzzleflow(config), weights, folder / "m.pt")
        return ""

    yield Target("official checkpoint", build, read)
