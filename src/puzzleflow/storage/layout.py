"""The layout of one puzzle as JSON: where every piece lies and who says so.

::

    {"schema": "puzzleflow/layout", "version": 1,
     "puzzle_id": "…", "solver": "greedy",
     "grid": {"rows": 3, "cols": 3},
     "pieces": [{"name": "a.png", "row": 0, "col": 2, "confidence": 0.9, "pinned": false}, …]}

``solver`` is null where a person or a data set knows the arrangement. Pieces
are listed in the order of the puzzle. In a layout that is still being made,
``row`` and ``col`` of a piece may both be null.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.canvas import UNPLACED
from puzzleflow.core.errors import FormatError, NotAGrid, NotAPermutation, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.files import read_json, write_json

SCHEMA = "puzzleflow/layout"
VERSION = 1


@dataclass(frozen=True, eq=False)
class SavedLayout:
    """An arrangement with names.

    position_of  (N,) int64; -1 for a piece that lies nowhere yet
    names        one per piece
    confidence   (N,) in [0, 1], NaN where unknown, or None
    pinned       pieces that a person fixed
    solver       None where the arrangement is known and not computed
    """

    position_of: IntArray
    grid: Grid
    names: tuple[str, ...]
    confidence: FloatArray | None = None
    pinned: frozenset[int] = frozenset()
    solver: str | None = None
    puzzle_id: str = ""

    def __post_init__(self) -> None:
        position_of = np.asarray(self.position_of)
        if len(position_of) != self.grid.num_pieces:
            raise NotAGrid(f"{len(position_of)} pieces do not fill a {self.grid} grid")
        if len(self.names) != len(position_of):
            raise FormatError(f"{len(self.names)} names for {len(position_of)} pieces")
        placed = position_of[position_of != UNPLACED]
        free = np.setdiff1d(np.arange(len(position_of)), placed)
        completed = position_of.copy()
        completed[position_of == UNPLACED] = free[: len(position_of) - len(placed)]
        as_permutation(completed, len(position_of))
        object.__setattr__(self, "position_of", position_of.astype(np.int64))

    @property
    def complete(self) -> bool:
        """Whether every piece has its position."""
        return bool((self.position_of != UNPLACED).all())

    @classmethod
    def of(
        cls, puzzle: Puzzle, solution: Solution, pinned: frozenset[int] = frozenset()
    ) -> SavedLayout:
        """The layout of ``solution`` with the names of ``puzzle``."""
        return cls(
            solution.position_of,
            puzzle.grid,
            puzzle.names or default_names(puzzle.num_pieces),
            solution.confidence,
            pinned,
            solution.solver,
            puzzle.puzzle_id,
        )


def default_names(num_pieces: int) -> tuple[str, ...]:
    """``piece_00.png`` …, so that file order is piece order."""
    width = max(2, len(str(num_pieces - 1)))
    return tuple(f"piece_{piece:0{width}d}.png" for piece in range(num_pieces))


def write_layout(path: str | Path, layout: SavedLayout) -> None:
    """Write the layout as JSON."""
    confidence = layout.confidence
    pieces: list[dict[str, Any]] = []
    for piece, name in enumerate(layout.names):
        position = int(layout.position_of[piece])
        row, col = (None, None) if position == UNPLACED else layout.grid.cell(position)
        sure = math.nan if confidence is None else float(confidence[piece])
        pieces.append(
            {
                "name": name,
                "row": row,
                "col": col,
                "confidence": None if math.isnan(sure) else sure,
                "pinned": piece in layout.pinned,
            }
        )
    write_json(
        path,
        {
            "schema": SCHEMA,
            "version": VERSION,
            "puzzle_id": layout.puzzle_id,
            "solver": layout.solver,
            "grid": {"rows": layout.grid.rows, "cols": layout.grid.cols},
            "pieces": pieces,
        },
    )


def read_layout(path: str | Path, *, partial: bool = False) -> SavedLayout:
    """Read a layout; one with unplaced pieces only if ``partial``."""
    path = Path(path)
    content = read_json(path)
    with naming(path):
        layout = _parse(content)
    if not partial and not layout.complete:
        piece = int(np.argmax(layout.position_of == UNPLACED))
        raise NotAPermutation(f"{path}: piece {layout.names[piece]!r} has no position")
    return layout


def _parse(content: Any) -> SavedLayout:
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise FormatError(f'expected a layout, a JSON object with "schema": "{SCHEMA}"')
    if content.get("version") != VERSION:
        raise FormatError(f"layout version {content.get('version')!r}, expected {VERSION}")
    shape = _typed(content, "grid", dict)
    grid = Grid(_typed(shape, "rows", int), _typed(shape, "cols", int))
    pieces = _typed(content, "pieces", list)
    if len(pieces) != grid.num_pieces:
        raise NotAGrid(f"{len(pieces)} pieces do not fill {str(grid)[:40]}")
    position_of = np.full(len(pieces), UNPLACED, dtype=np.int64)
    confidence = np.full(len(pieces), np.nan)
    names: list[str] = []
    pinned: set[int] = set()
    for piece, entry in enumerate(pieces):
        if not isinstance(entry, dict):
            raise FormatError(f"piece {piece} is no JSON object")
        names.append(_typed(entry, "name", str))
        position_of[piece] = _position(entry, grid)
        if entry.get("confidence") is not None:
            confidence[piece] = _typed(entry, "confidence", float)
        if entry.get("pinned", False) is True:
            pinned.add(piece)
    solver = content.get("solver")
    return SavedLayout(
        position_of,
        grid,
        tuple(names),
        None if np.isnan(confidence).all() else confidence,
        frozenset(pinned),
        None if solver is None else _typed(content, "solver", str),
        str(content.get("puzzle_id") or ""),
    )


def _position(entry: dict[str, Any], grid: Grid) -> int:
    if entry.get("row") is None and entry.get("col") is None:
        return UNPLACED
    row, col = _typed(entry, "row", int), _typed(entry, "col", int)
    if not (0 <= row < grid.rows and 0 <= col < grid.cols):
        raise NotAPermutation(f"row {row}, column {col} lies outside a {grid} grid")
    return grid.position(row, col)


def _typed(entry: dict[str, Any], key: str, kind: type) -> Any:
    value = entry.get(key)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 1e15 else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise FormatError(f"expected {key!r} to be {_NAMES[kind]}, got {str(value)[:40]!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise FormatError(f"{key!r} must be finite")
    return value


_NAMES = {int: "a whole number", float: "a number", str: "text", dict: "an object", list: "a list"}
