"""Recipes: data sets that hold how to make every puzzle instead of its pixels.

A recipe is a folder with ``recipe.json`` (grid, piece size, erosion, seed, where the
pictures are) and ``puzzles.csv`` (one line per puzzle: picture, SHA-256 of its file,
seed of its masks, ``position_of`` of its pieces, CRC-32 of its finished RGBA pieces).
The pictures stay where they are; their checksums tell whether they are the same ones.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import BoolArray, ByteArray, IntArray
from puzzleflow.files import read_json, write_json, write_text
from puzzleflow.generation.builder import cut_pieces, make_canvas, mask_seeds
from puzzleflow.generation.erosion import ErosionModel, erosion_model, fingerprint, split_shrink
from puzzleflow.pictures import read_picture
from puzzleflow.storage.source import PuzzleSource

FORMAT = "puzzleflow-recipe"
VERSION = 1
_OUTLINES = "outlines:"
COLUMNS = ("picture", "sha256", "seed", "position_of", "crc32")


@dataclass(frozen=True)
class RecipeRow:
    """How to make one puzzle.

    picture      path below the picture folder, with forward slashes
    seed         of its masks: mask ``j`` comes from ``child_seed(seed, "mask", j)``
    position_of  (N,) the truth
    crc32        of the finished (N, H, W, 4) pieces as 8 hex digits; "" if never rendered
    """

    picture: str
    sha256: str
    seed: int
    position_of: tuple[int, ...]
    crc32: str = ""


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
        return Renderer(self.grid, self.piece_px, erosion + shrink, self.fingerprint, root)

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

    def canvas(self, row: RecipeRow) -> ByteArray:
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
        try:
            model = _checked_model(self.erosion, self.fingerprint)
            masks = model.masks(seeds, self.piece_px, self.piece_px)  # (M*N, px, px)
        except (InputError, ValueError) as error:
            raise FormatError(f"erosion or piece_px: {error}") from error
        return masks.reshape(len(rows), self.grid.num_pieces, self.piece_px, self.piece_px)

    def cut(self, row: RecipeRow, canvas: ByteArray, masks: BoolArray) -> ByteArray:
        """(N, px, px, 4) the shuffled pieces; canvas and masks are those of ``row``."""
        return cut_pieces(canvas, self.grid, masks, np.array(row.position_of, dtype=np.int64))

    def pieces(self, row: RecipeRow) -> ByteArray:
        """(N, px, px, 4) the shuffled pieces of one puzzle."""
        return self.cut(row, self.canvas(row), self.masks([row])[0])


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
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; the recipe needs it") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise FormatError(f"{path}: not the picture that the recipe was made from (SHA-256)")
    return content


def write_recipe(folder: Path, recipe: Recipe) -> None:
    """``recipe.json`` and ``puzzles.csv`` in ``folder``; the JSON, which counts, comes last."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in recipe.rows:
        positions = " ".join(map(str, row.position_of))
        writer.writerow((row.picture, row.sha256, row.seed, positions, row.crc32))
    write_text(folder / "puzzles.csv", text.getvalue())
    head = {
        "format": FORMAT,
        "version": VERSION,
        "name": recipe.name,
        "num_puzzles": len(recipe.rows),
        "grid": str(recipe.grid),
        "piece_px": recipe.piece_px,
        "erosion": recipe.erosion,
        "erosion_fingerprint": recipe.fingerprint,
        "seed": recipe.seed,
        "pictures": recipe.pictures,
    }
    write_json(folder / "recipe.json", head)


def read_recipe(folder: Path) -> Recipe:
    """The recipe in ``folder``, checked."""
    path = folder / "recipe.json"
    head = read_json(path)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise FormatError(f"{path}: expected a {FORMAT}")
    if head.get("version") != VERSION:
        raise FormatError(f"{path}: version {head.get('version')!r}, expected {VERSION}")
    try:
        grid = Grid.parse(_field(head, "grid", str, path))
    except NotAGrid as error:
        raise FormatError(f"{path}: grid: {str(error)[:80]}") from error
    rows = tuple(_read_rows(folder / "puzzles.csv", grid))
    if len(rows) != _field(head, "num_puzzles", int, path):
        expected = str(head["num_puzzles"])[:20]
        raise FormatError(f"{folder / 'puzzles.csv'}: {len(rows)} puzzles, {expected} expected")
    piece_px = _field(head, "piece_px", int, path)
    if not 1 <= piece_px <= 8192:
        raise FormatError(f"{path}: piece_px {str(piece_px)[:20]} is no sensible piece size")
    return Recipe(
        grid=grid,
        piece_px=piece_px,
        erosion=_field(head, "erosion", str, path),
        fingerprint=_field(head, "erosion_fingerprint", str, path),
        seed=_field(head, "seed", int, path),
        pictures=_field(head, "pictures", str, path),
        rows=rows,
        name=str(head.get("name", "")),
    )


