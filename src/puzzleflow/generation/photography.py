"""What photographs do to the edges of fragments, whatever was lost between them.

Edges are darker, lighter or of another colour than what lies behind them, they lie in shadow, are
soft and cut out a little too far in or out, so that a rim of the ground shows. Broken pictures
have none of that; whoever learns from them alone takes such an edge for a wide gap.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from PIL import Image
from scipy import ndimage

from puzzleflow.core.fragments import MATERIAL, Fragment
from puzzleflow.core.types import ByteArray, FloatArray
from puzzleflow.generation.fracture import largest_part, smooth_noise

DARK, LIGHT = 0.5, 0.75  # shares of tints: dark up to here, then light, then of any colour
ALONG = 0.15  # of √area: along an edge stains and cuts vary over so much
OF_OWN = 0.3  # by which a fragment differs from the others of its set, as a share
LEAST_SHARE = 0.5  # of the material that is left; a fragment that would lose more stays as it is


@dataclass(frozen=True)
class Photography:
    """How the fragments of one set were photographed and cut out; lengths over √area.

    ground        (3,) of the colour behind them, in [0, 1]
    tint          (3,) that edges take on
    stain         how much of it, in [0, 1], and ``stain_depth``, how far in
    shadow        how much darker the side away from the light is, and ``shadow_depth``
    blur          width of a smoothing, over the edge into the ground
    detail        share of the pixels along a line that the camera had
    cut           how far in they are cut out; less than 0: too far out
    ragged        by which that varies along an edge
    quality       of JPEG; 100: not compressed
    """

    ground: tuple[float, float, float] = (1.0, 1.0, 1.0)
    tint: tuple[float, float, float] = (0.0, 0.0, 0.0)
    stain: float = 0.0
    stain_depth: float = 0.03
    shadow: float = 0.0
    shadow_depth: float = 0.02
    blur: float = 0.0
    detail: float = 1.0
    cut: float = 0.0
    ragged: float = 0.0
    quality: int = 100

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Self:
        """One at random: any of what may be amiss, or little of it."""

        def perhaps(share: float, low: float, high: float) -> float:
            value = float(rng.uniform(low, high))
            return value if rng.random() < share else 0.0

        def colour(low: float, high: float) -> tuple[float, float, float]:
            grey = float(rng.uniform(low, high))
            r, g, b = np.clip(grey + rng.normal(0, 0.06, 3), 0, 1).tolist()
            return r, g, b

        kind = float(rng.random())
        bounds = (0.0, 0.25) if kind < DARK else (0.65, 1.0) if kind < LIGHT else (0.2, 0.7)
        return cls(
            ground=colour(*((0.9, 1.0), (0.0, 0.1), (0.1, 0.9))[int(rng.integers(3))]),
            tint=colour(*bounds),
            stain=perhaps(0.7, 0.1, 0.8),
            stain_depth=float(np.exp(rng.uniform(math.log(0.008), math.log(0.06)))),
            shadow=perhaps(0.5, 0.1, 0.5),
            shadow_depth=float(rng.uniform(0.01, 0.04)),
            blur=perhaps(0.7, 0.002, 0.015),
            detail=1 - perhaps(0.5, 0.0, 0.5),
            cut=float(rng.uniform(-0.01, 0.015)),
            ragged=perhaps(0.7, 0.0, 0.006),
            quality=100 - round(perhaps(0.7, 5, 65)),
        )


def photographed(
    fragment: Fragment, how: Photography, unit: float, rng: np.random.Generator
) -> Fragment:
    """The fragment as it was photographed and cut out, about the same centre.

    unit  √area of a usual fragment of the set, by which lengths are measured, in pixels
    """
    margin = 2 + math.ceil(unit * (max(0.0, -how.cut) + 3 * how.ragged))
    pixels = np.pad(fragment.pixels, ((margin, margin), (margin, margin), (0, 0)))
    material = pixels[..., 3] >= MATERIAL
    away, (row, col) = ndimage.distance_transform_edt(~material, return_indices=True)
    depth = np.where(material, ndimage.distance_transform_edt(material) - 0.5, 0.5 - away)
    own = 1 + OF_OWN * rng.uniform(-1, 1, 3)  # of stain, shadow and cut
    varied = [smooth_noise(rng, material.shape, max(4.0, ALONG * unit)) for _ in range(3)]
    light = float(rng.uniform(0, 2 * math.pi))

    inward = np.maximum(depth, 0)
    reach = how.stain_depth * unit * np.exp(0.4 * varied[0])
    much = np.clip(how.stain * own[0] * (1 + 0.5 * varied[1]), 0, 0.95) * np.exp(-inward / reach)
    colours = pixels[row, col, :3] / 255.0  # (H, W, 3), carried on beyond the edge
    colours += much[..., None] * (np.array(how.tint) - colours)
    down, across = np.gradient(ndimage.gaussian_filter(depth, max(1.0, 0.01 * unit)))
    towards = math.cos(light) * across + math.sin(light) * down  # 1 where the edge faces away
    dark = how.shadow * own[1] * towards * np.exp(-inward / (how.shadow_depth * unit))
    colours *= np.clip(1 - np.where(dark > 0, dark, dark / 2), 0, 2)[..., None]
    covered = np.clip(depth + 0.5, 0, 1)[..., None]
    seen = np.clip(covered * colours + (1 - covered) * np.array(how.ground), 0, 1)
    if how.blur:
        seen = ndimage.gaussian_filter(seen, (how.blur * unit, how.blur * unit, 0), mode="nearest")
    taken = _stored(_resampled(np.asarray(np.rint(255 * seen), np.uint8), how.detail), how.quality)

    cut = unit * (how.cut * own[2] + how.ragged * varied[2])
    alpha = np.clip(depth - cut + 0.5, 0, 1)
    alpha[~largest_part(alpha >= 0.5)] = 0
    if np.count_nonzero(alpha >= 0.5) < LEAST_SHARE * fragment.area_px:
        return fragment
    opaque = np.asarray(np.rint(255 * alpha), np.uint8)
    return replace(fragment, pixels=np.dstack([taken, opaque]))


def _resampled(picture: ByteArray, detail: float) -> ByteArray:
    """A picture with as much detail as a camera with fewer pixels sees."""
    if detail >= 1:
        return picture
    height, width = picture.shape[:2]
    few = max(1, round(detail * width)), max(1, round(detail * height))
    small = Image.fromarray(picture).resize(few, Image.Resampling.BOX)
    return np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))


def _stored(picture: FloatArray | ByteArray, quality: int) -> ByteArray:
    """A picture as JPEG leaves it."""
    if quality >= 100:
        return np.asarray(picture, np.uint8)
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "JPEG", quality=quality)
    return np.asarray(Image.open(stream))
