"""The reconstruction as pictures on a canvas, drawn closed: what exports show of board or table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.pictures import to_image
from puzzleflow.web.workbench import Workbench

Extents = list[tuple[IntArray, IntArray] | None]
FAR = 1 << 30
MAX_GAP = 2.0


@dataclass(frozen=True)
class Closed:
    """Where cells lie when they are moved together; fractions of a cell's side.

    lefts  (cols,) left edge of every column
    tops   (rows,) top edge of every row
    width, height  of the whole, from the first to the last material
    """

    lefts: tuple[float, ...]
    tops: tuple[float, ...]
    width: float
    height: float

    def opened(self, gap: float) -> Closed:
        """With a gap of ``gap`` cells between neighbours."""
        return Closed(
            tuple(left + gap * index for index, left in enumerate(self.lefts)),
            tuple(top + gap * index for index, top in enumerate(self.tops)),
            self.width + gap * (len(self.lefts) - 1),
            self.height + gap * (len(self.tops) - 1),
        )


def closed(masks: BoolArray, piece_at: IntArray, grid: Grid) -> Closed:
    """Columns, then rows, pushed together until two outlines touch.

    masks     (N, H, W) material of every piece in its cell
    piece_at  (P,) the piece in each cell, -1 for none
    """
    _, height, width = masks.shape
    cells = piece_at.reshape(grid.shape)
    across = [_extents(mask) for mask in masks]
    down = [_extents(mask.T) for mask in masks]
    columns = [[across[p] if p >= 0 else None for p in column] for column in cells.T]
    rows = [[down[p] if p >= 0 else None for p in row] for row in cells]
    lefts, breadth = _pushed(columns, width)
    tops, length = _pushed(rows, height)
    return Closed(
        tuple(left / width for left in lefts),
        tuple(top / height for top in tops),
        breadth / width,
        length / height,
    )


def _extents(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """(H,) first and (H,) last column + 1 of material in every row; none: never in the way."""
    filled = mask.any(axis=1)
    first = np.where(filled, mask.argmax(axis=1), FAR)
    last = np.where(filled, mask.shape[1] - mask[:, ::-1].argmax(axis=1), -FAR)
    return first.astype(np.int64), last.astype(np.int64)


def _pushed(lines: list[Extents], side: int) -> tuple[list[int], int]:
    """Where every line of cells begins, and the length of the whole, in pixels."""
    begins = [0]
    steps: list[int] = []
    for before, after in pairwise(lines):
        reach = [
            int((one[1] - other[0]).max())
            for one, other in zip(before, after, strict=True)
            if one is not None and other is not None
        ]
        steps.append(max(reach) if reach and max(reach) > 0 else 0)
    usual = int(np.median([step for step in steps if step] or [side]))
    for step in steps:
        begins.append(begins[-1] + (step or usual))
    first, last = FAR, -FAR
    for begin, line in zip(begins, lines, strict=True):
        for cell in line:
            if cell is not None:
                first = min(first, begin + int(cell[0].min()))
                last = max(last, begin + int(cell[1].max()))
    if last < first:
        return begins, begins[-1] + side
    return [begin - first for begin in begins], last - first


def paste(canvas: ByteArray, picture: ByteArray, top: int, left: int) -> None:
    """Lay a picture onto the canvas, in place, as far as it reaches; the more opaque pixel wins."""
    rows = slice(max(0, top), min(canvas.shape[0], top + picture.shape[0]))
    cols = slice(max(0, left), min(canvas.shape[1], left + picture.shape[1]))
    if rows.start >= rows.stop or cols.start >= cols.stop:
        return
    part = picture[rows.start - top : rows.stop - top, cols.start - left : cols.stop - left]
    below = canvas[rows, cols]
    over = part[..., 3] > below[..., 3]
    below[over] = part[over]


@dataclass(frozen=True, eq=False)
class Laid:
    """One fragment on the canvas: (h, w, 4) pixels, and its corner."""

    piece: int
    pixels: ByteArray
    top: int
    left: int


@dataclass(frozen=True, eq=False)
class Drawing:
    """A canvas and what lies on it, in pixels of the fragments."""

    height: int
    width: int
    laid: tuple[Laid, ...]

    def picture(self) -> ByteArray:
        """(H, W, 4) all together, transparent around."""
        canvas = np.zeros((self.height, self.width, 4), np.uint8)
        for each in self.laid:
            paste(canvas, each.pixels, each.top, each.left)
        return canvas


def on_board(workbench: Workbench, gap: float = 0.0) -> Drawing:
    """The board drawn closed, with a gap of ``gap`` cells."""
    now = workbench.history.now
    cells = workbench.cells()
    _, height, width, _ = cells.shape
    shape = closed(cells[..., 3] > 127, now.piece_at, now.grid).opened(gap)
    laid = []
    for position, piece in enumerate(now.piece_at):
        if piece >= 0:
            row, col = now.grid.cell(position)
            top, left = round(shape.tops[row] * height), round(shape.lefts[col] * width)
            laid.append(Laid(int(piece), cells[piece], top, left))
    return _checked(workbench, round(shape.height * height), round(shape.width * width), laid)


def on_table(workbench: Workbench) -> Drawing:
    """The free table, cut down to what lies on it."""
    table = workbench.stock.free.now
    turns = workbench.turns
    turned = []
    for piece, pose in sorted(table.poses.items()):
        upright = to_image(workbench.pieces[piece].turned(int(turns[piece])))
        pixels = np.asarray(upright.rotate(pose.angle, Image.Resampling.BICUBIC, expand=True))
        corner = pose.y - pixels.shape[0] / 2, pose.x - pixels.shape[1] / 2
        turned.append((piece, pixels, corner))
    if not turned:
        raise InputError("nothing lies on the table")
    top, left = (min(corner[axis] for _, _, corner in turned) for axis in (0, 1))
    laid = [
        Laid(piece, pixels, round(corner[0] - top), round(corner[1] - left))
        for piece, pixels, corner in turned
    ]
    height = max(each.top + each.pixels.shape[0] for each in laid)
    width = max(each.left + each.pixels.shape[1] for each in laid)
    return _checked(workbench, height, width, laid)


def _checked(workbench: Workbench, height: int, width: int, laid: list[Laid]) -> Drawing:
    if height * width > 2 * workbench.limits.max_total_pixels:
        raise InputError("the picture would be too large: move the fragments nearer")
    return Drawing(max(height, 1), max(width, 1), tuple(laid))


def numbered(drawing: Drawing, picture: ByteArray) -> ByteArray:
    """The (h, w, 3) picture of a drawing, at whatever size, with the numbers of the fragments."""
    image = to_image(picture)
    draw = ImageDraw.Draw(image)
    scale = picture.shape[1] / drawing.width
    font = ImageFont.load_default(max(12, round(max(picture.shape[:2]) / 40)))
    for piece, (x, y) in _middles(drawing):
        draw.text(
            (x * scale, y * scale), str(piece + 1), "white", font,
            anchor="mm", stroke_width=3, stroke_fill="black",
        )  # fmt: skip
    return np.array(image)


def _middles(drawing: Drawing) -> Iterator[tuple[int, tuple[float, float]]]:
    """Of every fragment its number and the middle (x, y) of its material."""
    for each in drawing.laid:
        material = each.pixels[..., 3] > 127
        rows, cols = np.nonzero(material[::4, ::4])
        if len(rows):
            yield each.piece, (each.left + 4 * cols.mean(), each.top + 4 * rows.mean())
