"""Cases: the same pictures cut in one way, stored as a recipe that any command can open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.intervals import Estimate, bootstrap_mean
from puzzleflow.generation.erosion import erosion_model, fingerprint
from puzzleflow.generation.plan import Request, recipe_row
from puzzleflow.generation.recipe import Recipe, RecipeSource, Renderer, write_recipe
from puzzleflow.generation.survey import Surveyed

NUM_WEIGHED = 32  # puzzles whose masks tell how much of a cell is kept


@dataclass(frozen=True, eq=False)
class Case:
    """Pictures below ``folder`` and how they are cut.

    A puzzle's masks and truth follow from seed, picture and copy alone: the cases of
    a sweep over the erosion have the same masks but for what the sweep changes.
    """

    name: str
    folder: Path
    pictures: tuple[Surveyed, ...]
    grid: Grid
    erosion: str
    piece_px: int
    seed: int
    copies: int = 1

    @property
    def content_px(self) -> float:
        """Pixels of the pictures behind one side of a cell, median; a cell may be enlarged."""
        rows, cols = self.grid.shape
        return float(np.median([min(p.height / rows, p.width / cols) for p in self.pictures]))

    def open(self, folder: Path) -> RecipeSource:
        """The puzzles, whose recipe is written to ``folder``."""
        request = Request(
            name=self.name,
            grid=self.grid,
            piece_px=self.piece_px,
            erosion=self.erosion,
            seed=self.seed,
        )
        recipe = Recipe(
            grid=self.grid,
            piece_px=self.piece_px,
            erosion=self.erosion,
            fingerprint=fingerprint(erosion_model(self.erosion)),
            seed=self.seed,
            pictures="",
            rows=tuple(
                recipe_row(request, picture, copy)
                for copy in range(self.copies)
                for picture in self.pictures
            ),
            name=self.name,
        )
        renderer = Renderer(self.grid, self.piece_px, self.erosion, recipe.fingerprint, self.folder)
        write_recipe(folder, recipe.located(renderer, folder))
        return RecipeSource(folder)


def kept_share(source: RecipeSource) -> Estimate:
    """Percent of a cell that its masks keep, from the first puzzles."""
    renderer = source.recipe.renderer(source.path)
    masks = renderer.masks(source.recipe.rows[:NUM_WEIGHED])  # (M, N, px, px)
    return bootstrap_mean(100 * masks.mean(axis=(2, 3)).ravel(), seed=source.recipe.seed)
