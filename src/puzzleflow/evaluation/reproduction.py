"""The page of a reproduction: every table and figure of the paper that its commands have made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from puzzleflow.core.canvas import board, lay, tile
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import ByteArray
from puzzleflow.evaluation.figures import caption
from puzzleflow.files import read_regular, write_text
from puzzleflow.generation.builder import cut_puzzle, make_canvas
from puzzleflow.pages import render

PANEL_PX = 96  # a piece in the figure of the pipeline
LINE = (255, 255, 255)
MEDIA = {".png": "image/png", ".webp": "image/webp", ".jpg": "image/jpeg"}


@dataclass(frozen=True)
class Section:
    """A part of the page.

    commands  what made it, as typed
    tables    heading → rows of text, the first of them the head
    pictures  caption → file; those that are not there are left out
    links     text → file
    """

    title: str
    text: str
    commands: Sequence[str] = ()
    tables: Mapping[str, list[list[str]]] = field(default_factory=dict)
    pictures: Mapping[str, Path] = field(default_factory=dict)
    links: Mapping[str, Path] = field(default_factory=dict)


def write_page(path: Path, facts: Mapping[str, str], sections: Sequence[Section]) -> None:
    """One HTML file that holds tables and pictures; links lead to reports beside it."""
    shown = [
        {
            "section": section,
            "pictures": {
                text: (read_regular(picture), MEDIA[picture.suffix])
                for text, picture in section.pictures.items()
                if picture.is_file()
            },
            "links": {
                text: target.relative_to(path.parent).as_posix()
                for text, target in section.links.items()
                if target.is_file()
            },
        }
        for section in sections
    ]
    write_text(path, render("reproduction.html", facts=facts, parts=shown))


def markdown_tables(path: Path) -> dict[str, list[list[str]]]:
    """The tables of a report, by the heading that each stands under; nothing without the file."""
    if not path.is_file():
        return {}
    heading, open_table = path.stem, False
    found: dict[str, list[list[str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("|"):
            open_table = False
            continue
        cells = [
            cell.strip().replace("*", "").replace("`", "") for cell in line.strip("| ").split("|")
        ]
        if set("".join(cells)) <= set("-: "):
            continue
        if not open_table and heading in found:
            heading = f"{heading} ({len(found) + 1})"
        found.setdefault(heading, []).append(cells)
        open_table = True
    return found


def pipeline_figure(picture: ByteArray, grid: Grid, erosion: str, seed: int = 0) -> ByteArray:
    """RGB: picture, grid, masks and shuffled pieces, as in the paper's figure of the pipeline."""
    puzzle = cut_puzzle(picture, grid, erosion, seed, piece_px=PANEL_PX)
    assert puzzle.truth is not None
    canvas = make_canvas(picture, grid, (PANEL_PX, PANEL_PX))
    ruled = Image.fromarray(canvas)
    pen = ImageDraw.Draw(ruled)
    height, width = canvas.shape[:2]
    for row in range(1, grid.rows):
        pen.line([(0, row * PANEL_PX), (width, row * PANEL_PX)], fill=LINE, width=2)
    for col in range(1, grid.cols):
        pen.line([(col * PANEL_PX, 0), (col * PANEL_PX, height)], fill=LINE, width=2)
    white = puzzle.pieces.copy()
    white[..., :3] = 255
    panels = {
        "picture": canvas,
        "grid": np.asarray(ruled),
        "masks": board(lay(white, puzzle.truth, grid)),
        "pieces": board(lay(puzzle.pieces, np.arange(grid.num_pieces), grid, spacing_px=6)),
    }
    return tile([caption(panel, text) for text, panel in panels.items()], len(panels))
