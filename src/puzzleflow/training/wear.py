"""What happens to pictures before they are cut: tone, blur, compression, objects on other grounds.

Museum photographs show one object before plain, graded or shadowed ground. A few
hundred of them become many more: the ground is fitted from the picture's border,
what differs from it is the object, and the object is laid anew at another size
and place, so that a network learns where such pictures begin.
"""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageFilter
from scipy.ndimage import binary_fill_holes, gaussian_filter, label

from puzzleflow.core.types import BoolArray, ByteArray, FloatArray

SMALL_PX = 112  # objects are found at this size
PLAIN = 9.0  # largest spread of the border around the fitted ground, of 255
DIFFERENT = 24.0  # what differs more from the ground is object


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


def object_mask(pixels: ByteArray) -> BoolArray | None:
    """(SMALL_PX, SMALL_PX) the object in a picture with plain ground, None where there is none."""
    image = Image.fromarray(pixels).resize((SMALL_PX, SMALL_PX), Image.Resampling.BOX)
    small = np.asarray(image, np.float32)
    y, x = np.mgrid[-1 : 1 : SMALL_PX * 1j, -1 : 1 : SMALL_PX * 1j]
    terms = np.stack([np.ones_like(x), x, y, x * y, x**2, y**2], axis=-1)  # (S, S, 6)
    border = np.ones((SMALL_PX, SMALL_PX), bool)
    border[4:-4, 4:-4] = False
    border[-4:] = False  # objects stand on the lower edge
    for _ in range(3):  # leave out what is no ground and fit again
        fitted, *_ = np.linalg.lstsq(terms[border], small[border], rcond=None)
        away = np.abs(small - terms @ fitted).max(axis=-1)  # (S, S)
        border &= away < 3 * PLAIN
        if border.sum() < 4 * SMALL_PX:
            return None
    if away[border].std() > PLAIN:
        return None
    parts, count = label(gaussian_filter(away, 1.0) > DIFFERENT)
    if not count:
        return None
    largest: BoolArray = binary_fill_holes(parts == np.bincount(parts.flat)[1:].argmax() + 1)
    return largest if 0.06 < largest.mean() < 0.7 else None


def laid_on_ground(
    pixels: ByteArray, mask: BoolArray, size_px: int, rng: np.random.Generator
) -> ByteArray:
    """(size_px, size_px, 3) the object on a ground of its own, mostly near the middle."""
    rows, cols = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    scale = np.array(pixels.shape[:2]) / SMALL_PX
    top, bottom = rows[0] * scale[0], (rows[-1] + 1) * scale[0]
    left, right = cols[0] * scale[1], (cols[-1] + 1) * scale[1]
    share = rng.uniform(0.5, 1.0) * size_px / max(bottom - top, right - left)
    height, width = (max(2, round(share * side)) for side in (bottom - top, right - left))
    colour = Image.fromarray(pixels).resize(
        (width, height), Image.Resampling.BILINEAR, box=(left, top, right, bottom)
    )
    soft = Image.fromarray(np.uint8(gaussian_filter(mask * 255.0, 0.7))).resize(
        (width, height),
        Image.Resampling.BILINEAR,
        box=(cols[0], rows[0], cols[-1] + 1, rows[-1] + 1),
    )
    down, along = np.clip(rng.normal(0.5, 0.12, size=2), 0, 1)
    y, x = int(down * (size_px - height)), int(along * (size_px - width))
    alpha = np.zeros((size_px, size_px), np.float32)
    alpha[y : y + height, x : x + width] = np.asarray(soft) / 255
    canvas = _ground(alpha, size_px, rng)
    inside = alpha[y : y + height, x : x + width, None]
    part = canvas[y : y + height, x : x + width]
    canvas[y : y + height, x : x + width] = part + inside * (np.asarray(colour) - part)
    return canvas.clip(0, 255).astype(np.uint8)


def _ground(alpha: FloatArray, size_px: int, rng: np.random.Generator) -> FloatArray:
    """(S, S, 3) plain, graded or shadowed, with a little grain."""
    colour = rng.uniform(20, 250) + rng.normal(0, 8 if rng.random() < 0.7 else 40, size=3)
    ground = np.broadcast_to(colour, (size_px, size_px, 3)).astype(np.float32)
    y, x = np.mgrid[-1 : 1 : size_px * 1j, -1 : 1 : size_px * 1j]
    kind = rng.integers(3)
    if kind:
        slope = rng.normal(0, 25, size=2)
        ramp = slope[0] * y + slope[1] * x
        if kind == 2:
            ramp = ramp - rng.uniform(0, 50) * (x**2 + y**2)
        ground = ground + ramp[..., None]
    if rng.random() < 0.4:  # a soft shadow beside the object
        shift = rng.integers(-size_px // 12, size_px // 12 + 1, size=2)
        shadow = gaussian_filter(np.roll(alpha, shift, axis=(0, 1)), size_px / 25)
        ground = ground * (1 - rng.uniform(0.1, 0.5) * shadow[..., None])
    return ground + rng.normal(0, rng.uniform(0, 2), size=ground.shape)
