from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.rng import child_rng
from puzzleflow.pictures import resize, write_picture


def smooth_picture(seed: int, height: int = 60, width: int = 60) -> np.ndarray:
    """A picture with broad random patches; two seeds never look alike."""
    coarse = child_rng(seed, "picture").integers(0, 256, (8, 8, 3)).astype(np.uint8)
    return resize(coarse, height, width)


@pytest.fixture
def make_pictures(tmp_path: Path) -> Callable[..., Path]:
    def make(count: int, name: str = "pictures", **size: int) -> Path:
        folder = tmp_path / name
        for index in range(count):
            write_picture(folder / f"{index:04d}.png", smooth_picture(index, **size))
        return folder

    return make


def tree_bytes(root: Path) -> dict[str, bytes]:
    """Every file below ``root`` by its relative path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(name="tree_bytes")
def tree_bytes_fixture() -> Callable[[Path], dict[str, bytes]]:
    return tree_bytes


@pytest.fixture(name="smooth_picture")
def smooth_picture_fixture() -> Callable[..., np.ndarray]:
    return smooth_picture
