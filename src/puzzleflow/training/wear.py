"""What happens to pictures before they are cut: tone, blur, compression."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageFilter

from puzzleflow.core.types import ByteArray, FloatArray


def worn(pixels: ByteArray, rng: np.random.Generator) -> ByteArray:
    """(H, W, 3) a little out of focus, or saved once more as a JPEG, or both."""
    image = Image.fromarray(pixels)
    kind = rng.integers(3)
    if kind != 0:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 1.2)))
    if kind != 1:
        stored = io.BytesIO()
        image.save(stored, "JPEG", quality=int(rng.integers(25, 90)))
        image = Image.open(stored)
    return np.asarray(image)


def recoloured(canvas: ByteArray, rng: np.random.Generator) -> ByteArray:
    """One gentle change of tone for the whole picture: pieces stay consistent."""
    if rng.random() < 0.4:
        return canvas
    gamma = np.exp(rng.uniform(-0.25, 0.25))
    gain, lift = rng.uniform(0.8, 1.15), rng.uniform(-0.06, 0.06)
    tint = 1 + rng.uniform(-0.06, 0.06, size=3)
    ramp = np.linspace(0, 1, 256) ** gamma * gain + lift
    tables: FloatArray = ramp[:, None] * tint  # (256, 3)
    table = (np.clip(tables, 0, 1) * 255).astype(np.uint8)
    recoloured = np.stack([table[:, c][canvas[..., c]] for c in range(3)], axis=-1)
    if rng.random() < 0.12:  # like a print or a photograph
        grey = recoloured @ np.array([0.299, 0.587, 0.114])
        return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)
    return recoloured
