"""The reconstruction as pictures on a canvas: what exports draw of the board or the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from puzzleflow.core.errors import InputError
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import to_image
from puzzleflow.web.closing import closed, paste
from puzzleflow.web.workbench import Workbench

MAX_GAP = 2.0


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
