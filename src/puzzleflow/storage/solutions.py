"""The solutions of a set of puzzles as JSON lines, which is also the journal of solving it.

::

    {"schema": "puzzleflow/solutions", "version": 1, "solver": "greedy", "seed": 0, …}
    {"index": 0, "id": "test/0", "grid": "3x3", "layout": [4, 0, …], "confidence": [0.9, …],
     "energy": 3.25, "alternatives": [{"layout": […], "energy": 3.25, "probability": 0.8}]}

The first line says how the others came about. ``layout`` lists the position of every
piece, row-major from 0; what the solver does not say is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.types import IntArray
from puzzleflow.storage.naming import naming

SCHEMA = "puzzleflow/solutions"
VERSION = 1
SOLUTIONS = "solutions.jsonl"
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Solved:
    """One line of the file: the layout of one puzzle of a set.

    index  which puzzle of the set, or None where the line only names it
    """

    index: int | None
    puzzle_id: str
    grid: Grid
    position_of: IntArray


def solution_record(index: int, puzzle: Puzzle, solution: Solution) -> dict[str, Any]:
    """The line of one puzzle; nothing in it depends on how long it took."""
    sure = solution.confidence
    return {
        "index": index,
        "id": puzzle.puzzle_id,
        "grid": str(puzzle.grid),
        "layout": solution.position_of.tolist(),
        "confidence": None if sure is None else [_round(value) for value in sure.tolist()],
        "energy": _round(solution.energy),
        "alternatives": [
            {
                "layout": layout.position_of.tolist(),
                "energy": _round(layout.energy),
                "probability": _round(layout.probability),
            }
            for layout in solution.alternatives
        ],
    }


def read_solutions(path: str | Path) -> tuple[dict[str, Any], list[Solved]]:
    """The heading, empty where there is none, and every solution of a file.

    A last line that a kill has torn is left out.
    """
    path = Path(path)
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    heading: dict[str, Any] = {}
    solved = []
    for number, line in enumerate(lines, start=1):
        with naming(f"{path}, line {number}"):
            entry = _parsed(line, torn=number == len(lines))
            if number == 1 and entry is not None and "schema" in entry:
                heading = entry
            elif entry is not None:
                solved.append(parse_solution(entry))
    if heading and (heading["schema"], heading.get("version")) != (SCHEMA, VERSION):
        raise FormatError(f'{path}: expected "schema": "{SCHEMA}", "version": {VERSION}')
    return heading, solved


def _parsed(line: bytes, *, torn: bool) -> dict[str, Any] | None:
    """The object of a line; None for an empty one, and for half a line where that may be."""
    try:
        entry = json.loads(line) if line.strip() else None
    except (ValueError, RecursionError) as error:
        if torn and line.startswith(b"{"):
            return None
        raise FormatError("expected JSON") from error
    if entry is not None and not isinstance(entry, dict):
        raise FormatError("expected a JSON object")
    return entry


def parse_solution(entry: Mapping[str, Any]) -> Solved:
    """A line of the file, checked."""
    index, puzzle_id, grid = entry.get("index"), entry.get("id", ""), entry.get("grid")
    if not (index is None or (type(index) is int and index >= 0)) or type(puzzle_id) is not str:
        raise FormatError("expected 'index' to be a whole number from 0 and 'id' to be text")
    if not isinstance(entry.get("layout"), list) or not isinstance(grid, str):
        raise FormatError("expected 'layout' to be a list and 'grid' to be text such as 3x3")
    shape = Grid.parse(grid)
    return Solved(index, puzzle_id, shape, as_permutation(entry["layout"], shape.num_pieces))


def _round(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), _DIGITS)