def _field(head: dict[str, Any], key: str, kind: type, path: Path) -> Any:
    value = head.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise FormatError(f"{path}: {key} should be {kind.__name__}, is {str(value)[:60]!r}")
    return value


def _read_rows(path: Path, grid: Grid) -> Iterable[RecipeRow]:
    try:
        lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path}: cannot read the puzzles of the recipe ({error})") from error
    if not lines or tuple(lines[0]) != COLUMNS:
        raise FormatError(f"{path}: expected the columns {', '.join(COLUMNS)}")
    for line, fields in enumerate(lines[1:], start=2):
        with naming(f"{path}, line {line}"):
            yield _read_row(fields, grid)


def _read_row(fields: list[str], grid: Grid) -> RecipeRow:
    if len(fields) != len(COLUMNS):
        raise FormatError(f"expected {len(COLUMNS)} fields")
    picture, sha256, seed, positions, crc32 = fields
    inside = PurePosixPath(picture)
    if not picture or "\0" in picture:
        raise FormatError(f"picture: {picture[:60]!r} is no file name")
    if inside.is_absolute() or ".." in inside.parts:
        raise FormatError(f"picture: {picture!r} lies outside the picture folder")
    try:
        position_of = as_permutation([int(p) for p in positions.split()], grid.num_pieces)
        return RecipeRow(picture, sha256, int(seed), tuple(position_of.tolist()), crc32)
    except (ValueError, NotAPermutation) as error:
        raise FormatError(f"seed or position_of: {error}") from error


def _relative(images: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(images, folder)).as_posix()
    except ValueError:  # another drive
        return images.resolve().as_posix()


class RecipeSource(PuzzleSource):
    """Puzzles that are rendered when they are read, pixel for pixel as in the HDF5 files."""

    kind = "recipe"
    looks_like = "a recipe.json"

    def __init__(
        self,
        path: str | Path,
        *,
        split: str | None = None,
        grid: Grid | None = None,
        images: str | Path | None = None,
    ) -> None:
        super().__init__(path, split=split, grid=grid)
        if self.path.name == "recipe.json":
            self.path = self.path.parent
        self.recipe = read_recipe(self.path)
        self._images = None if images is None else Path(images)

    @classmethod
    def recognise(cls, path: Path) -> bool:
        return path.name == "recipe.json" or (path / "recipe.json").is_file()

    @property
    def grid(self) -> Grid:
        return self.recipe.grid

    @property
    def has_truth(self) -> bool:
        return True

    def truths(self) -> IntArray:
        rows = [row.position_of for row in self.recipe.rows]
        return np.array(rows, dtype=np.int64).reshape(len(rows), self.grid.num_pieces)  # (M, N)

    def __len__(self) -> int:
        return len(self.recipe.rows)

    def read(self, index: int) -> Puzzle:
        row = self.recipe.rows[index]
        with naming(self.path / "recipe.json"):
            pieces = self.recipe.renderer(self.path, self._images).pieces(row)
        truth = np.array(row.position_of, dtype=np.int64)
        return Puzzle(pieces, self.grid, truth=truth, puzzle_id=row.picture)

    def puzzle_id(self, index: int) -> str:
        return self.recipe.rows[index].picture

    def describe(self) -> dict[str, Any]:
        recipe = self.recipe
        return {
            "erosion": recipe.erosion,
            "piece_px": recipe.piece_px,
            "seed": recipe.seed,
            "pictures": recipe.pictures,
        }

    def files(self) -> list[Path]:
        return [self.path / "recipe.json", self.path / "puzzles.csv"]
