"""From a request to recipes: which picture, which split, which seed, which permutation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import IntArray
from puzzleflow.generation.builder import draw_opening, draw_positions
from puzzleflow.generation.erosion import erosion_model, fingerprint
from puzzleflow.generation.recipe import Recipe, RecipeRow, Stranger
from puzzleflow.generation.survey import (
    Surveyed,
    check_foreign_kind,
    is_stranger,
    near_duplicate_groups,
)
from puzzleflow.pictures import list_pictures

SPLIT_NAMES = ("train", "val", "test")


def parse_shares(text: str) -> tuple[float, float, float]:
    """``"70/15/15"`` → shares of train, val and test that sum to 1."""
    numbers = re.split(r"[/,:]", text)
    try:
        shares = [float(number) for number in numbers]
    except ValueError:
        shares = []
    if len(shares) != 3 or not all(0 <= s < 1e9 for s in shares) or sum(shares) <= 0:
        raise InputError(f"splits {text!r}: expected TRAIN/VAL/TEST, for example 70/15/15")
    total = sum(shares)
    return shares[0] / total, shares[1] / total, shares[2] / total


def split_sizes(count: int, shares: tuple[float, float, float]) -> list[int]:
    """Whole numbers that sum to ``count``, each as near to its share as can be."""
    exact = [share * count for share in shares]
    sizes = [int(size + 1e-9) for size in exact]
    remainders = [size - whole for size, whole in zip(exact, sizes, strict=True)]
    for index in sorted(range(3), key=lambda i: (-remainders[i], i))[: count - sum(sizes)]:
        sizes[index] += 1
    return sizes


def assign_splits(
    groups: IntArray, shares: tuple[float, float, float], seed: int
) -> dict[str, IntArray]:
    """Indices of the pictures of every split, in a random order; groups stay whole.

    groups  (M,) pictures with the same number belong together

    Large groups are dealt first, each to a split drawn by the room that is left,
    so that single pictures fill every split to its exact size at the end.
    """
    rng = child_rng(seed, "splits")
    numbers, counts = np.unique(groups, return_counts=True)
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(counts)[:-1])
    order = rng.permutation(len(numbers))
    order = order[np.argsort(-counts[order], kind="stable")]
    room = np.array(split_sizes(len(groups), shares), dtype=np.int64)
    dealt: list[list[int]] = [[], [], []]
    for index in order:
        fits = np.where(room >= counts[index], room, 0)
        if fits.sum() > 0:
            chosen = int(np.searchsorted(np.cumsum(fits), rng.integers(fits.sum()), side="right"))
        else:
            chosen = int(np.argmax(room))
        room[chosen] -= counts[index]
        dealt[chosen].extend(members[index].tolist())
    return {
        name: rng.permutation(np.array(sorted(indices), dtype=np.int64))
        for name, indices in zip(SPLIT_NAMES, dealt, strict=True)
    }


@dataclass(frozen=True)
class Request:
    """What a data set is made of; the same request gives the same files.

    splits       shares of train, val and test, for example "70/15/15"
    limit        use at most so many pictures, drawn with the seed
    per_picture  puzzles per picture: other masks and another permutation each
    compression  "gzip" or "none"
    reference    store the complete pictures too
    recipe_only  store recipes instead of pixels
    conditions   what is amiss with every puzzle, used in full; foreign pieces come from one
                 other picture of the same split
    foreign_kind that picture is of "any" kind, of the "same" or of an "other"
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
    conditions: Conditions = CLOSED
    foreign_kind: str = "any"

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
        if self.conditions.missing >= self.grid.num_pieces:
            raise InputError(f"{self.conditions.missing} of {self.grid} pieces missing: none left")
        if self.conditions.foreign > self.grid.num_pieces:
            raise InputError(f"{self.conditions.foreign} foreign pieces: one picture has fewer")
        check_foreign_kind(self.foreign_kind)

    def record(self) -> dict[str, Any]:
        """JSON values; two equal records mean the same data set from the same pictures."""
        record = asdict(self) | {"grid": str(self.grid)}
        if self.conditions.is_closed:
            del record["conditions"]
        if self.foreign_kind == "any":
            del record["foreign_kind"]
        return record


