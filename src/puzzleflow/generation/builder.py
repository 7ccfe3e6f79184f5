"""Picture + masks + permutation → puzzle; the last two from one seed where nothing else is said."""

from __future__ import annotations

import numpy as np

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.canvas import cells_of
from puzzleflow.core.errors import FormatError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.generation.erosion import ErosionModel, erosion_model
from puzzleflow.masks import MASK_PX
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


def cut_pieces(canvas: ByteArray, grid: Grid, masks: BoolArray, position_of: IntArray) -> ByteArray:
    """(K, h, w, 4) shuffled RGBA pieces; RGB is zero where alpha is zero, alpha is 0 or 255.

    masks        (N, h, w) bool, one for every *position*
    position_of  (K,) where every piece of the result comes from
    """
    cells = cells_of(canvas, grid)  # (N, h, w, 3)
    if masks.shape != cells.shape[:3]:
        raise FormatError(f"expected masks of shape {cells.shape[:3]}, got {masks.shape}")
    pieces = np.empty((len(position_of), *cells.shape[1:3], 4), np.uint8)
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


def cut_puzzle(
    picture: ByteArray,
    grid: Grid,
    erosion: str | ErosionModel,
    seed: int,
    *,
    piece_px: int = MASK_PX,
    puzzle_id: str = "",
) -> Puzzle:
    """(H, W, 3) ``picture`` broken as in a data set: masks and order follow from ``seed``.

    ``erosion`` is a model or its name, such as "vae" or "fixed:8".
    """
    model = erosion_model(erosion) if isinstance(erosion, str) else erosion
    masks = model.masks(mask_seeds(seed, grid), piece_px, piece_px)  # (N, px, px)
    return build_puzzle(picture, grid, masks, draw_positions(seed, grid), puzzle_id=puzzle_id)


def mask_seeds(puzzle_seed: int, grid: Grid) -> list[int]:
    """The 63-bit seeds of a puzzle's masks, by position."""
    return [child_seed(puzzle_seed, "mask", place) >> 1 for place in range(grid.num_pieces)]


def draw_positions(puzzle_seed: int, grid: Grid) -> IntArray:
    """A uniformly random permutation ``position_of[piece]``."""
    rng = child_rng(puzzle_seed, "permutation")
    return rng.permutation(grid.num_pieces).astype(np.int64)
