"""Mask folders: PNG silhouettes (white or opaque = material) as one boolean array."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.pictures import list_pictures, read_picture, resize

MASK_PX = 128
MIDDLE_GREY = 128


@dataclass(frozen=True)
class MaskFolder:
    """What a folder held: the masks, their paths, and what was done to them."""

    masks: BoolArray  # (N, 128, 128)
    names: list[str]  # path below the folder, one per mask
    resized: list[str] = field(default_factory=list)
    thresholded: list[str] = field(default_factory=list)
    stretched: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """One line for each thing that a user should know."""
        said = [
            (self.resized, "not 128x128: resized"),
            (self.thresholded, "grey: thresholded at 128"),
            (self.stretched, "not filling its frame: bounding box stretched to 128x128"),
            (self.empty, "without any material: skipped"),
            (self.damaged, "not readable: skipped"),
        ]
        return [
            f"{len(names)} mask{'s'[: len(names) != 1]} {what} ({_some(names)})"
            for names, what in said
            if names
        ]


def _some(names: list[str], limit: int = 3) -> str:
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def read_masks(folder: str | Path, *, stretch: bool = False) -> MaskFolder:
    """Every mask below ``folder``, in the order of the paths.

    ``stretch`` brings each bounding box to the full square, as the paper does
    with real fragments; generated masks are read as they are.
    """
    folder = Path(folder)
    paths = list_pictures(folder)
    if not paths:
        raise InputError(f"{folder}: no mask pictures in this folder")
    found = MaskFolder(np.zeros((0, MASK_PX, MASK_PX), dtype=bool), [])
    masks: list[BoolArray] = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        try:
            grey = _material(read_picture(path, "RGBA"))
        except FormatError:
            found.damaged.append(name)
            continue
        mask = grey >= MIDDLE_GREY
        if not mask.any():
            found.empty.append(name)
            continue
        if np.any((grey != 0) & (grey != 255)):
            found.thresholded.append(name)
        if mask.shape != (MASK_PX, MASK_PX):
            found.resized.append(name)
        boxed = crop_to_box(mask) if stretch else mask
        if boxed.shape != mask.shape and mask.shape == (MASK_PX, MASK_PX):
            found.stretched.append(name)
        masks.append(resize_mask(boxed))
        found.names.append(name)
    if not masks:
        raise InputError(
            f"{folder}: none of {len(paths)} pictures is a mask "
            f"({len(found.empty)} all black, {len(found.damaged)} not readable)"
        )
    return MaskFolder(
        np.stack(masks),
        found.names,
        found.resized,
        found.thresholded,
        found.stretched,
        found.empty,
        found.damaged,
    )


def _material(rgba: ByteArray) -> ByteArray:
    """(H, W) uint8: the alpha channel where it says anything, else the brightness."""
    alpha = rgba[..., 3]
    if alpha.min() < 255:
        return alpha
    brightness: ByteArray = rgba[..., :3].max(axis=2)
    return brightness


def crop_to_box(mask: BoolArray) -> BoolArray:
    """The mask inside its bounding box; it must hold material."""
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return mask[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]


def resize_mask(mask: BoolArray, side_px: int = MASK_PX) -> BoolArray:
    """(side_px, side_px) bool, antialiased and cut at one half."""
    if mask.shape == (side_px, side_px):
        return mask
    grey = resize(mask.astype(np.uint8) * np.uint8(255), side_px, side_px)
    return grey >= MIDDLE_GREY
