"""Fragments that lie anywhere and turned, not on a grid, and their assembly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray
from puzzleflow.pictures import MAX_PIXELS, to_image


@dataclass(frozen=True, eq=False)
class FragmentSet:
    """Pieces of differing sizes with their ground-truth poses.

    path       the folder that holds them
    pieces     RGBA (H, W, 4) uint8 each, cut down to their material
    poses      (N, 3): x and y of the centroid of the material on the canvas in
               pixels, rotation in degrees, counter-clockwise; NaN = unknown
    adjacency  (N, N) which pieces touch, or None
    canvas_px  (height, width) of the solution, or None where nobody told it
    """

    path: Path
    pieces: tuple[ByteArray, ...]
    names: tuple[str, ...]
    poses: FloatArray
    adjacency: BoolArray | None = None
    canvas_px: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        n = len(self.pieces)
        if n == 0:
            raise InputError(f"{self.path}: no fragments")
        if len(self.names) != n or self.poses.shape != (n, 3):
            raise FormatError(f"{self.path}: names or poses do not fit {n} fragments")
        if np.isinf(self.poses).any():
            raise FormatError(f"{self.path}: poses must be finite")

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def num_pieces(self) -> int:
        return len(self.pieces)

    @property
    def placed(self) -> BoolArray:
        """(N,) whether the pose of a piece is known."""
        return np.asarray(np.isfinite(self.poses).all(axis=1))

    def assemble(self) -> ByteArray:
        """(H, W, 4) all pieces at their poses; pieces without a pose are left out."""
        if not self.placed.any():
            raise InputError(f"{self.path}: no fragment has a known pose")
        turned = [
            (rotated(self.pieces[piece], pose[2]), corner(self.pieces[piece], pose))
            for piece, pose in enumerate(self.poses)
            if self.placed[piece]
        ]
        shift = (0, 0)
        if self.canvas_px is not None:
            height, width = self.canvas_px
        else:
            shift = min(x for _, (x, _) in turned), min(y for _, (_, y) in turned)
            width = max(x + image.width for image, (x, _) in turned) - shift[0]
            height = max(y + image.height for image, (_, y) in turned) - shift[1]
        if not 0 < width * height <= MAX_PIXELS:
            raise FormatError(f"{self.path}: a canvas of {width}x{height} pixels cannot be drawn")
        canvas = Image.new("RGBA", (width, height))
        for image, (x, y) in turned:
            canvas.paste(image, (x - shift[0], y - shift[1]), image)
        return np.array(canvas)


def rotated(piece: ByteArray, rotation: float) -> Image.Image:
    """The piece turned counter-clockwise, on a canvas that holds all of it."""
    return to_image(piece).rotate(float(rotation), expand=True)


def centroid(piece: ByteArray) -> FloatArray:
    """(x, y) mean pixel index of the material."""
    rows, cols = np.nonzero(piece[..., 3])
    if not len(rows):
        raise FormatError("a fragment without material")
    return np.array([cols.mean(), rows.mean()])


def corner(piece: ByteArray, pose: FloatArray) -> tuple[int, int]:
    """(x, y) where the turned piece is pasted so that its centroid meets the pose."""
    x, y = pose[:2] - _centroid_when_turned(piece, pose[2])
    return round(float(x)), round(float(y))


def pose_of_corner(piece: ByteArray, x: float, y: float, rotation: float) -> FloatArray:
    """(x, y, rotation) of a piece that was turned and then pasted at (x, y)."""
    return np.append(_centroid_when_turned(piece, rotation) + np.array([x, y]), rotation)


def _centroid_when_turned(piece: ByteArray, rotation: float) -> FloatArray:
    """(x, y) of the centroid, counted from the corner of the turned picture."""
    height, width = piece.shape[:2]
    turned = Image.new("1", (width, height)).rotate(float(rotation), expand=True)
    offset = centroid(piece) - ((width - 1) / 2, (height - 1) / 2)
    cos, sin = np.cos(np.radians(rotation)), np.sin(np.radians(rotation))
    turned_offset = np.array([[cos, sin], [-sin, cos]]) @ offset  # y points down
    middle = np.array([turned.width - 1, turned.height - 1]) / 2
    return np.asarray(turned_offset + middle)
