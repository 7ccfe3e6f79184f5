"""The solutions of a set of puzzles as JSON lines, which is also the journal of solving it.

::

    {"journal": "solutions", "version": 2, "heading": {"solver": "greedy", "seed": 0, …}}
    {"index": 0, "id": "test/0", "grid": "3x3", "layout": [4, 0, …], "confidence": [0.9, …],
     "energy": 3.25, "alternatives": [{"layout": […], "energy": 3.25, "probability": 0.8}]}

The first line says how the others came about; files made by hand may lack it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.assignment import as_permutation, as_placement
from puzzleflow.core.ceiling import check_time, reading
from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.open_facts import OpenFacts
from puzzleflow.core.puzzle import Layout, Puzzle, Solution
from puzzleflow.core.records import RARELY, from_json
from puzzleflow.core.types import IntArray
from puzzleflow.files import read_regular
from puzzleflow.journal import VERSION

KIND = "solutions"
SOLUTIONS = "solutions.jsonl"
_DIGITS = 6


@dataclass(frozen=True)
class Alternative:
    """One whole layout among several."""

    layout: tuple[int, ...]
    energy: float | None = None
    probability: float | None = None
    open: OpenFacts | None = field(default=None, metadata=RARELY)


@dataclass(frozen=True, kw_only=True)
class Solved:
    """One line: the solution of one puzzle of a set; what the solver does not say is None.

    index   which puzzle of the set, or None where the line only names it
    grid    on which the layout lies
    layout  the position of every piece, row-major from 0; -1 leaves one aside
    open    what is said of grid, turns and pieces aside of puzzles that are not closed
    """

    index: int | None = None
    id: str = ""
    grid: str
    layout: tuple[int, ...]
    confidence: tuple[float | None, ...] | None = None
    energy: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    open: OpenFacts | None = field(default=None, metadata=RARELY)

    def __post_init__(self) -> None:
        if self.index is not None and self.index < 0:
            raise FormatError(f"index {self.index}: expected a whole number from 0")
        try:
            cells = Grid.parse(self.grid).num_pieces
            if self.open is None:
                as_permutation(self.layout, cells)
            else:
                self.open.check(len(self.layout))
                as_placement(self.layout, len(self.layout), cells)
        except InputError as error:
            raise FormatError(str(error)) from error

    @classmethod
    def of(cls, index: int, puzzle: Puzzle, solution: Solution) -> Self:
        """The line of one puzzle; nothing in it depends on how long it took."""
        sure = solution.confidence
        return cls(
            index=index,
            id=puzzle.puzzle_id,
            grid=str(solution.grid or puzzle.grid),
            layout=tuple(solution.position_of.tolist()),
            confidence=None if sure is None else tuple(map(_round, sure.tolist())),
            energy=_round(solution.energy),
            alternatives=tuple(
                Alternative(
                    tuple(layout.position_of.tolist()),
                    _round(layout.energy),
                    _round(layout.probability),
                    None if layout.grid is None else OpenFacts(str(layout.grid), _turns(layout)),
                )
                for layout in solution.alternatives
            ),
            open=OpenFacts.of(solution),
        )

    @property
    def sure(self) -> tuple[float, ...] | None:
        """The confidence where every piece has one."""
        told = [value for value in self.confidence or () if value is not None]
        return tuple(told) if told and len(told) == len(self.layout) else None

    @property
    def whole(self) -> Layout:
        """The layout with its grid and turns as far as they are told."""
        if self.open is None:
            return Layout(self.position_of)
        return self.open.layout(self.layout)

    @property
    def position_of(self) -> IntArray:
        return np.array(self.layout, dtype=np.int64)


def read_solutions(path: str | Path) -> tuple[dict[str, Any], list[Solved]]:
    """What the heading says, nothing where there is none, and every solution of a file.

    A last line that a kill has torn is left out.
    """
    path = Path(path)
    try:
        lines = read_regular(path, times=4).split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    heading: dict[str, Any] = {}
    solved = []
    with reading(path):
        for number, line in enumerate(lines, start=1):
            check_time()
            with naming(f"{path}, line {number}"):
                entry = _parsed(line, torn=number == len(lines))
                if number == 1 and isinstance(entry, dict) and "journal" in entry:
                    if (entry["journal"], entry.get("version")) != (KIND, VERSION):
                        raise FormatError(f"expected a journal ({KIND}) of version {VERSION}")
                    heading = dict(entry.get("heading") or {})
                elif entry is not None:
                    solved.append(from_json(Solved, entry))
    return heading, solved


def open_arrays(solved: Sequence[Solved]) -> dict[str, NDArray[Any]]:
    """Arrays for ``predictions.npz`` of what open answers say, as far as all of them say it."""
    facts = [one.open for one in solved]
    told: dict[str, list[Any]] = {
        "grid": [Grid.parse(one.grid).shape for one in solved],  # (M, 2)
        "turns": [None if one is None else one.turns for one in facts],
        "aside_prob": [None if one is None else one.aside for one in facts],
        "confidence": [one.sure for one in solved],
    }
    return {
        name: np.array(rows) for name, rows in told.items() if all(row is not None for row in rows)
    }


def _parsed(line: bytes, *, torn: bool) -> Any:
    """The content of a line; None for an empty one, and for half a line where that may be."""
    try:
        return json.loads(line) if line.strip() else None
    except (ValueError, RecursionError) as error:
        if torn and line.startswith(b"{"):
            return None
        raise FormatError("expected JSON") from error


def _turns(layout: Layout) -> tuple[int, ...] | None:
    return None if layout.turns is None else tuple(layout.turns.tolist())


def _round(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), _DIGITS)
