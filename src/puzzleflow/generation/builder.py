"""Picture + masks + permutation → puzzle."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.errors import FormatError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.pictures import resize


def centre_crop(picture: ByteArray, height: int, width: int) -> ByteArray:
    """The largest centred rectangle of the aspect ``height : width``; a square for a square."""
    have_height, have_width = picture.shape[:2]
    if have_height * width > have_width * height:  # too tall
        crop_height, crop_width = max(1, round(have_width * height / width)), have_width
    else:
        crop_height, crop_width = have_height, max(1, round(have_height * width / height))
    top, left = (have_height - crop_height) // 2, (have_width - crop_width) // 2
    return picture[top : top + crop_height, left : left + crop_width]


def make_canvas(picture: ByteArray, grid: Grid, piece_px: tuple[int, int]) -> ByteArray:
    """(rows*height, cols*width, 3) uint8: the centred part of ``picture`` at the puzzle's size."""
    height, width = grid.rows * piece_px[0], grid.cols * piece_px[1]
    return resize(centre_crop(picture, height, width), height, width)


def cells_of(canvas: ByteArray, grid: Grid) -> ByteArray:
    """(H, W, C) canvas → (N, h, w, C) cells in row-major order."""
    height, width, channels = canvas.shape
    if height % grid.rows or width % grid.cols:
        raise FormatError(f"a canvas of {height}x{width} pixels has no {grid} equal cells")
    cells = canvas.reshape(
        grid.rows, height // grid.rows, grid.cols, width // grid.cols, channels
    )  # (R, h, K, w, C)
    cells = cells.transpose(0, 2, 1, 3, 4)  # (R, K, h, w, C)
    return cells.reshape(grid.num_pieces, height // grid.rows, width // grid.cols, channels)


def cut_pieces(canvas: ByteArray, grid: Grid, masks: BoolArray, position_of: IntArray) -> ByteArray:
    """(N, h, w, 4) shuffled RGBA pieces; RGB is zero where alpha is zero, alpha is 0 or 255.

    masks        (N, h, w) bool, one for every *position*
    position_of  (N,) where every piece of the result comes from
    """
    cells = cells_of(canvas, grid)  # (N, h, w, 3)
    if masks.shape != cells.shape[:3]:
        raise FormatError(f"expected masks of shape {cells.shape[:3]}, got {masks.shape}")
    pieces = np.empty((*cells.shape[:3], 4), np.uint8)
    np.multiply(cells[position_of], masks[position_of][..., None], out=pieces[..., :3])
    np.multiply(masks[position_of], np.uint8(255), out=pieces[..., 3])
    return pieces


def build_puzzle(
    picture: ByteArray,
    grid: Grid,
    masks: BoolArray,
    position_of: IntArray,
    *,
    puzzle_id: str = "",
) -> Puzzle:
    """Crop, resize, cut and shuffle (H, W, 3) ``picture``; the masks fix the piece size."""
    truth = as_permutation(position_of, grid.num_pieces)
    height, width = masks.shape[1:]
    canvas = make_canvas(picture, grid, (height, width))
    return Puzzle(cut_pieces(canvas, grid, masks, truth), grid, truth=truth, puzzle_id=puzzle_id)


def draw_positions(rng: np.random.Generator, num_pieces: int) -> IntArray:
    """A uniformly random permutation ``position_of[piece]``."""
    return rng.permutation(num_pieces).astype(np.int64)
