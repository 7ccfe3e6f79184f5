"""What people bring: picture files become pieces, one picture becomes a puzzle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import ByteArray
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.masks import bounding_box
from puzzleflow.pictures import read_picture
from puzzleflow.web.errors import TooMuch
from puzzleflow.web.limits import Limits
from puzzleflow.web.photo import on_plain_ground
from puzzleflow.web.pieces import Piece, natural_order, plain_names

SIGNATURES: tuple[tuple[str, int, bytes], ...] = (
    ("PNG", 0, b"\x89PNG\r\n\x1a\n"),
    ("JPEG", 0, b"\xff\xd8\xff"),
    ("WebP", 8, b"WEBP"),
    ("TIFF", 0, b"II*\0"),
    ("TIFF", 0, b"MM\0*"),
    ("BMP", 0, b"BM"),
    ("GIF", 0, b"GIF8"),
    ("ZIP", 0, b"PK\x03\x04"),
)
EROSIONS = {
    "vae": "Worn all around, like real fragments",
    "linear": "Straight gaps of uneven width",
    "none": "No gaps, clean square pieces",
}
LEAST_PIECE_PX, LARGEST_PIECE_PX = 16, 512
LEAST_SIDE_PX = 8


@dataclass(frozen=True)
class Upload:
    """A file as it came: its name is shown, never trusted."""

    name: str
    content: bytes


def sniff(content: bytes) -> str | None:
    """What the first bytes say: "PNG", "JPEG", …, "ZIP"; None for everything else."""
    for kind, offset, signature in SIGNATURES:
        if content[offset : offset + len(signature)] == signature:
            return kind
    return None


def read_upload(upload: Upload, limits: Limits) -> ByteArray:
    """(H, W, 4) uint8 of a picture file within the limits."""
    shown = upload.name[:80] or "the file"
    kind = sniff(upload.content)
    if kind is None or kind == "ZIP":
        raise FormatError(f"{shown}: not a picture (PNG, JPEG, WebP, TIFF, BMP or GIF expected)")
    with naming(shown):
        pixels = read_picture(upload.content, "RGBA", max_pixels=limits.max_pixels)
        if min(pixels.shape[:2]) < LEAST_SIDE_PX:
            raise FormatError(f"fewer than {LEAST_SIDE_PX} pixels a side")
    return pixels


def fragments_of(uploads: Sequence[Upload], limits: Limits) -> list[Piece]:
    """One piece per picture: its alpha, or what lies on a plain ground, or all of it."""
    if len(uploads) > limits.max_pieces:
        raise TooMuch(f"{len(uploads)} pictures; at most {limits.max_pieces} pieces are possible")
    uploads = [uploads[index] for index in natural_order([upload.name for upload in uploads])]
    names = plain_names([upload.name for upload in uploads])
    pictures: list[ByteArray] = []
    left = limits.max_total_pixels
    for upload in uploads:
        pixels = read_upload(upload, limits)
        left -= pixels.shape[0] * pixels.shape[1]
        if left < 0:
            raise TooMuch(f"all pictures together exceed {limits.max_total_pixels:,} pixels")
        if pixels[..., 3].max() <= 127:
            raise FormatError(f"{upload.name[:80]}: the picture is transparent all over")
        pictures.append(pixels)
    opaque = [index for index, pixels in enumerate(pictures) if pixels[..., 3].min() == 255]
    found = on_plain_ground([pictures[index] for index in opaque])
    for index, fragment in zip(opaque, found, strict=True):
        pictures[index] = fragment
    return [Piece(name, cropped(pixels)) for name, pixels in zip(names, pictures, strict=True)]


def cropped(pixels: ByteArray) -> ByteArray:
    """(h, w, 4) without the empty rows and columns around the material."""
    top, bottom, left, right = bounding_box(pixels[..., 3] > 0)
    return pixels[top:bottom, left:right]


def cut(picture: ByteArray, grid: Grid, erosion: str, seed: int, limits: Limits) -> Puzzle:
    """A puzzle of (H, W, 3) ``picture`` at its own resolution, square pieces, shuffled."""
    if grid.num_pieces > limits.max_pieces:
        raise TooMuch(f"a {grid} grid; at most {limits.max_pieces} pieces are possible")
    if erosion not in EROSIONS:
        raise InputError(f"unknown erosion {erosion!r}; known: {', '.join(EROSIONS)}")
    side = min(picture.shape[0] // grid.rows, picture.shape[1] // grid.cols, LARGEST_PIECE_PX)
    if side < LEAST_PIECE_PX:
        raise InputError(f"the picture is too small for {grid} pieces")
    return cut_puzzle(picture, grid, erosion, seed, piece_px=side)
