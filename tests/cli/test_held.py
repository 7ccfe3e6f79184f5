"""Commands that write a folder leave one alone that another process holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from format_samples import SAMPLES

from puzzleflow.core.errors import OutputError
from puzzleflow.lock import locked
from puzzleflow.masks import write_masks
from puzzleflow.pictures import write_picture

Words = tuple[object, ...]


def pictures(place: Path) -> Path:
    for number in range(8):
        pixels = np.random.default_rng(number).integers(0, 256, (64, 64, 3), dtype=np.uint8)
        write_picture(place / "pictures" / f"{number}.png", pixels)
    return place / "pictures"


def masks(place: Path) -> Path:
    y, x = np.mgrid[-64:64, -64:64]
    write_masks(place / "m.npz", [np.stack([np.hypot(x, y) < 40 + k for k in range(20)])])
    return place / "m.npz"


def sample(place: Path, name: str) -> Path:
    SAMPLES[name][1](place / "data")
    return place / "data"


COMMANDS: dict[str, Callable[[Path], Words]] = {
    "solve": lambda p: ("solve", sample(p, "gap"), "--solver", "random"),
    "solve one": lambda p: ("solve", sample(p, "gap"), "--solver", "random", "--index", 0),
    "bench": lambda p: ("bench", sample(p, "gap"), "--solvers", "random", "--fresh"),
    "generate": lambda p: ("generate", "--images", pictures(p), "--erosion", "none"),
    "fracture": lambda p: ("fracture", "--images", pictures(p), "--sets", 1),
    "shapes train": lambda p: ("shapes", "train", "--masks", masks(p)),
    "outline": lambda p: ("shapes", "train", "--masks", masks(p), "--generator", "outline"),
    "shapes fit": lambda p: ("shapes", "fit"),
    "shapes sample": lambda p: ("shapes", "sample", "--workers", 1),
    "train": lambda p: (
        *("train", "flow", "--preset", "tiny", "--data", pictures(p), "--masks", masks(p)),
        *("--workers", 0),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_held_folder_is_left_alone(name: str, tmp_path: Path) -> None:
    words = COMMANDS[name](tmp_path)
    with (
        locked(tmp_path / "out"),
        pytest.raises(OutputError, match=r"out: process \d+ on \S+ is writing here"),
    ):
        run(*words, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
