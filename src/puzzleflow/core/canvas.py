"""Pieces on a canvas, and cut-outs in equal cells: RGBA in, RGBA or RGB out, uint8 throughout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from puzzleflow.core.ceiling import ceiling_bytes
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Puzzle, turned_pieces
from puzzleflow.core.types import BoolArray, ByteArray, IntArray

Colour = tuple[int, int, int]

RIGHT: Colour = (0, 114, 178)
WRONG: Colour = (222, 112, 20)
PAGE: Colour = (250, 249, 246)
BOARD: Colour = (231, 227, 219)
EMPTY: Colour = (196, 190, 178)
UNPLACED = -1


def lay(pieces: ByteArray, position_of: IntArray, grid: Grid, *, spacing_px: int = 0) -> ByteArray:
    """RGBA canvas with every piece in its cell, transparent elsewhere.

    pieces       (N, H, W, 4)
    position_of  (N,) position of each piece; -1 leaves a piece out
    spacing_px   between neighbouring cells

    Where positions collide the last piece covers the others.
    """
    _, height, width, _ = pieces.shape
    step_y, step_x = height + spacing_px, width + spacing_px
    canvas = np.zeros(
        (grid.rows * step_y - spacing_px, grid.cols * step_x - spacing_px, 4), dtype=np.uint8
    )
    for piece, position in zip(pieces, position_of, strict=True):
        if position == UNPLACED:
            continue
        row, col = grid.cell(int(position))
        top, left = row * step_y, col * step_x
        canvas[top : top + height, left : left + width] = piece
    return canvas


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


def lay_all(
    pieces: ByteArray, position_of: IntArray, grid: Grid, turns: IntArray | None = None
) -> ByteArray:
    """RGBA canvas of a layout of the open world.

    Pieces are turned upright, empty cells have a thin frame, and pieces left aside lie in
    rows below the grid. A layout that lacks nothing looks as :func:`lay` draws it.
    """
    upright = pieces if turns is None else turned_pieces(pieces, turns)
    canvas = lay(upright, position_of, grid)
    _, height, width, _ = pieces.shape
    line_px = max(1, round(min(height, width) / 48))
    for position in np.setdiff1d(np.arange(grid.num_pieces), position_of):
        row, col = grid.cell(int(position))
        cell = canvas[row * height : (row + 1) * height, col * width : (col + 1) * width]
        inner = cell[line_px : height - line_px, line_px : width - line_px].copy()
        cell[:] = (*EMPTY, 255)
        cell[line_px : height - line_px, line_px : width - line_px] = inner
    aside = upright[np.asarray(position_of) == UNPLACED]
    if not len(aside):
        return canvas
    below = Grid(-(-len(aside) // grid.cols), grid.cols)
    gap = np.zeros((max(1, height // 4), canvas.shape[1], 4), dtype=np.uint8)
    return np.concatenate([canvas, gap, lay(aside, np.arange(len(aside)), below)])


def composite(rgba: ByteArray, background: Colour = BOARD) -> ByteArray:
    """(…, 3) RGB of RGBA pixels over one colour."""
    alpha = rgba[..., 3:].astype(np.uint16)
    over = rgba[..., :3].astype(np.uint16) * alpha
    under = np.array(background, dtype=np.uint16) * (255 - alpha)
    return ((over + under + 127) // 255).astype(np.uint8)


def erode(masks: BoolArray, width_px: int) -> BoolArray:
    """(…, H, W) masks without their outermost ``width_px`` pixels; the edge counts as outside.

    Steps to four and to eight neighbours alternate, so corners come out round.
    """
    inner = masks
    for step in range(width_px):
        padded = np.pad(inner, [(0, 0)] * (masks.ndim - 2) + [(1, 1), (1, 1)])
        vertical = padded[..., :-2, :] & padded[..., 1:-1, :] & padded[..., 2:, :]
        if step % 2:  # eight neighbours
            inner = vertical[..., :-2] & vertical[..., 1:-1] & vertical[..., 2:]
        else:
            sides = padded[..., 1:-1, :-2] & padded[..., 1:-1, 2:]
            inner = vertical[..., 1:-1] & sides
    return inner


def outline(pieces: ByteArray, colours: Sequence[Colour], widths_px: Sequence[int]) -> ByteArray:
    """Copies of RGBA pieces with a line along the inside of their own outline.

    A piece without gaps has its cell as outline.
    """
    outlined = pieces.copy()
    masks = pieces[..., 3] > 127  # (N, H, W)
    for piece, mask, colour, width_px in zip(outlined, masks, colours, widths_px, strict=True):
        piece[mask & ~erode(mask, width_px)] = (*colour, 255)
    return outlined


def mark(pieces: ByteArray, is_right: ArrayLike, *, width_px: int | None = None) -> ByteArray:
    """Copies of RGBA pieces outlined in :data:`RIGHT` or :data:`WRONG`."""
    thin = width_px or max(1, round(min(pieces.shape[1:3]) / 48))
    verdicts = np.asarray(is_right, dtype=bool)
    return outline(
        pieces,
        [RIGHT if right else WRONG for right in verdicts],
        [thin if right else 2 * thin for right in verdicts],
    )


def panels(puzzle: Puzzle, answer: IntArray | Layout | None) -> dict[str, ByteArray]:
    """RGB pictures of a puzzle by name: "shuffled", "solved", "truth", as far as known.

    "shuffled" lays the pieces in the order in which they came. "solved" is the answer,
    positions or a whole layout, marked right and wrong if the truth is known.
    """
    laid = {"shuffled": lay(puzzle.pieces, np.arange(puzzle.num_pieces), _as_they_came(puzzle))}
    if answer is not None:
        layout = as_layout(answer, puzzle)
        right = rightly_laid(puzzle, layout)
        shown = puzzle.pieces if right is None else mark(puzzle.pieces, right)
        laid["solved"] = lay_layout(shown, layout)
    if puzzle.truth is not None:
        laid["truth"] = lay_all(puzzle.pieces, puzzle.truth, puzzle.grid, puzzle.true_turns)
    return {name: board(rgba) for name, rgba in laid.items()}


def as_layout(answer: IntArray | Layout, puzzle: Puzzle) -> Layout:
    """Positions on the puzzle's own grid as a layout; a layout that tells its grid as it is."""
    if not isinstance(answer, Layout):
        return Layout(answer, grid=puzzle.grid)
    return answer if answer.grid is not None else replace(answer, grid=puzzle.grid)


