"""The photograph with every fragment outlined and numbered."""

from __future__ import annotations

import numpy as np
from PIL import ImageDraw, ImageFont

from puzzleflow.core.canvas import RIGHT, WRONG
from puzzleflow.core.types import ByteArray
from puzzleflow.pictures import resize, to_image
from puzzleflow.segmentation.foreground import grow
from puzzleflow.segmentation.fragments import Segmentation

PREVIEW_PX = 1600


def draw_preview(segmentation: Segmentation, max_px: int = PREVIEW_PX) -> ByteArray:
    """(h, w, 3) uint8, at most ``max_px`` on the long side; what is cut off in another colour."""
    height, width = segmentation.labels.shape
    factor = min(1.0, max_px / max(height, width))
    size = max(1, round(height * factor)), max(1, round(width * factor))
    rows = np.minimum(((np.arange(size[0]) + 0.5) / factor).astype(np.intp), height - 1)
    cols = np.minimum(((np.arange(size[1]) + 0.5) / factor).astype(np.intp), width - 1)
    labels = segmentation.labels[rows][:, cols]  # (h, w)
    page = resize(segmentation.photo[..., :3], *size).copy()
    line = max(1, round(max(size) / 600))
    for number, fragment in enumerate(segmentation.fragments, start=1):
        colour = WRONG if fragment.cut_off else RIGHT
        top, left, tall, wide = (round(side * factor) for side in fragment.bbox)
        window = np.s_[
            max(0, top - line - 1) : top + tall + line + 2,
            max(0, left - line - 1) : left + wide + line + 2,
        ]
        mask = labels[window] == number
        page[window][grow(mask, line) & ~mask] = colour
    image = to_image(page)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(max(12, round(max(size) / 45)))
    for number, fragment in enumerate(segmentation.fragments, start=1):
        top, left, tall, wide = fragment.bbox
        centre = ((left + wide / 2) * factor, (top + tall / 2) * factor)
        draw.text(
            centre, str(number), "white", font, anchor="mm", stroke_width=3, stroke_fill="black"
        )
    return np.array(image)
