"""The layout of one puzzle as JSON: where every piece lies and who says so.

::

    {"schema": "puzzleflow/layout", "version": 1,
     "puzzle_id": "…", "solver": "greedy",
     "grid": {"rows": 3, "cols": 3},
     "pieces": [{"name": "a.png", "row": 0, "col": 2, "confidence": 0.9, "pinned": false}, …]}

Layouts of the open world have version 2. ``grid`` is the grid that was laid; there are
``grids``, a list of grids with their ``probability``; each piece has a ``turn``, the quarter
turns against the clock that bring it upright (null where pieces lie upright), and ``aside``,
the probability that it belongs nowhere; ``row`` and ``col`` are null for a piece left aside.

``solver`` is null where a person or a data set knows the arrangement. Pieces
are listed in the order of the puzzle. In a layout that is still being made,
``row`` and ``col`` of a piece may both be null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.assignment import as_permutation, as_placement
from puzzleflow.core.canvas import UNPLACED
from puzzleflow.core.errors import FormatError, NotAGrid, NotAPermutation, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.open_facts import GridShare, OpenFacts
from puzzleflow.core.puzzle import Layout, Puzzle, Solution
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.files import read_json, write_json

SCHEMA = "puzzleflow/layout"
VERSION = 1
OPEN_VERSION = 2


@dataclass(frozen=True, eq=False)
class SavedLayout:
    """An arrangement with names.

    position_of  (N,) int64; -1 for a piece that lies nowhere yet
    names        one per piece
    confidence   (N,) in [0, 1], NaN where unknown, or None
    pinned       pieces that a person fixed
    solver       None where the arrangement is known and not computed
    open         what is told of a puzzle that is not closed: cells may stay empty and pieces
                 aside
    """

    position_of: IntArray
    grid: Grid
    names: tuple[str, ...]
    confidence: FloatArray | None = None
    pinned: frozenset[int] = frozenset()
    solver: str | None = None
    puzzle_id: str = ""
    open: OpenFacts | None = None

    def __post_init__(self) -> None:
        position_of = np.asarray(self.position_of)
        if self.open is None and len(position_of) != self.grid.num_pieces:
            raise NotAGrid(f"{len(position_of)} pieces do not fill a {self.grid} grid")
        if len(self.names) != len(position_of):
            raise FormatError(f"{len(self.names)} names for {len(position_of)} pieces")
        if self.open is not None:
            self.open.check(len(position_of))
            placed = as_placement(position_of, len(position_of), self.grid.num_pieces)
            object.__setattr__(self, "position_of", placed)
            return
        placed = position_of[position_of != UNPLACED]
        free = np.setdiff1d(np.arange(len(position_of)), placed)
        completed = position_of.copy()
        completed[position_of == UNPLACED] = free[: len(position_of) - len(placed)]
        as_permutation(completed, len(position_of))
        object.__setattr__(self, "position_of", position_of.astype(np.int64))

    @property
    def complete(self) -> bool:
        """Whether every piece has its position, or is said to have none."""
        return self.open is not None or bool((self.position_of != UNPLACED).all())

    def reordered(self, order: Sequence[int]) -> SavedLayout:
        """The same layout with its pieces in another order."""
        new_of = {old: new for new, old in enumerate(order)}
        return replace(
            self,
            position_of=self.position_of[list(order)],
            names=tuple(self.names[piece] for piece in order),
            confidence=None if self.confidence is None else self.confidence[list(order)],
            pinned=frozenset(new_of[piece] for piece in self.pinned),
            open=None if self.open is None else self.open.reordered(order),
        )

    @property
    def whole(self) -> Layout:
        """The layout with grid and turns, which of an unfinished one leaves pieces aside."""
        if self.open is not None:
            return self.open.layout(tuple(self.position_of.tolist()))
        return Layout(self.position_of, grid=self.grid)

    @classmethod
    def of(
        cls, puzzle: Puzzle, solution: Solution, pinned: frozenset[int] = frozenset()
    ) -> SavedLayout:
        """The layout of ``solution`` with the names of ``puzzle``."""
        return cls(
            solution.position_of,
            solution.grid or puzzle.grid,
            puzzle.names or default_names(puzzle.num_pieces),
            solution.confidence,
            pinned,
            solution.solver,
            puzzle.puzzle_id,
            None if puzzle.is_closed else OpenFacts.of(solution),
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
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "puzzle_id": layout.puzzle_id,
        "solver": layout.solver,
        "grid": {"rows": layout.grid.rows, "cols": layout.grid.cols},
    }
    if (told := layout.open) is not None:
        content["version"] = OPEN_VERSION
        content["grids"] = [
            {"rows": grid.rows, "cols": grid.cols, "probability": share.probability}
            for share in told.grids
            for grid in [Grid.parse(share.grid)]
        ]
        for piece, entry in enumerate(pieces):
            entry["turn"] = None if told.turns is None else told.turns[piece]
            entry["aside"] = None if told.aside is None else told.aside[piece]
    write_json(path, content | {"pieces": pieces})


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
    if content.get("version") not in (VERSION, OPEN_VERSION):
        raise FormatError(
            f"layout version {content.get('version')!r}, expected {VERSION} or {OPEN_VERSION}"
        )
    grid = _grid(_typed(content, "grid", dict))
    pieces = _typed(content, "pieces", list)
    is_open = content["version"] == OPEN_VERSION
    if not is_open and len(pieces) != grid.num_pieces:
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
        _open_facts(content, pieces, grid) if is_open else None,
    )


def _open_facts(content: dict[str, Any], pieces: list[dict[str, Any]], grid: Grid) -> OpenFacts:
    """What version 2 adds; a column counts where every piece has it."""
    shares = content.get("grids") or []
    if not isinstance(shares, list) or not all(isinstance(share, dict) for share in shares):
        raise FormatError("expected 'grids' to be a list of objects")
    columns: dict[str, tuple[Any, ...] | None] = {}
    for key, kind in (("turn", int), ("aside", float)):
        told = [entry for entry in pieces if entry.get(key) is not None]
        whole = told and len(told) == len(pieces)
        columns[key] = tuple(_typed(entry, key, kind) for entry in told) if whole else None
    return OpenFacts(
        str(grid),
        columns["turn"],
        columns["aside"],
        tuple(GridShare(str(_grid(s)), _typed(s, "probability", float)) for s in shares),
    )


def _grid(shape: dict[str, Any]) -> Grid:
    return Grid(_typed(shape, "rows", int), _typed(shape, "cols", int))


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