PRESETS = {
    "gap-3": Request(name="gap-3", grid=Grid(3, 3), piece_px=128, erosion="gap"),
    "gap-5": Request(name="gap-5", grid=Grid(5, 5), piece_px=128, erosion="gap"),
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
    request: Request, surveyed: list[Surveyed], kinds: Mapping[str, str] | None = None
) -> tuple[dict[str, Recipe], IntArray, list[Surveyed]]:
    """Recipes by split (empty splits left out), near-duplicate groups, usable pictures.

    kinds  picture → kind, where the request asks for strangers by kind
    """
    usable = sorted((p for p in surveyed if not p.problem), key=lambda p: p.picture)
    if not usable:
        raise InputError(f"none of {len(surveyed)} pictures can be read")
    groups = near_duplicate_groups([picture.signature for picture in usable])
    recipes: dict[str, Recipe] = {}
    for split, indices in assign_splits(groups, parse_shares(request.splits), request.seed).items():
        if len(indices):
            pictures = [usable[index] for index in indices]
            recipes[split] = make_recipe(request, pictures, groups[indices].tolist(), kinds)
    return recipes, groups, usable


def make_recipe(
    request: Request,
    pictures: Sequence[Surveyed],
    groups: Sequence[int] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Recipe:
    """Puzzles of these pictures, all of the first copy before the second; no place yet.

    groups  pictures of one group are too much alike to be strangers to each other
    kinds   picture → kind, where the request asks for strangers by kind
    """
    kin = range(len(pictures)) if groups is None else groups
    kinds = kinds or {}
    return Recipe(
        grid=request.grid,
        piece_px=request.piece_px,
        erosion=request.erosion,
        fingerprint=fingerprint(erosion_model(request.erosion)),
        seed=request.seed,
        pictures="",
        rows=tuple(
            _opened(request, recipe_row(request, picture, copy), group, pictures, kin, kinds)
            for copy in range(request.per_picture)
            for picture, group in zip(pictures, kin, strict=True)
        ),
        name=request.name,
        conditions=request.conditions,
    )


def recipe_row(request: Request, picture: Surveyed, copy: int = 0) -> RecipeRow:
    """The puzzle number ``copy`` of a picture; masks and truth follow from the request's seed."""
    seed = child_seed(request.seed, "puzzle", picture.picture, copy) >> 1
    position_of = draw_positions(seed, request.grid)
    return RecipeRow(picture.picture, picture.sha256, seed, tuple(position_of.tolist()))


def _opened(
    request: Request,
    row: RecipeRow,
    group: int,
    pictures: Sequence[Surveyed],
    kin: Sequence[int],
    kinds: Mapping[str, str],
) -> RecipeRow:
    """The row under the request's conditions; everything drawn follows from the row's seed."""
    conditions, grid = request.conditions, request.grid
    if conditions.is_closed:
        return row
    drawn = draw_opening(grid.num_pieces, [grid.num_pieces], conditions, row.seed)
    truth = np.array(row.position_of)[drawn.kept]
    from_cell = np.concatenate([truth, np.full(len(drawn.strangers), -1)])[drawn.order]
    stranger = None
    if conditions.foreign:
        own, wanted = kinds.get(row.picture, ""), request.foreign_kind
        others = [
            p
            for p, other in zip(pictures, kin, strict=True)
            if other != group and is_stranger(own, kinds.get(p.picture, ""), wanted)
        ]
        if not others:
            told = "" if wanted == "any" else f" of {wanted} kind"
            raise InputError(
                f"foreign pieces come from another picture{told} of a split, and no such one is "
                f"with {row.picture}"
            )
        picture = others[child_rng(row.seed, "stranger").integers(len(others))]
        seed = child_seed(row.seed, "stranger") >> 1
        cells = draw_positions(seed, grid)[drawn.strangers]
        shown = drawn.order[drawn.order >= len(truth)] - len(truth)  # strangers as they come
        positions = tuple(cells[shown].tolist())
        stranger = Stranger(picture.picture, picture.sha256, seed, positions)
    turns = () if drawn.turns is None else tuple(drawn.turns.tolist())
    return replace(row, position_of=tuple(from_cell.tolist()), turns=turns, stranger=stranger)


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
