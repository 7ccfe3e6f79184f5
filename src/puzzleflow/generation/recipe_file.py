"""Recipes as files: how to make the puzzles of a split, as JSON and CSV, and as a source.

``recipe.json`` has grid, piece size, erosion, seed and where the pictures are;
``puzzles.csv`` one line per puzzle: picture, SHA-256 of its file, seed of its masks,
``position_of`` of its pieces, CRC-32 of its finished RGBA pieces. Recipes of the open world
also have ``conditions`` in ``recipe.json``, and columns for the turns of the pieces and for
the picture, masks and cells of foreign ones, whose ``position_of`` is -1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from puzzleflow.core.assignment import as_permutation, as_placement, as_turns
from puzzleflow.core.ceiling import check_puzzle, check_time, reading
from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import FormatError, NotAGrid, NotAPermutation, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.records import from_json
from puzzleflow.core.types import IntArray
from puzzleflow.files import format_table, read_json, read_table, write_json, write_text
from puzzleflow.generation.recipe import Recipe, RecipeRow, Stranger, pieces_crc
from puzzleflow.storage.source import PuzzleSource

FORMAT = "puzzleflow-recipe"
VERSION = 1
COLUMNS = ("picture", "sha256", "seed", "position_of", "crc32")
OPEN_COLUMNS = (
    *COLUMNS, "turns", "stranger", "stranger_sha256", "stranger_seed", "stranger_positions",
)  # fmt: skip


def write_recipe(folder: Path, recipe: Recipe) -> None:
    """``recipe.json`` and ``puzzles.csv`` in ``folder``; the JSON, which counts, comes last."""
    is_closed = recipe.conditions.is_closed
    lines: list[tuple[object, ...]] = [COLUMNS if is_closed else OPEN_COLUMNS]
    for row in recipe.rows:
        line = (row.picture, row.sha256, row.seed, _numbers(row.position_of), row.crc32)
        lines.append(line if is_closed else (*line, *_open_fields(row)))
    write_text(folder / "puzzles.csv", format_table(lines))
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
    if not is_closed:
        head["conditions"] = asdict(recipe.conditions)
    write_json(folder / "recipe.json", head)


def _open_fields(row: RecipeRow) -> tuple[str, str, str, str, str]:
    told = row.stranger
    if told is None:
        return _numbers(row.turns), "", "", "", ""
    return _numbers(row.turns), told.picture, told.sha256, str(told.seed), _numbers(told.positions)


def _numbers(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def read_recipe(folder: Path) -> Recipe:
    """The recipe in ``folder``, checked."""
    with reading(folder):
        return _read_recipe(folder)


def _read_recipe(folder: Path) -> Recipe:
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
    conditions = CLOSED
    if "conditions" in head:
        with naming(path):
            conditions = from_json(Conditions, head["conditions"])
            conditions.check(conditions.num_pieces(grid), grid)
    rows = tuple(_read_rows(folder / "puzzles.csv", grid, conditions))
    if len(rows) != _field(head, "num_puzzles", int, path):
        expected = str(head["num_puzzles"])[:20]
        raise FormatError(f"{folder / 'puzzles.csv'}: {len(rows)} puzzles, {expected} expected")
    piece_px = _field(head, "piece_px", int, path)
    if not 1 <= piece_px <= 8192:
        raise FormatError(f"{path}: piece_px {str(piece_px)[:20]} is no sensible piece size")
    with naming(path):
        check_puzzle(conditions.num_pieces(grid), piece_px, piece_px)
    return Recipe(
        grid=grid,
        piece_px=piece_px,
        erosion=_field(head, "erosion", str, path),
        fingerprint=_field(head, "erosion_fingerprint", str, path),
        seed=_field(head, "seed", int, path),
        pictures=_field(head, "pictures", str, path),
        rows=rows,
        name=str(head.get("name", "")),
        conditions=conditions,
    )


def _field(head: dict[str, Any], key: str, kind: type, path: Path) -> Any:
    value = head.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise FormatError(f"{path}: {key} should be {kind.__name__}, is {str(value)[:60]!r}")
    return value


def _read_rows(path: Path, grid: Grid, conditions: Conditions) -> Iterable[RecipeRow]:
    lines = read_table(path)
    columns = COLUMNS if conditions.is_closed else OPEN_COLUMNS
    if not lines or tuple(lines[0]) != columns:
        raise FormatError(f"{path}: expected the columns {', '.join(columns)}")
    for number, fields in enumerate(lines[1:]):
        check_time()
        with naming(f"{path}, puzzle {number}"):
            if len(fields) != len(columns):
                raise FormatError(f"expected {len(columns)} fields")
            yield _read_row(fields, grid, conditions)


def _read_row(fields: list[str], grid: Grid, conditions: Conditions) -> RecipeRow:
    picture, sha256, seed, positions, crc32, *more = fields
    _check_picture(picture)
    try:
        if conditions.is_complete:
            position_of = as_permutation(_whole(positions), grid.num_pieces)
        else:
            num_pieces = conditions.num_pieces(grid)
            position_of = as_placement(_whole(positions), num_pieces, grid.num_pieces)
        row = RecipeRow(picture, sha256, int(seed), tuple(position_of.tolist()), crc32)
    except (ValueError, NotAPermutation) as error:
        raise FormatError(f"seed or position_of: {error}") from error
    return replace(row, **_read_open(more, row, grid, conditions)) if more else row


def _read_open(
    fields: list[str], row: RecipeRow, grid: Grid, conditions: Conditions
) -> dict[str, Any]:
    """Turns and stranger of a row, from the last columns of an open recipe."""
    turns, picture, sha256, seed, positions = fields
    if row.position_of.count(-1) != conditions.foreign:
        raise FormatError(f"position_of: expected {conditions.foreign} foreign pieces (-1)")
    found: dict[str, Any] = {}
    try:
        if conditions.turned:
            found["turns"] = tuple(as_turns(_whole(turns), len(row.position_of)).tolist())
        if conditions.foreign:
            _check_picture(picture)
            cells = as_placement(_whole(positions), conditions.foreign, grid.num_pieces)
            if cells.min() < 0:
                raise FormatError("stranger_positions: -1 is no cell")
            found["stranger"] = Stranger(picture, sha256, int(seed), tuple(cells.tolist()))
    except (ValueError, NotAPermutation) as error:
        raise FormatError(f"turns, stranger_seed or stranger_positions: {error}") from error
    return found


def _check_picture(picture: str) -> None:
    inside = PurePosixPath(picture)
    if not picture or "\0" in picture:
        raise FormatError(f"picture: {picture[:60]!r} is no file name")
    if inside.is_absolute() or ".." in inside.parts:
        raise FormatError(f"picture: {picture!r} lies outside the picture folder")


def _whole(text: str) -> list[int]:
    return [int(number) for number in text.split()]


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

    @property
    def conditions(self) -> Conditions:
        return self.recipe.conditions

    def truths(self) -> IntArray:
        return self._rows([row.position_of for row in self.recipe.rows])

    def turns(self) -> IntArray | None:
        if not self.conditions.turned:
            return None
        return self._rows([row.turns for row in self.recipe.rows])

    def _rows(self, rows: list[tuple[int, ...]]) -> IntArray:
        return np.array(rows, dtype=np.int64).reshape(len(rows), self.recipe.num_pieces)  # (M, N)

    def __len__(self) -> int:
        return len(self.recipe.rows)

    def read(self, index: int) -> Puzzle:
        row = self.recipe.rows[index]
        with naming(self.path / "recipe.json"), reading(f"{self.path}, puzzle {index}"):
            renderer = self.recipe.renderer(self.path, self._images)
            pieces = renderer.pieces(row)
        if row.crc32 not in ("", found := pieces_crc(pieces)):
            raise FormatError(
                f"{self.path / 'puzzles.csv'}: puzzle {index} ({row.picture}) comes out otherwise "
                f"than when the recipe was made (CRC-32 {found}, not {row.crc32[:20]})"
            )
        return renderer.puzzle(row, pieces)

    def puzzle_id(self, index: int) -> str:
        return self.recipe.rows[index].picture

    def describe(self) -> dict[str, Any]:
        recipe = self.recipe
        return {
            "erosion": recipe.erosion,
            "piece_px": recipe.piece_px,
            "seed": recipe.seed,
            "pictures": recipe.pictures,
        } | ({} if recipe.conditions.is_closed else {"conditions": asdict(recipe.conditions)})

    def files(self) -> list[Path]:
        return [self.path / "recipe.json", self.path / "puzzles.csv"]
