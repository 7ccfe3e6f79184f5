"""Picture + masks + permutation → puzzle, and from a closed one to one of the open world.

Masks and permutation come from one seed where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.canvas import cells_of
from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, turned_pieces
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


@dataclass(frozen=True, eq=False)
class Opening:
    """Which pieces of a closed puzzle and of strangers make an open one.

    kept       (K,) pieces of the puzzle
    strangers  (F,) pieces of the strangers, counted through all of them
    order      (K + F,) in which order the two lie, the kept ones counted first
    turns      (K + F,) quarter turns against the clock that bring each upright, or None
    """

    kept: IntArray
    strangers: IntArray
    order: IntArray
    turns: IntArray | None


def draw_opening(
    num_pieces: int, num_offered: Sequence[int], conditions: Conditions, seed: int
) -> Opening:
    """An opening that uses ``conditions`` in full.

    num_offered  pieces of each stranger; foreign pieces are taken from one after the other
    """
    rng = child_rng(seed, "opened")
    kept = rng.permutation(num_pieces)[conditions.missing :]
    offered: list[int] = []
    for count in num_offered if conditions.foreign else ():
        offered += (len(offered) + rng.permutation(count)).tolist()
    if len(offered) < conditions.foreign:
        raise InputError(f"{len(offered)} strangers for {conditions.foreign} foreign pieces")
    strangers = np.array(offered[: conditions.foreign], dtype=np.int64)
    order = rng.permutation(len(kept) + len(strangers))
    turns = rng.integers(4, size=len(order)) if conditions.turned else None
    return Opening(kept, strangers, order, turns)


def opened(
    puzzle: Puzzle, conditions: Conditions, seed: int, strangers: Sequence[Puzzle] = ()
) -> Puzzle:
    """``puzzle`` under ``conditions``, which are used in full.

    As many pieces are missing as may be missing, and as many are foreign as may be
    foreign; these come from ``strangers``, one after the other.
    """
    if puzzle.truth is None or not puzzle.is_closed:
        raise InputError("only a closed puzzle whose truth is known can be opened")
    offered = [stranger.num_pieces for stranger in strangers]
    drawn = draw_opening(puzzle.num_pieces, offered, conditions, seed)
    pieces, truth = puzzle.pieces[drawn.kept], puzzle.truth[drawn.kept]
    if conditions.foreign:
        foreign = np.concatenate([stranger.pieces for stranger in strangers])[drawn.strangers]
        pieces = np.concatenate([pieces, foreign])
        truth = np.concatenate([truth, np.full(conditions.foreign, -1)])
    pieces, truth = pieces[drawn.order], truth[drawn.order]
    if drawn.turns is not None:
        pieces = turned_pieces(pieces, -drawn.turns % 4)
    return replace(
        puzzle,
        pieces=pieces,
        truth=truth,
        names=None,
        conditions=conditions,
        true_turns=drawn.turns,
    )
