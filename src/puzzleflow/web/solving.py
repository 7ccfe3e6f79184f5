"""Asking solvers: loaded once, sessions kept, grids guessed where none is given."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.types import ByteArray
from puzzleflow.solvers.base import Session, Solver
from puzzleflow.solvers.registry import DEFAULT_SOLVER, load_solver, offered_solvers
from puzzleflow.web.history import GridGuess

KEPT_SESSIONS = 6
STRIP_HANDICAP = 0.1  # a single row or column picks its few seams more freely than a grid
Report = Callable[[str, float | None], None]


class SolverShelf:
    """Solvers by name, each loaded once for all workbenches."""

    def __init__(self) -> None:
        self._solvers: dict[str, Solver] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Solver:
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if name not in self._solvers:
                self._solvers[name] = load_solver(name)
            return self._solvers[name]

    def names(self) -> list[str]:
        """All that are offered, the default first."""
        others = (name for name in offered_solvers() if name != DEFAULT_SOLVER)
        return [DEFAULT_SOLVER, *others]

    def warm_up(self) -> None:
        """Let the default solver solve a little, so that the first real answer is quick.

        A small and a larger grid: searches differ, and some are compiled when first used.
        """
        solver = self.get(DEFAULT_SOLVER)
        for grid in (Grid(2, 2), Grid(5, 5)):
            pieces = np.full((grid.num_pieces, 32, 32, 4), 255, np.uint8)
            pieces[..., 0] = (np.arange(grid.num_pieces) * 9)[:, None, None]
            session = solver.prepare(Puzzle(pieces, grid))
            session.solve(seed=0, pinned={0: 0}, num_alternatives=2)


class Sessions:
    """Prepared sessions of one set of pieces: asking again costs only the search."""

    def __init__(self, pieces: ByteArray) -> None:
        self.pieces = pieces  # (N, h, w, 4), as small as solvers want them
        self._kept: OrderedDict[tuple[str, Grid | None, Conditions], Session] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, solver: Solver, grid: Grid | None, conditions: Conditions = CLOSED) -> Session:
        key = (solver.name, grid, conditions)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        session = solver.prepare(Puzzle(self.pieces, grid, conditions=conditions))
        with self._lock:
            self._kept[key] = session
            while len(self._kept) > KEPT_SESSIONS:
                self._kept.popitem(last=False)
        return session


def guess_grid(
    sessions: Sessions,
    solver: Solver,
    report: Report,
    *,
    seed: int,
    num_alternatives: int,
) -> tuple[Grid, Solution, tuple[GridGuess, ...]]:
    """Try every grid the pieces can fill; the one with the least energy per seam.

    A single row or column comes first only where it is better by a tenth.
    """
    grids = Grid.factorisations(len(sessions.pieces))
    found: list[tuple[float, int, Grid, Solution, float | None]] = []
    refusal: CannotSolve | None = None
    for index, grid in enumerate(grids):
        report(f"Trying {grid.rows} × {grid.cols}", index / len(grids))
        try:
            session = sessions.get(solver, grid)
            solution = session.solve(seed=seed, num_alternatives=num_alternatives)
        except CannotSolve as error:
            refusal = error
            continue
        cost = cost_per_seam(solution, grid)
        found.append((_rank(cost, grid), index, grid, solution, cost))
    if not found:
        raise refusal or CannotSolve("no grid can be filled with these pieces")
    found.sort(key=lambda entry: entry[:2])  # ties and no energy: the most square one
    ranking = tuple(GridGuess(grid, cost) for _, _, grid, _, cost in found)
    return found[0][2], found[0][3], ranking


def solve_together(
    session: Session,
    grid: Grid,
    pins: dict[int, int],
    groups: Sequence[dict[int, int]],
    report: Report,
    *,
    seed: int,
    num_alternatives: int,
) -> Solution:
    """Pieces that belong together keep their places to each other, wherever they go.

    Every place of the first group is tried, then of the next with the first where it was
    best: the layout of least energy.

    groups  piece → position of each, as they lie now; the largest first
    """
    fixed = dict(pins)
    for group in groups:
        best: tuple[float, dict[int, int]] | None = None
        for index, moved in enumerate(places := _places(group, grid, fixed)):
            report("Laying the pieces", 0.3 + 0.6 * index / len(places))
            try:
                answer = session.solve(seed=seed, pinned={**fixed, **moved})
            except CannotSolve:
                continue
            if answer.energy is None:
                raise CannotSolve("this method cannot keep pieces together: choose another")
            if best is None or answer.energy < best[0]:
                best = answer.energy, moved
        if best is None:
            raise CannotSolve("no layout keeps these pieces together")
        fixed |= best[1]
    return session.solve(seed=seed, pinned=fixed, num_alternatives=num_alternatives)


def _places(group: dict[int, int], grid: Grid, fixed: dict[int, int]) -> list[dict[int, int]]:
    """Where a block of pieces may lie as a whole, beside what is fixed."""
    if any(piece in fixed for piece in group):
        return [group]
    cells = {piece: grid.cell(position) for piece, position in group.items()}
    top, left = (min(cell[axis] for cell in cells.values()) for axis in (0, 1))
    tall, wide = (max(cell[axis] for cell in cells.values()) + 1 for axis in (0, 1))
    taken = set(fixed.values())
    found = []
    for d_row in range(-top, grid.rows - tall + 1):
        for d_col in range(-left, grid.cols - wide + 1):
            moved = {
                piece: grid.position(row + d_row, col + d_col)
                for piece, (row, col) in cells.items()
            }
            if not taken & set(moved.values()):
                found.append(moved)
    return found


def _rank(cost: float | None, grid: Grid) -> float:
    if cost is None:
        return math.inf
    return cost + STRIP_HANDICAP * abs(cost) if 1 in grid.shape else cost


def cost_per_seam(solution: Solution, grid: Grid) -> float | None:
    """Energy over the number of seams, which makes grids comparable; None without energy."""
    if solution.energy is None or not math.isfinite(solution.energy):
        return None
    seams = len(grid.neighbours(Direction.RIGHT)) + len(grid.neighbours(Direction.DOWN))
    return solution.energy / max(seams, 1)
