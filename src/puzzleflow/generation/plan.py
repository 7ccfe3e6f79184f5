"""From a request to recipes: which picture, which split, which seed, which permutation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import IntArray
from puzzleflow.generation.builder import draw_positions
from puzzleflow.generation.duplicates import near_duplicate_groups
from puzzleflow.generation.erosion import erosion_model, fingerprint
from puzzleflow.generation.recipe import Recipe, RecipeRow
from puzzleflow.generation.splits import assign_splits, parse_shares
from puzzleflow.generation.survey import Surveyed
from puzzleflow.pictures import list_pictures


@dataclass(frozen=True)
class Request:
    """What a data set is made of; the same request gives the same files.

    splits       shares of train, val and test, for example "70/15/15"
    limit        use at most so many pictures, drawn with the seed
    per_picture  puzzles per picture: other masks and another permutation each
    compression  "gzip" or "none"
    reference    store the complete pictures too
    recipe_only  store recipes instead of pixels
    """

    name: str = "gap-3"
    grid: Grid = Grid(3, 3)  # noqa: RUF009
    piece_px: int = 128
    erosion: str = "vae"
    seed: int = 0
    splits: str = "70/15/15"
    limit: int | None = None
    per_picture: int = 1
    compression: str = "gzip"
    reference: bool = False
    recipe_only: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.piece_px <= 4096:
            raise InputError(f"pieces of {self.piece_px} pixels; expected 2 to 4096")
        if self.limit is not None and self.limit < 1:
            raise InputError(f"a limit of {self.limit} pictures; expected at least 1")
        if self.per_picture < 1:
            raise InputError(f"{self.per_picture} puzzles per picture; expected at least 1")
        if self.compression not in ("gzip", "none"):
            raise InputError(f"compression {self.compression!r}; expected gzip or none")
        if self.seed < 0:
            raise InputError(f"seed {self.seed}; expected a whole number from 0")
        parse_shares(self.splits)

    def record(self) -> dict[str, Any]:
        """JSON values; two equal records mean the same data set from the same pictures."""
        return asdict(self) | {"grid": str(self.grid)}


PRESETS = {
    "gap-3": Request(name="gap-3", grid=Grid(3, 3), piece_px=128),
    "gap-5": Request(name="gap-5", grid=Grid(5, 5), piece_px=128),
}


def picture_order(images: Path, request: Request) -> list[str]:
    """Every picture file below ``images``, in the order in which they are drawn."""
    pictures = [path.relative_to(images).as_posix() for path in list_pictures(images)]
    if not pictures:
        raise InputError(f"{images}: no pictures in it")
    if request.limit is None:
        return pictures
    order = child_rng(request.seed, "limit").permutation(len(pictures))
    return [pictures[index] for index in order]


def pictures_digest(images: Path, pictures: list[str]) -> str:
    """Changes when a file is added, removed, renamed, resized."""
    digest = hashlib.sha256()
    for picture in sorted(pictures):
        digest.update(f"{picture}\0{(images / picture).stat().st_size}\0".encode())
    return digest.hexdigest()


def plan_recipes(
    request: Request, surveyed: list[Surveyed]
) -> tuple[dict[str, Recipe], IntArray, list[Surveyed]]:
    """Recipes by split (empty splits left out), near-duplicate groups, usable pictures."""
    usable = sorted((p for p in surveyed if not p.problem), key=lambda p: p.picture)
    if not usable:
        raise InputError(f"none of {len(surveyed)} pictures can be read")
    groups = near_duplicate_groups([picture.signature for picture in usable])
    recipes: dict[str, Recipe] = {}
    for split, indices in assign_splits(groups, parse_shares(request.splits), request.seed).items():
        if len(indices):
            recipes[split] = make_recipe(request, [usable[index] for index in indices])
    return recipes, groups, usable


def make_recipe(request: Request, pictures: Sequence[Surveyed]) -> Recipe:
    """Puzzles of these pictures, all of the first copy before the second; no place yet."""
    return Recipe(
        grid=request.grid,
        piece_px=request.piece_px,
        erosion=request.erosion,
        fingerprint=fingerprint(erosion_model(request.erosion)),
        seed=request.seed,
        pictures="",
        rows=tuple(
            recipe_row(request, picture, copy)
            for copy in range(request.per_picture)
            for picture in pictures
        ),
        name=request.name,
    )


def recipe_row(request: Request, picture: Surveyed, copy: int = 0) -> RecipeRow:
    """The puzzle number ``copy`` of a picture; masks and truth follow from the request's seed."""
    seed = child_seed(request.seed, "puzzle", picture.picture, copy) >> 1
    position_of = draw_positions(seed, request.grid)
    return RecipeRow(picture.picture, picture.sha256, seed, tuple(position_of.tolist()))


def picture_statistics(groups: IntArray, usable: list[Surveyed]) -> dict[str, Any]:
    """Sizes of the pictures and how many resemble another one."""
    shorter = np.array([min(picture.height, picture.width) for picture in usable])
    _, counts = np.unique(groups, return_counts=True)
    return {
        "num_pictures": len(usable),
        "shorter_side_px": {
            "min": int(shorter.min()),
            "median": float(np.median(shorter)),
            "max": int(shorter.max()),
        },
        "near_duplicate_groups": int((counts > 1).sum()),
        "pictures_in_near_duplicate_groups": int(counts[counts > 1].sum()),
    }
