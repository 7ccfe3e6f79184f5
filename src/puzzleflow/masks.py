"""Masks in and out: one reader and writer for folders of pictures and for packed ``.npz``.

White or opaque is material: where the alpha channel says anything it counts,
else the brightness, above 127 of 255.

A packed file holds one array, ``masks``: (N, 128, 128) bool, or uint8 with the
bits of each mask in a row, (N, 2048), as ``numpy.packbits`` lays them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from puzzleflow.core.ceiling import check_bytes, reading
from puzzleflow.core.errors import FormatError, InputError, OutputError
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.files import atomic_path, foreign, open_regular
from puzzleflow.lock import LOCK, locked
from puzzleflow.pictures import list_pictures, read_picture, resize, write_picture

MASK_PX = 128  # the side of stored and generated masks
MOST_DARK = 127  # of 255: brighter is material


@dataclass(frozen=True)
class MaskSet:
    """Masks, their names, and what was done to them."""

    masks: BoolArray  # (N, 128, 128)
    names: list[str]  # path below the folder, or number in the packed file
    changed: dict[str, list[str]] = field(default_factory=dict)  # what was done → names

    def notes(self) -> list[str]:
        """One line for each thing that a user should know."""
        return [
            f"{len(names)} mask{'s'[: len(names) != 1]} {what} ({_some(names)})"
            for what, names in self.changed.items()
            if names
        ]


def _some(names: list[str], limit: int = 3) -> str:
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def read_masks(path: str | Path, *, stretch: bool = False) -> MaskSet:
    """Every mask of a folder, in the order of the paths, or of a packed file, at 128x128.

    ``stretch`` brings each bounding box to the full square, as the paper does
    with real fragments; generated masks are read as they are.
    """
    masks: list[BoolArray] = []
    names: list[str] = []
    resized: list[str] = []
    grey: list[str] = []
    stretched: list[str] = []
    for name, mask, is_grey in each_mask(path):
        boxed = crop_to_box(mask) if stretch else mask
        if is_grey:
            grey.append(name)
        if mask.shape != (MASK_PX, MASK_PX):
            resized.append(name)
        elif boxed.shape != mask.shape:
            stretched.append(name)
        masks.append(resize_mask(boxed, MASK_PX, MASK_PX))
        names.append(name)
    changed = {
        "not 128x128: resized": resized,
        "grey: thresholded at 128": grey,
        "not filling its frame: bounding box stretched to 128x128": stretched,
    }
    return MaskSet(np.stack(masks), names, changed)


def each_mask(path: str | Path) -> Iterator[tuple[str, BoolArray, bool]]:
    """Name, mask at its own size, and whether it had greys; at least one mask."""
    path = Path(path)
    if path.suffix.lower() == ".npz":
        for index, mask in enumerate(_unpacked(path)):
            if not mask.any():
                raise FormatError(f"{path}: mask {index} is empty")
            yield _numbered(index), mask, False
        return
    files = list_pictures(path)
    if not files:
        raise InputError(f"{path}: no mask pictures in this folder")
    for file in files:
        yield file.relative_to(path).as_posix(), *_material(file)


def _material(path: Path) -> tuple[BoolArray, bool]:
    """(H, W) the mask that a picture shows, and whether it has greys."""
    rgba = read_picture(path, "RGBA")
    alpha = rgba[..., 3]
    level = alpha if alpha.min() < 255 else rgba[..., :3].mean(axis=-1)  # (H, W)
    mask: BoolArray = level > MOST_DARK
    if not mask.any():
        raise FormatError(f"{path}: the mask is empty; expected white material on black")
    return mask, bool(np.any((level != 0) & (level != 255)))


def _unpacked(path: Path) -> BoolArray:
    """(N, 128, 128) of a packed file."""
    with (
        foreign(path, "an .npz with the array 'masks'"),
        reading(path),
        open_regular(path) as stream,
    ):
        with zipfile.ZipFile(stream) as members:
            unpacked = sum(info.file_size for info in members.infolist())
            check_bytes(unpacked, f"{path}: what it unpacks to")
            if members.testzip() is not None:  # NumPy does not read as far as the checksum
                raise ValueError("a checksum is wrong")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            stored = archive["masks"]
    if stored.dtype == np.uint8 and stored.shape[1:] == (MASK_PX * MASK_PX // 8,):
        check_bytes(9 * stored.nbytes, f"{path}: {len(stored):,} masks")
        stored = np.unpackbits(stored, axis=1).reshape(-1, MASK_PX, MASK_PX).view(bool)
    if stored.dtype != bool or stored.shape[1:] != (MASK_PX, MASK_PX) or not len(stored):
        raise FormatError(
            f"{path}: {stored.dtype} of shape {stored.shape}, expected masks as bool (N, "
            f"{MASK_PX}, {MASK_PX}) or packed bits (N, {MASK_PX * MASK_PX // 8}), N at least 1"
        )
    return np.asarray(stored)


def _numbered(index: int) -> str:
    return f"{index:06d}.png"


def write_masks(path: str | Path, chunks: Iterable[BoolArray]) -> None:
    """(n, 128, 128) masks, chunk by chunk: PNGs in a new folder, or one file in ``.npz``."""
    path = Path(path)
    if path.suffix.lower() == ".npz":
        masks = np.concatenate(list(chunks))  # (N, 128, 128)
        with atomic_path(path) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, masks=masks)
        return
    with locked(path) as lock:
        if any(inside.name != LOCK for inside in path.iterdir()):
            raise OutputError(f"{path}: expected a new or empty folder")
        for index, mask in enumerate(chain.from_iterable(chunks)):
            lock.check()
            write_picture(path / _numbered(index), as_grey(mask))


def as_grey(mask: BoolArray) -> ByteArray:
    """Material 255, the rest 0; any shape."""
    return mask.astype(np.uint8) * np.uint8(255)


def bounding_box(mask: BoolArray) -> tuple[int, int, int, int]:
    """First row, last row + 1, first column, last column + 1 (all 0 when empty)."""
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return 0, 0, 0, 0
    return int(rows[0]), int(rows[-1]) + 1, int(cols[0]), int(cols[-1]) + 1


def crop_to_box(mask: BoolArray) -> BoolArray:
    """The mask inside its bounding box."""
    top, bottom, left, right = bounding_box(mask)
    return mask[top:bottom, left:right]


def resize_mask(mask: BoolArray, height: int, width: int) -> BoolArray:
    """(height, width) bool, antialiased and cut at one half."""
    if mask.shape == (height, width):
        return mask
    return resize(as_grey(mask), height, width) > MOST_DARK
