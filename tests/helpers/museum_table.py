"""A conservator's table as it is photographed: fragments, a ruler, a colour card, a label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from photographs import GROUNDS, Conditions, Photograph, compose_photograph
from PIL import Image, ImageDraw

from puzzleflow.core.grid import Grid
from puzzleflow.generation.builder import build_puzzle, draw_positions, mask_seeds
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.samples import load_sample

PATCHES = (  # those of the usual card, row by row
    "#735244", "#c29682", "#627a9d", "#576c43", "#8580b1", "#67bdaa",
    "#d67e2c", "#505ba6", "#c15a63", "#5e3c6c", "#9dbc40", "#e0a32e",
    "#383d96", "#469449", "#af363c", "#e7c71f", "#bb5695", "#0885a1",
    "#f3f3f2", "#c8c8c8", "#a0a0a0", "#7a7a79", "#555555", "#343434",
)  # fmt: skip


def _drawn(size: tuple[int, int], ground: str) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGBA", size, ground)
    return image, ImageDraw.Draw(image)


def ruler() -> Image.Image:
    image, draw = _drawn((236, 30), "#eee278")
    for number, mark in enumerate(range(8, 232, 8)):
        draw.line((mark, 0, mark, 9 if number % 5 else 16), fill="black", width=1)
    return image


def colour_card() -> Image.Image:
    image, draw = _drawn((230, 156), "#1e1e1e")
    for index, colour in enumerate(PATCHES):
        x, y = 38 * (index % 6) + 4, 38 * (index // 6) + 5
        draw.rectangle((x, y, x + 31, y + 31), fill=colour)
    return image


def label() -> Image.Image:
    image, draw = _drawn((150, 70), "#f6f3eb")
    for line, text in enumerate(("Inv. 1234 b", "wall 3, north", "9 fragments")):
        draw.text((10, 8 + 18 * line), text, fill="#14141e")
    return image


THINGS: dict[str, Callable[[], Image.Image]] = {
    "ruler": ruler,
    "colour card": colour_card,
    "label": label,
}


def photographed_table(
    ground: tuple[int, int, int] = GROUNDS["blue felt"],
    *,
    seed: int,
    sample: str = "harvesters",
    side: int = 240,
    grain: float = 0.0,
) -> Photograph:
    """Nine worn fragments of a painting in disorder, and the things in a fourth row.

    side   of the fragments' cells, in pixels
    grain  of a wooden ground, in levels
    """
    grid = Grid(3, 3)
    masks = erosion_model("vae").masks(mask_seeds(seed, grid), side, side)
    puzzle = build_puzzle(load_sample(sample), grid, masks, draw_positions(seed, grid))
    things = np.zeros((len(THINGS), side, side, 4), np.uint8)
    for cell, thing in zip(things, THINGS.values(), strict=True):
        image = np.asarray(thing())
        top, left = (side - image.shape[0]) // 2, (side - image.shape[1]) // 2
        cell[top : top + image.shape[0], left : left + image.shape[1]] = image
    conditions = Conditions(ground=ground, gap_px=24, grain=grain)
    return compose_photograph(
        np.concatenate([puzzle.pieces, things]), conditions, seed=seed, columns=grid.cols
    )
