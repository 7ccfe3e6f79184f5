"""Smooth random fields."""

from __future__ import annotations

import numpy as np
from PIL import Image

from puzzleflow.core.types import FloatArray


def smooth_noise(rng: np.random.Generator, shape: tuple[int, int], cell_px: float) -> FloatArray:
    """(H, W) float32 of mean about 0 and deviation about 1 that varies over ``cell_px``."""
    height, width = shape
    across, down = width / cell_px, height / cell_px
    coarse = rng.standard_normal((int(down) + 4, int(across) + 4)).astype(np.float32)
    box = (1.0, 1.0, 1.0 + across, 1.0 + down)
    fine = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC, box=box)
    return np.asarray(fine) / np.float32(0.72)  # what bicubic interpolation leaves of it


def fractal_noise(
    rng: np.random.Generator,
    shape: tuple[int, int],
    cell_px: float,
    *,
    roughness: float = 0.5,
    finest_px: float = 3.0,
) -> FloatArray:
    """(H, W) float32: octaves of noise, each half as wide and ``roughness`` times as high."""
    field = np.zeros(shape, dtype=np.float32)
    height = np.float32(1.0)
    while cell_px >= finest_px:
        field += height * smooth_noise(rng, shape, cell_px)
        cell_px, height = cell_px / 2, height * np.float32(roughness)
    return field
