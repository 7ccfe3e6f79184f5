"""Charts that need no display: an empty one, estimates drawn on it, its way into a PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from puzzleflow.core.intervals import Estimate
from puzzleflow.core.types import FloatArray
from puzzleflow.files import atomic_path
from puzzleflow.pictures import to_image

COLOURS = (
    "#3b6ea8", "#e08a2e", "#4c9a5a", "#a04f8f", "#c0504d", "#7f7f7f", "#8c6d31", "#2aa5a0",
    "#d670a8", "#5b5bd6", "#9ab82e", "#000000",
)  # fmt: skip
LINES = ("-", "--", ":", "-.")


def empty_chart(rows: int, cols: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A Matplotlib figure of ``size`` inches and its (rows, cols) axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, cols, squeeze=False)


def coloured(names: Sequence[str]) -> list[tuple[str, str]]:
    """Each name with its colour."""
    return [(name, COLOURS[k % len(COLOURS)]) for k, name in enumerate(names)]


def reach(estimates: Sequence[Estimate]) -> FloatArray:
    """(2, K) how far intervals reach below and above."""
    ends = [(e.value - e.low, e.high - e.value) for e in estimates]
    return np.array(ends, dtype=np.float64).reshape(-1, 2).T.clip(0)


def draw_estimates(
    axis: Any, points: Sequence[tuple[float, Estimate]], colour: str, label: str, line: str = "-"
) -> None:
    """A curve with a mark and the interval at every point."""
    x, y = [x for x, _ in points], [y for _, y in points]
    style = {
        "color": colour,
        "label": label,
        "ls": line,
        "lw": 1.2,
        "elinewidth": 0.8,
        "capsize": 2,
    }
    axis.errorbar(x, [value.value for value in y], yerr=reach(y), marker="o", ms=3, **style)


def frame(axis: Any, title: str, x: str, y: str, limits: tuple[float, float]) -> None:
    """Title, names of the axes, extent of the second."""
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.set_ylim(*limits)
    axis.grid(alpha=0.25)


def shared_legend(figure: Any, axis: Any) -> None:
    """One legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)


def draw_losses(path: str | Path, history: Sequence[Mapping[str, float]]) -> None:
    """Training and validation loss by epoch."""
    figure, axes = empty_chart(1, 1, (6.5, 4))
    axis = axes.flat[0]
    epochs = [row["epoch"] for row in history]
    for part, colour in coloured(("train", "validation")):
        axis.plot(epochs, [row[f"{part}_loss"] for row in history], label=part, color=colour)
    axis.set_xlabel("epoch")
    axis.set_ylabel("BCE + KL per mask (nats)")
    axis.set_yscale("log")
    axis.legend()
    save_chart(figure, Path(path))


def save_chart(figure: Any, path: Path) -> None:
    """Write the figure as PNG of 128 colours, whole or not at all."""
    figure.set_dpi(110)
    figure.canvas.draw()
    image = to_image(np.asarray(figure.canvas.buffer_rgba())[..., :3])
    with atomic_path(path) as temporary:
        image.quantize(128, dither=Image.Dither.NONE).save(temporary, format="PNG", optimize=True)