def lay_layout(pieces: ByteArray, layout: Layout) -> ByteArray:
    """RGBA canvas of a layout that tells its grid."""
    assert layout.grid is not None
    return lay_all(pieces, layout.position_of, layout.grid, layout.turns)


def rightly_laid(puzzle: Puzzle, layout: Layout) -> BoolArray | None:
    """(N,) which pieces lie right, in cell and turn, on the true grid; None without truth."""
    if puzzle.truth is None:
        return None
    right: BoolArray = layout.position_of == puzzle.truth
    if puzzle.known_grid not in (None, layout.grid):
        right = right & (puzzle.truth < 0)
    if puzzle.true_turns is not None:
        turns = np.zeros_like(puzzle.truth) if layout.turns is None else layout.turns
        right = right & ((turns == puzzle.true_turns) | (puzzle.truth < 0))
    return right


def _as_they_came(puzzle: Puzzle) -> Grid:
    """The puzzle's grid, or one nearly square where the pieces do not fill it."""
    if puzzle.known_grid is not None and puzzle.known_grid.num_pieces == puzzle.num_pieces:
        return puzzle.known_grid
    cols = math.ceil(puzzle.num_pieces**0.5)
    return Grid(-(-puzzle.num_pieces // cols), cols)


def board(rgba: ByteArray) -> ByteArray:
    """RGB of a laid canvas on a board that shows a little on every side."""
    rim = max(1, round(max(rgba.shape[:2]) / 64))
    return composite(np.pad(rgba, [(rim, rim), (rim, rim), (0, 0)]))


def tile(
    pictures: Sequence[ByteArray],
    columns: int,
    *,
    margin_px: int = 16,
    spacing_px: int | None = None,
    background: Colour = PAGE,
) -> ByteArray:
    """RGB pictures in rows of ``columns``, each centred in a cell of the largest size.

    margin_px   around the whole
    spacing_px  between pictures, as wide as the margin unless said otherwise
    """
    if not pictures:
        raise InputError("no pictures to lay side by side")
    spacing = margin_px if spacing_px is None else spacing_px
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    height = max(picture.shape[0] for picture in pictures)
    width = max(picture.shape[1] for picture in pictures)
    high = rows * (height + spacing) - spacing + 2 * margin_px
    wide = columns * (width + spacing) - spacing + 2 * margin_px
    page = np.empty((high, wide, 3), dtype=np.uint8)
    page[:] = background
    for index, picture in enumerate(pictures):
        row, col = divmod(index, columns)
        top = margin_px + row * (height + spacing) + (height - picture.shape[0]) // 2
        left = margin_px + col * (width + spacing) + (width - picture.shape[1]) // 2
        page[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return page


def equal_cells(pieces: Sequence[ByteArray], max_pixels: int | None = None) -> ByteArray:
    """(N, H, W, 4) of (h, w, 4) pieces: the one way from pieces to a puzzle's array.

    Pieces of one size are cells already and stay as they are. Others are centred, scale
    kept and transparent around, on a square that the longest side of any of them fills:
    solvers learn from pieces that reach, or nearly reach, the border of the cell.
    """
    shapes = {piece.shape[:2] for piece in pieces}
    if not shapes:
        raise InputError("no pieces")
    height, width = shapes.pop()
    if shapes:
        height = width = max(height, width, *(side for shape in shapes for side in shape))
    if max_pixels is None:
        max_pixels = ceiling_bytes() // 4
    if len(pieces) * height * width > max_pixels:
        raise InputError(
            f"{len(pieces)} pieces of {width}x{height} pixels are more than the "
            f"{max_pixels:,} pixels allowed: make the pictures smaller"
        )
    cells = np.zeros((len(pieces), height, width, 4), np.uint8)
    for cell, piece in zip(cells, pieces, strict=True):
        tall, wide = piece.shape[:2]
        top, left = (height - tall) // 2, (width - wide) // 2
        cell[top : top + tall, left : left + wide] = piece
    return cells


def squared(cells: ByteArray) -> ByteArray:
    """(N, S, S, 4) the same cells, transparent around, so that they can be turned."""
    height, width = cells.shape[1:3]
    side = max(height, width)
    down, right = (side - height) // 2, (side - width) // 2
    around = [(0, 0), (down, side - height - down), (right, side - width - right), (0, 0)]
    return np.pad(cells, around)


def crop_to_material(piece: ByteArray) -> ByteArray:
    """(h, w, 4) the smallest rectangle that holds all material."""
    rows = np.flatnonzero(piece[..., 3].any(axis=1))
    cols = np.flatnonzero(piece[..., 3].any(axis=0))
    if not len(rows):
        raise FormatError("a fragment without material")
    return piece[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1].copy()
