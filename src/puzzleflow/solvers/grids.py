"""Which grids the pieces of a puzzle may fill, and what each of them costs beforehand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puzzleflow.core.errors import NotAGrid
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle

ELONGATED = 3.0  # cost of a grid for every factor e by which it is longer than wide
INCOMPLETE = 0.7  # cost of every missing piece where the grid is not known


def possible_grids(puzzle: Puzzle) -> list[Grid]:
    """The grid where it is known, else every grid that the pieces may fill."""
    if puzzle.known_grid is not None:
        return [puzzle.known_grid]
    grids = puzzle.conditions.grids(puzzle.num_pieces)
    broad = [grid for grid in grids if max(grid.shape) <= 4 * min(grid.shape)]
    if not grids:
        raise NotAGrid(f"{puzzle.num_pieces} pieces fill no grid")
    return broad or grids


def up_to_turning(grids: Sequence[Grid]) -> list[Grid]:
    """Of two grids that are each other turned, the flat one."""
    return sorted({Grid(min(grid.shape), max(grid.shape)) for grid in grids})


def grid_cost(grid: Grid, puzzle: Puzzle) -> float:
    """Minus the log prior of a grid that is not known, but for a constant."""
    if puzzle.known_grid is not None:
        return 0.0
    missing = max(0, grid.num_pieces - puzzle.num_pieces)
    return ELONGATED * abs(float(np.log(grid.rows / grid.cols))) + INCOMPLETE * missing


def num_empty(grid: Grid, puzzle: Puzzle) -> int:
    """How many empty places a layout on ``grid`` can have."""
    spare = grid.num_pieces - puzzle.num_pieces
    return max(0, min(puzzle.conditions.missing, spare + puzzle.conditions.foreign))
