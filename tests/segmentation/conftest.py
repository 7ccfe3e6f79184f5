"""Fragments drawn by hand on plain grounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import ByteArray

Disc = tuple[float, float, float]  # row, column, radius


def draw_discs(
    discs: list[Disc],
    shape: tuple[int, int] = (200, 300),
    ground: tuple[int, int, int] = (220, 220, 215),
    paint: tuple[int, int, int] = (150, 60, 40),
    noise: float = 1.5,
) -> tuple[ByteArray, np.ndarray]:
    """(H, W, 3) photograph of round fragments and (H, W) int32 which disc is where."""
    rng = child_rng(5, "discs")
    y, x = np.ogrid[: shape[0], : shape[1]]
    owner = np.zeros(shape, np.int32)
    for number, (row, col, radius) in enumerate(discs, start=1):
        owner[(y - row) ** 2 + (x - col) ** 2 <= radius**2] = number
    pixels = np.where((owner > 0)[..., None], np.array(paint), np.array(ground)).astype(float)
    pixels += rng.normal(0, noise, pixels.shape)
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8), owner


@pytest.fixture
def discs() -> Callable[..., tuple[ByteArray, np.ndarray]]:
    return draw_discs
