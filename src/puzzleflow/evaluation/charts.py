"""Charts that need no display: an empty one to draw on, and its way into a PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from puzzleflow.files import atomic_path
from puzzleflow.pictures import to_image

COLOURS = ("#3b6ea8", "#e08a2e", "#4c9a5a", "#a04f8f")


def empty_chart(rows: int, cols: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A Matplotlib figure of ``size`` inches and its (rows, cols) axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, cols, squeeze=False)


def save_chart(figure: Any, path: Path) -> None:
    """Write the figure as PNG of 128 colours, whole or not at all."""
    figure.set_dpi(110)
    figure.canvas.draw()
    image = to_image(np.asarray(figure.canvas.buffer_rgba())[..., :3])
    with atomic_path(path) as temporary:
        image.quantize(128, dither=Image.Dither.NONE).save(temporary, format="PNG", optimize=True)
