"""The plain ground of a photograph: a smooth polynomial, fitted to what surely is ground.

The first fit sees the margins alone, where a careful photograph shows only
ground; the next ones see every pixel that the fit before explained. Both are
robust: fragments in the margin, shadows and dust weigh nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.pictures import resize

FIT_PX = 128  # the long side of what is fitted: light has no finer detail
MARGIN_PART = 0.04  # of the short side
PLAIN_LEVELS = 5.0  # a finer spread than this is taken for light, not for something else
ROUNDS = 12
CHANNELS = 1.54  # the median length of three channels of spread 1
DARK_LEVELS = 60.0
LIGHT_RANGE = (0.6, 1.6)
STRIP_PX = 256
CLIPPED = (2.0, 251.0)  # with noise, the mean of clipped pixels is this far from the end


@dataclass(frozen=True, eq=False)
class Ground:
    """Colour of the ground everywhere: one polynomial in (y, x) for each channel.

    coefficients  (T, 3) float64 over the terms of :func:`_terms`
    degree        of the polynomial
    spread        robust standard deviation of the margins about it, in levels
    """

    coefficients: FloatArray
    degree: int
    spread: float

    def colours(self, height: int, width: int) -> FloatArray:
        """(height, width, 3) float32 levels for a picture of that size."""
        return self.window(height, width, (0, 0, height, width))

    def window(self, height: int, width: int, bbox: tuple[int, int, int, int]) -> FloatArray:
        """(h, w, 3) float32 of the window (top, left, h, w) of a picture of height x width."""
        top, left, rows, cols = bbox
        y = _coordinates(height)[top : top + rows]
        x = _coordinates(width)[left : left + cols]
        powers = np.arange(self.degree + 1)
        along_x = np.zeros((len(powers), cols, 3))  # for each power of y
        for (power_y, power_x), weights in zip(_terms(self.degree), self.coefficients, strict=True):
            along_x[power_y] += (x**power_x)[:, None] * weights
        heights = (y[:, None] ** powers).astype(np.float32)  # (h, degree + 1)
        planes = heights @ along_x.reshape(len(powers), -1).astype(np.float32)
        return np.clip(planes.reshape(rows, cols, 3), 0, 255)


def even_light(
    pixels: ByteArray, ground: Ground, shape: tuple[int, int], corner: tuple[int, int]
) -> None:
    """Divide the light's unevenness out of a (h, w, 3) window of a photograph, in place.

    The ground is plain, so its brightness is the light's. A dark ground says
    too little about the light: then nothing is changed.

    shape   (H, W) of the photograph
    corner  (top, left) of the window in it
    """
    usual = float(ground.colours(32, 32).mean())
    if usual < DARK_LEVELS:
        return
    for top in range(0, len(pixels), STRIP_PX):
        strip = pixels[top : top + STRIP_PX]
        box = (corner[0] + top, corner[1], strip.shape[0], strip.shape[1])
        light = ground.window(*shape, box).mean(axis=-1, keepdims=True) / usual  # (h, w, 1)
        strip[:] = np.clip(np.rint(strip / np.clip(light, *LIGHT_RANGE)), 0, 255)


def margin_spread(photo: ByteArray, ground: Ground) -> float:
    """How far the margins of a (H, W, 3) photograph lie from its smooth ground, in levels.

    Noise of a camera makes a few levels, the pattern of a cloth or of wood many more.
    """
    height, width = photo.shape[:2]
    wide = _margin_px(height, width)
    inner = height - 2 * wide
    strips = (
        (0, 0, wide, width),
        (height - wide, 0, wide, width),
        (wide, 0, inner, wide),
        (wide, width - wide, inner, wide),
    )
    distances = []
    for top, left, rows, cols in strips:
        colours = ground.window(height, width, (top, left, rows, cols))
        seen = photo[top : top + rows, left : left + cols]
        distances.append(np.linalg.norm(seen - colours, axis=-1).ravel())
    return float(np.median(np.concatenate(distances))) / CHANNELS


def fit_ground(pixels: ByteArray) -> Ground:
    """The ground of a (H, W, 3) photograph."""
    small = resize(pixels, *_fit_size(*pixels.shape[:2])).astype(np.float64)
    height, width = small.shape[:2]
    margin = _margin(height, width)
    ground = _fit(small, margin, degree=2)
    for degree in (2, 3, 3):
        distance = np.linalg.norm(small - ground.colours(height, width), axis=-1)
        plain = distance < 3 * max(ground.spread, PLAIN_LEVELS)
        if plain.mean() < 0.1:
            break
        ground = _fit(small, plain, degree)
    return ground


def _fit(small: FloatArray, chosen: BoolArray, degree: int) -> Ground:
    """Least squares over the ``chosen`` pixels, weighed by Huber's weights, then by Tukey's."""
    height, width = small.shape[:2]
    y = np.repeat(_coordinates(height), width)[chosen.ravel()]
    x = np.tile(_coordinates(width), height)[chosen.ravel()]
    design = np.stack([y**i * x**j for i, j in _terms(degree)], axis=1)  # (P, T)
    colours = small[chosen]  # (P, 3)
    centre = np.median(colours, axis=0)
    residual = np.linalg.norm(colours - centre, axis=1)  # (P,)
    coefficients = np.zeros((design.shape[1], 3))
    coefficients[0] = centre
    spread = 0.0
    target = colours
    for turn in range(ROUNDS):
        spread = float(np.median(residual)) / CHANNELS
        scale = max(spread, 0.5)
        if turn < ROUNDS // 2:  # Huber: what is far off may still be the far end of the light
            weights = 1 / np.maximum(residual / (1.3 * scale), 1)
        else:
            weights = np.clip(1 - (residual / (4.7 * scale)) ** 2, 0, None) ** 2
        if np.count_nonzero(weights) <= 2 * design.shape[1]:
            break
        weighed = design * weights[:, None]
        coefficients = np.linalg.lstsq(design.T @ weighed, weighed.T @ target, rcond=None)[0]
        fitted = design @ coefficients
        target = _beyond_clipping(colours, fitted)
        residual = np.linalg.norm(target - fitted, axis=1)
    return Ground(coefficients, degree, spread)


def _beyond_clipping(colours: FloatArray, fitted: FloatArray) -> FloatArray:
    """Colours, but where the camera clipped them any value beyond counts as seen."""
    bright = np.where(colours >= CLIPPED[1], np.maximum(colours, fitted), colours)
    return np.where(colours <= CLIPPED[0], np.minimum(bright, fitted), bright)


def _fit_size(height: int, width: int) -> tuple[int, int]:
    factor = min(1.0, FIT_PX / max(height, width))
    return max(1, round(height * factor)), max(1, round(width * factor))


def _margin_px(height: int, width: int) -> int:
    return max(1, round(MARGIN_PART * min(height, width)))


def _margin(height: int, width: int) -> BoolArray:
    wide = _margin_px(height, width)
    margin = np.ones((height, width), bool)
    margin[wide : height - wide, wide : width - wide] = False
    return margin


def _coordinates(length: int) -> FloatArray:
    """Centres of ``length`` pixels on [-1, 1], the same place at every resolution."""
    return (2 * np.arange(length) + 1) / length - 1


def _terms(degree: int) -> list[tuple[int, int]]:
    """Powers of (y, x), the constant first."""
    return [(total - j, j) for total in range(degree + 1) for j in range(total + 1)]
