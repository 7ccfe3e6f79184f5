"""Fragments drawn at their poses: bilinear, colours weighed by alpha, NumPy only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose, rotation
from puzzleflow.core.types import ByteArray, FloatArray

MAX_CANVAS_PIXELS = 40_000_000


@dataclass(frozen=True)
class Window:
    """A part of the plane as a picture.

    left, top      of its corner in the plane
    height, width  in pixels of the picture
    scale          pixels of the picture for one of the plane
    """

    left: float
    top: float
    height: int
    width: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.height * self.width <= MAX_CANVAS_PIXELS:
            raise InputError(f"a canvas of {self.width}x{self.height} pixels cannot be drawn")


@dataclass(frozen=True, eq=False)
class Patch:
    """What a placed fragment covers of a window.

    top, left  first row and column of the window
    colours    (h, w, 3) float32 in [0, 1], times alpha
    alpha      (h, w) float32 in [0, 1]
    """

    top: int
    left: int
    colours: FloatArray
    alpha: FloatArray

    @property
    def box(self) -> tuple[slice, slice]:
        """Rows and columns of the window."""
        height, width = self.alpha.shape
        return slice(self.top, self.top + height), slice(self.left, self.left + width)


def window_around(
    fragments: Sequence[Fragment],
    poses: Sequence[Pose | None],
    *,
    max_side_px: int | None = None,
    scale: float = 1.0,
    margin: float = 1.0,
) -> Window:
    """The smallest window that shows all placed material at ``scale``, or less if it must fit."""
    ends = [
        (points.min(axis=0), points.max(axis=0)) for points in _placed_outlines(fragments, poses)
    ]
    if not ends:
        raise InputError("no fragment has a known pose")
    low = np.min([end[0] for end in ends], axis=0) - 0.5 - margin
    high = np.max([end[1] for end in ends], axis=0) + 0.5 + margin
    low, high = np.floor(low + 1e-9), np.ceil(high - 1e-9)
    side = float((high - low).max())
    scale = scale if max_side_px is None else min(scale, max_side_px / side)
    width, height = (max(1, math.ceil(scale * length - 1e-6)) for length in high - low)
    return Window(float(low[0]), float(low[1]), height, width, scale)


def _placed_outlines(
    fragments: Sequence[Fragment], poses: Sequence[Pose | None]
) -> Iterator[FloatArray]:
    for fragment, pose in zip(fragments, poses, strict=True):
        if pose is not None:
            yield pose.apply(fragment.outline)


def place(fragment: Fragment, pose: Pose, window: Window) -> Patch:
    """The fragment at its pose, as far as the window shows it."""
    planes, middle, block = _reduced(fragment, window.scale)  # (h, w, 4) premultiplied
    centre = (pose.xy - (window.left, window.top)) * window.scale  # in the window
    reach = np.abs(rotation(pose.angle)) @ fragment.centre * window.scale + 1
    first = np.maximum(np.floor(centre - reach), 0).astype(int)
    last = np.minimum(np.ceil(centre + reach), (window.width, window.height)).astype(int)
    cols, rows = (
        np.arange(start, max(start, stop)) for start, stop in zip(first, last, strict=True)
    )
    dx = (cols + 0.5 - centre[0]) / (window.scale * block)  # (w,)
    dy = (rows + 0.5 - centre[1]) / (window.scale * block)  # (h,)
    (a, b), (c, d) = rotation(-pose.angle)
    x = a * dx[None] + b * dy[:, None] + middle[0] - 0.5  # (h, w) in blocks of the fragment
    y = c * dx[None] + d * dy[:, None] + middle[1] - 0.5
    drawn = _bilinear(planes, x, y)
    return Patch(int(first[1]), int(first[0]), drawn[..., :3], drawn[..., 3])


def draw(
    fragments: Sequence[Fragment], poses: Sequence[Pose | None], window: Window | None = None
) -> ByteArray:
    """(H, W, 4) straight-alpha picture of all placed fragments; later ones lie on top."""
    window = window or window_around(fragments, poses)
    canvas = np.zeros((window.height, window.width, 4), dtype=np.float32)
    for fragment, pose in zip(fragments, poses, strict=True):
        if pose is None:
            continue
        patch = place(fragment, pose, window)
        below = canvas[patch.box]
        below *= 1 - patch.alpha[..., None]
        below[..., :3] += patch.colours
        below[..., 3] += patch.alpha
    return _straight(canvas)


def _straight(canvas: FloatArray) -> ByteArray:
    """uint8 with straight alpha of a premultiplied canvas; zero where nothing lies."""
    alpha = canvas[..., 3:]
    colours = canvas[..., :3] / np.maximum(alpha, 1e-6)
    both = np.concatenate([np.where(alpha > 0.5 / 255, colours, 0), alpha], axis=-1)
    return np.asarray(np.clip(np.rint(255 * both), 0, 255), np.uint8)


def _reduced(fragment: Fragment, scale: float) -> tuple[FloatArray, FloatArray, int]:
    """Premultiplied float32 planes, averaged over blocks where the window is much smaller.

    Also where in them the centre of the picture lies, and the side of a block.
    """
    planes = fragment.pixels.astype(np.float32) / 255
    planes[..., :3] *= planes[..., 3:]
    block = max(1, math.floor(1 / scale))
    if block > 1:
        height, width = planes.shape[:2]
        padded = np.pad(planes, [(0, -height % block), (0, -width % block), (0, 0)])
        rows, cols = padded.shape[0] // block, padded.shape[1] // block
        planes = padded.reshape(rows, block, cols, block, 4).mean(axis=(1, 3))  # (rows, cols, 4)
    return planes, fragment.centre / block, block


def _bilinear(planes: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """(…, 4) values between the middles of pixels; zero outside."""
    height, width = planes.shape[:2]
    inside = (x > -1) & (x < width) & (y > -1) & (y < height)
    x, y = x[inside] + 1, y[inside] + 1  # (M,) in a picture with a rim of one pixel
    stride = width + 2
    padded = np.pad(planes, [(1, 1), (1, 1), (0, 0)]).reshape(-1, 4)
    col, row = x.astype(np.intp), y.astype(np.intp)
    fx, fy = (x - col).astype(np.float32)[:, None], (y - row).astype(np.float32)[:, None]
    at = row * stride + col
    upper = padded.take(at, axis=0) * (1 - fx) + padded.take(at + 1, axis=0) * fx
    at += stride
    lower = padded.take(at, axis=0) * (1 - fx) + padded.take(at + 1, axis=0) * fx
    values = np.zeros((*inside.shape, 4), dtype=np.float32)
    values[inside] = upper * (1 - fy) + lower * fy
    return values
