"""Recipes: data sets that hold how to make every puzzle instead of its pixels.

The pictures stay where they are; their checksums tell whether they are the same ones.
``recipe_file.py`` writes and reads recipes.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, turned_pieces
from puzzleflow.core.types import BoolArray, ByteArray
from puzzleflow.files import read_regular
from puzzleflow.generation.builder import cut_pieces, make_canvas, mask_seeds
from puzzleflow.generation.erosion import ErosionModel, erosion_model, fingerprint, split_shrink
from puzzleflow.pictures import read_picture

_OUTLINES = "outlines:"


@dataclass(frozen=True)
class Stranger:
    """Where the foreign pieces of a puzzle come from: the cells of another one, in order."""

    picture: str
    sha256: str
    seed: int
    positions: tuple[int, ...]


@dataclass(frozen=True)
class RecipeRow:
    """How to make one puzzle.

    picture      path below the picture folder, with forward slashes
    seed         of its masks: mask ``j`` comes from ``child_seed(seed, "mask", j)``
    position_of  (N,) the truth, -1 for a foreign piece
    crc32        of the finished (N, H, W, 4) pieces as 8 hex digits; "" if never rendered
    turns        (N,) quarter turns against the clock that bring each piece upright, or ()
    stranger     where foreign pieces come from
    """

    picture: str
    sha256: str
    seed: int
    position_of: tuple[int, ...]
    crc32: str = ""
    turns: tuple[int, ...] = field(default=(), repr=False)
    stranger: Stranger | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Recipe:
    """How to make the puzzles of one split."""

    grid: Grid
    piece_px: int
    erosion: str
    fingerprint: str
    seed: int
    pictures: str
    rows: tuple[RecipeRow, ...]
    name: str = ""
    conditions: Conditions = field(default=CLOSED, repr=False)

    @property
    def num_pieces(self) -> int:
        """Of every puzzle."""
        return self.conditions.num_pieces(self.grid)

    def renderer(
        self, folder: Path, images: Path | None = None, outlines: Path | None = None
    ) -> Renderer:
        """What renders this recipe, stored in ``folder``.

        ``images`` and ``outlines`` say where they are now, if they have moved.
        """
        root = images if images is not None else folder / self.pictures
        if not os.path.isdir(root):  # noqa: PTH112 - a damaged name is no folder, never an OSError
            raise InputError(
                f"{folder}: its pictures are not at {os.path.normpath(root)}; "
                "say in which folder they are"
            )
        erosion, shrink = split_shrink(self.erosion)
        if erosion.startswith(_OUTLINES):
            bank = outlines or folder / erosion.removeprefix(_OUTLINES)
            erosion = f"{_OUTLINES}{os.path.normpath(bank)}"
        return Renderer(
            self.grid, self.piece_px, erosion + shrink, self.fingerprint, root, self.conditions
        )

    def located(self, renderer: Renderer, folder: Path) -> Recipe:
        """The same recipe for ``folder``: paths to pictures and outlines relative to it."""
        erosion, shrink = split_shrink(renderer.erosion)
        if erosion.startswith(_OUTLINES):
            erosion = _OUTLINES + _relative(Path(erosion.removeprefix(_OUTLINES)), folder)
        pictures = _relative(renderer.images, folder)
        return replace(self, pictures=pictures, erosion=erosion + shrink)


@dataclass(frozen=True)
class Renderer:
    """Makes puzzles from rows; small and picklable, so that workers get a copy."""

    grid: Grid
    piece_px: int
    erosion: str
    fingerprint: str
    images: Path
    conditions: Conditions = CLOSED

    def canvas(self, row: RecipeRow | Stranger) -> ByteArray:
        """(rows*px, cols*px, 3) the complete picture of a puzzle."""
        height, width = self.grid.rows * self.piece_px, self.grid.cols * self.piece_px
        path = self.images / row.picture
        content = read_checked(path, row.sha256)
        try:
            picture = read_picture(content, enough_px=2 * max(height, width))
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from error
        return make_canvas(picture, self.grid, (self.piece_px, self.piece_px))

    def masks(self, rows: Sequence[RecipeRow]) -> BoolArray:
        """(M, N, px, px) the masks of several puzzles by position, drawn together."""
        seeds = [seed for row in rows for seed in mask_seeds(row.seed, self.grid)]
        masks = self._draw(seeds)  # (M*N, px, px)
        return masks.reshape(len(rows), self.grid.num_pieces, self.piece_px, self.piece_px)

    def cut(self, row: RecipeRow, canvas: ByteArray, masks: BoolArray) -> ByteArray:
        """(N, px, px, 4) the shuffled pieces; canvas and masks are those of ``row``."""
        position_of = np.array(row.position_of, dtype=np.int64)
        if self.conditions.is_closed:
            return cut_pieces(canvas, self.grid, masks, position_of)
        belongs = position_of >= 0
        pieces = np.empty((len(position_of), self.piece_px, self.piece_px, 4), np.uint8)
        pieces[belongs] = cut_pieces(canvas, self.grid, masks, position_of[belongs])
        if row.stranger is not None:
            pieces[~belongs] = self._foreign(row.stranger)
        return turned_pieces(pieces, -np.array(row.turns) % 4) if row.turns else pieces

    def _foreign(self, stranger: Stranger) -> ByteArray:
        """(F, px, px, 4) the pieces of another picture."""
        positions = np.array(stranger.positions, dtype=np.int64)
        drawn = self._draw([mask_seeds(stranger.seed, self.grid)[place] for place in positions])
        masks = np.zeros((self.grid.num_pieces, self.piece_px, self.piece_px), dtype=bool)
        masks[positions] = drawn
        return cut_pieces(self.canvas(stranger), self.grid, masks, positions)

    def _draw(self, seeds: Sequence[int]) -> BoolArray:
        try:
            model = _checked_model(self.erosion, self.fingerprint)
            return model.masks(seeds, self.piece_px, self.piece_px)  # (M, px, px)
        except (InputError, ValueError) as error:
            raise FormatError(f"erosion or piece_px: {error}") from error

    def pieces(self, row: RecipeRow) -> ByteArray:
        """(N, px, px, 4) the shuffled pieces of one puzzle."""
        return self.cut(row, self.canvas(row), self.masks([row])[0])

    def puzzle(self, row: RecipeRow, pieces: ByteArray) -> Puzzle:
        """The puzzle of a row with its finished pieces."""
        return Puzzle(
            pieces,
            self.grid,
            truth=np.array(row.position_of, dtype=np.int64),
            puzzle_id=row.picture,
            conditions=self.conditions,
            true_turns=np.array(row.turns, dtype=np.int64) if row.turns else None,
        )


@lru_cache(maxsize=4)
def _checked_model(name: str, expected: str) -> ErosionModel:
    model = erosion_model(name)
    found = fingerprint(model)
    if expected and found != expected:
        raise InputError(
            f"erosion {name!r} draws other masks here (fingerprint {found}) than where the "
            f"recipe was made ({expected}): another version of the generator or other outlines"
        )
    return model


def pieces_crc(pieces: ByteArray) -> str:
    """CRC-32 of (N, H, W, 4) pieces as 8 hex digits."""
    return f"{zlib.crc32(np.ascontiguousarray(pieces).data):08x}"


def read_checked(path: Path, sha256: str) -> bytes:
    """The file, provided that it is the one with this checksum."""
    try:
        content = read_regular(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; the recipe needs it") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise FormatError(f"{path}: not the picture that the recipe was made from (SHA-256)")
    return content


def _relative(images: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(images, folder)).as_posix()
    except ValueError:  # another drive
        return images.resolve().as_posix()
