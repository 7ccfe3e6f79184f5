"""Uploads: picture files become pieces, one picture becomes a puzzle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.pictures import natural_key, read_picture
from puzzleflow.web.errors import TooMuch
from puzzleflow.web.limits import Limits
from puzzleflow.web.pieces import plain_names
from puzzleflow.web.workbench import Cut

EROSIONS = ("vae", "linear", "none")
LEAST_PIECE_PX, LARGEST_PIECE_PX = 16, 512
LEAST_SIDE_PX = 8
TOLD_CROP = 0.02  # of the picture: what is cropped beyond it is said


@dataclass(frozen=True)
class Upload:
    """A file as it came: its name is shown, never trusted."""

    name: str
    content: bytes


def read_upload(upload: Upload, limits: Limits, *, reduce: bool = False) -> ByteArray:
    """(H, W, 3 or 4) uint8 of a picture file within the limits.

    reduce  large pictures are read at a half or a quarter, so that they fit into memory
    """
    with naming(upload.name[:80] or "the file"):
        pixels = read_picture(
            upload.content,
            None,
            max_pixels=limits.max_pixels,
            keep_pixels=limits.kept_pixels if reduce else None,
        )
        if min(pixels.shape[:2]) < LEAST_SIDE_PX:
            raise FormatError(f"fewer than {LEAST_SIDE_PX} pixels a side")
    return pixels


def fragments_of(uploads: Sequence[Upload], limits: Limits) -> list[Cut]:
    """One piece per picture, in natural order."""
    from puzzleflow.segmentation.cut_outs import cut_outs  # loads scipy and scikit-image

    if len(uploads) > limits.max_pieces:
        raise TooMuch(f"{len(uploads)} pictures; at most {limits.max_pieces} pieces are possible")
    uploads = sorted(uploads, key=lambda upload: natural_key(upload.name))
    pictures: list[ByteArray] = []
    left = limits.max_total_pixels
    for upload in uploads:
        with naming(upload.name[:80] or "the file"):
            most = min(left, limits.max_pixels)
            picture = read_picture(upload.content, "RGBA", max_pixels=most)
            if min(picture.shape[:2]) < LEAST_SIDE_PX:
                raise FormatError(f"fewer than {LEAST_SIDE_PX} pixels a side")
        pictures.append(picture)
        left -= picture.shape[0] * picture.shape[1]
        if left < 0:
            raise TooMuch(f"all pictures together exceed {limits.max_total_pixels:,} pixels")
    found = cut_outs(pictures, [upload.name[:80] for upload in uploads])
    names = plain_names([upload.name for upload in uploads])
    return list(zip(names, found, strict=True))


def cut(
    picture: ByteArray, grid: Grid, erosion: str, seed: int, limits: Limits
) -> tuple[Puzzle, float]:
    """A puzzle of (H, W, 3) ``picture`` at its own resolution, square pieces, shuffled.

    Also the part of the picture that square pieces leave over and that is cropped.
    """
    if grid.num_pieces > limits.max_pieces:
        raise TooMuch(f"a {grid} grid; at most {limits.max_pieces} pieces are possible")
    if erosion not in EROSIONS:
        raise InputError(f"unknown erosion {erosion!r}; known: {', '.join(EROSIONS)}")
    height, width = picture.shape[:2]
    side = min(height // grid.rows, width // grid.cols)
    cropped = 1 - side**2 * grid.num_pieces / (height * width)
    side = min(side, LARGEST_PIECE_PX)
    if side < LEAST_PIECE_PX:
        raise InputError(f"the picture is too small for {grid} pieces")
    return cut_puzzle(picture, grid, erosion, seed, piece_px=side), cropped
