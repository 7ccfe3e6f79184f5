"""The coarse search: for each pair the likeliest relative poses over all angles and shifts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from puzzleflow.core.pose import Pose, wrapped
from puzzleflow.solvers.free_form.correlation import (
    Spectra,
    fixed_spectra,
    moved_spectra,
    score_map,
)
from puzzleflow.solvers.free_form.extended import Extended, extended
from puzzleflow.solvers.free_form.scaled import ScaledSet

SIZE_STEP = 32  # sides of transforms are multiples of it
FEW = 12  # fragments of a row that share one size of transforms
BLOCK = 4  # pixels of a map among which only the best counts
NEAR_SHARE = 0.12  # of the smaller √area: nearer peaks of like angle are one


@dataclass(frozen=True)
class Peak:
    """A relative pose that the coarse search found, in pixels of the fragments."""

    pose: Pose
    score: float


def angles_of(rotation_limit: float, step: float) -> list[float]:
    """Angles at most ``step`` apart that cover ±``rotation_limit`` degrees, 0 among them."""
    if rotation_limit >= 180:
        count = max(1, math.ceil(360 / step))
        return [wrapped(360 * index / count) for index in range(count)]
    half = math.ceil(rotation_limit / step)
    return [index * rotation_limit / half for index in range(-half, half + 1)] if half else [0.0]


def row_peaks(
    scaled: ScaledSet, moved: int, fixed: Sequence[int], angles: Sequence[float], count: int
) -> list[list[Peak]]:
    """For each fragment of ``fixed`` the best ``count`` poses of ``moved`` beside it.

    The moved fragment is turned and transformed once for each angle and size: of sizes there
    is one for few fragments, more for many, where each pair costs more than the transforms.
    """
    turned = [
        extended(scaled.pictures[moved], angle, scaled.reach_px(moved), scaled.palette)
        for angle in angles
    ]
    reach = max(max(each.shape) for each in turned)
    upright = {
        index: extended(scaled.pictures[index], 0.0, scaled.reach_px(index), scaled.palette)
        for index in fixed
    }
    sizes = {index: _size(max(upright[index].shape) + reach) for index in fixed}
    if len(fixed) <= FEW:
        sizes = dict.fromkeys(fixed, max(sizes.values(), default=0))
    found: dict[int, list[Peak]] = {}
    for size in sorted(set(sizes.values())):
        spectra = [moved_spectra(each, scaled.palette, size) for each in turned]
        for index in (i for i in fixed if sizes[i] == size):
            near_px = NEAR_SHARE * min(scaled.root_px(moved), scaled.root_px(index))
            ready = fixed_spectra(upright[index], scaled.palette, size)
            peaks = _peaks(ready, upright[index], spectra, turned, angles, count, near_px)
            found[index] = [
                Peak(Pose(p.x / scaled.scale, p.y / scaled.scale, p.angle), score / scaled.scale**2)
                for p, score in peaks
            ]
    return [found[index] for index in fixed]


def _size(length: int) -> int:
    """Side of transforms that hold ``length``: few different ones, all quick."""
    return int(fft.next_fast_len(SIZE_STEP * math.ceil(length / SIZE_STEP), real=True))


def _peaks(
    fixed: Spectra,
    upright: Extended,
    spectra: Sequence[Spectra],
    turned: Sequence[Extended],
    angles: Sequence[float],
    count: int,
    near_px: float,
) -> list[tuple[Pose, float]]:
    """Poses in pixels of the maps, best first, with scores."""
    size = fixed.shape[1]
    blocks = size // BLOCK
    best = np.empty((len(angles), blocks, blocks), dtype=np.float32)
    where = np.empty((len(angles), blocks, blocks), dtype=np.uint8)
    for index, moved in enumerate(spectra):
        scores = score_map(fixed, moved)[: blocks * BLOCK, : blocks * BLOCK]
        split = scores.reshape(blocks, BLOCK, blocks, BLOCK).swapaxes(1, 2)
        flat = split.reshape(blocks, blocks, BLOCK**2)  # (blocks, blocks, 16)
        where[index] = flat.argmax(axis=2)
        best[index] = np.take_along_axis(flat, where[index][..., None].astype(np.intp), 2)[..., 0]
    listed = min(best.size - 1, 40 * count)
    order = np.argpartition(best.ravel(), -listed)[-listed:]
    order = order[np.argsort(-best.ravel()[order], kind="stable")]
    chosen = np.empty((0, 3))
    answer: list[tuple[Pose, float]] = []
    like = 1.5 * (angles[1] - angles[0]) if len(angles) > 1 else 1.0
    for index, row, col in zip(*np.unravel_index(order, best.shape), strict=True):
        score = float(best[index, row, col])
        if score <= 0 or len(answer) >= count:
            break
        inner = divmod(int(where[index, row, col]), BLOCK)
        y, x = _centre(row * BLOCK + inner[0], col * BLOCK + inner[1], upright, turned[index], size)
        if len(chosen):
            turn = np.abs((chosen[:, 2] - angles[index] + 180) % 360 - 180)
            near = np.hypot(chosen[:, 0] - x, chosen[:, 1] - y) < near_px
            if (near & (turn <= abs(like))).any():
                continue
        chosen = np.concatenate([chosen, [[x, y, angles[index]]]])
        answer.append((Pose(x, y, angles[index]), score))
    return answer


def _centre(row: int, col: int, fixed: Extended, moved: Extended, size: int) -> tuple[float, float]:
    """y and x of the moved centre, from the centre of the fixed one."""
    top = row if row < fixed.shape[0] else row - size
    left = col if col < fixed.shape[1] else col - size
    y = top + (moved.shape[0] - fixed.shape[0]) / 2
    x = left + (moved.shape[1] - fixed.shape[1]) / 2
    return float(y), float(x)
