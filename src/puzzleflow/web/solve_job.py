"""A solve in the background: what is asked, and how the answer comes onto the board."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from puzzleflow.core.conditions import MOST_MISSING, Conditions, fits_well
from puzzleflow.core.errors import CannotSolve, InputError, NotAGrid
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Solution
from puzzleflow.core.rng import child_seed
from puzzleflow.solvers.base import Solver
from puzzleflow.web.history import Answer, Arrangement, GridGuess
from puzzleflow.web.jobs import Job, JobRunner
from puzzleflow.web.solving import Sessions, SolverShelf, guess_grid, solve_together
from puzzleflow.web.workbench import Workbench


@dataclass(frozen=True)
class Asked:
    """What a person wants: without a grid it is to be guessed.

    missing, foreign  at most so many cells stay empty, pieces belong nowhere
    turned            pieces may lie turned by quarters
    """

    solver: str
    grid: Grid | None = None
    missing: int = 0
    foreign: int = 0
    turned: bool = False
    seed: int = 0
    num_alternatives: int = 8


def conditions_for(num_pieces: int, asked: Asked, num_aside: int = 0) -> Conditions:
    """What may be amiss: as asked, and as the numbers of pieces and cells demand."""
    if asked.grid is None:
        missing = asked.missing
        if not (missing or asked.foreign or asked.turned or fits_well(num_pieces)):
            missing = MOST_MISSING
        return Conditions(missing, asked.foreign, asked.turned, hidden=True)
    cells = asked.grid.num_pieces
    foreign = max(asked.foreign, num_aside, num_pieces - cells)
    missing = max(asked.missing, cells - num_pieces + foreign, 0)
    conditions = Conditions(missing, foreign, asked.turned)
    conditions.check(num_pieces, asked.grid)
    return conditions


def check_asked(num_pieces: int, asked: Asked) -> None:
    """Refuse a grid that so many pieces hardly leave a choice on."""
    if asked.grid is None:
        return
    spare = asked.grid.num_pieces - num_pieces
    if spare > max(asked.missing, 0) or -spare > asked.foreign:
        raise NotAGrid(f"{num_pieces} pieces do not fill a {asked.grid} grid")
    if asked.missing >= asked.grid.num_pieces:
        raise InputError("no cell would be left for a piece")


def start_solve(workbench: Workbench, runner: JobRunner, shelf: SolverShelf, asked: Asked) -> Job:
    """Solve in the background; pins are honoured as long as the grid stays the same."""
    with workbench.lock:
        workbench.refuse_while_working()
        stock = workbench.stock
        if not stock.pieces:
            raise InputError("there are no pieces yet")
        check_asked(len(stock.pieces), asked)
        now = stock.history.now if stock.history.steps else None
        same = now is not None and now.grid == (asked.grid or now.grid)
        held = now if same and now is not None and (now.pinned or now.groups) else None
        pins = {} if held is None else held.pins
        if held is not None and asked.grid is None:
            spare = held.grid.num_pieces - len(stock.pieces)
            missing, foreign = max(asked.missing, spare), max(asked.foreign, -spare)
            asked = replace(asked, grid=held.grid, missing=missing, foreign=foreign)
        num_aside = sum(position < 0 for position in pins.values())
        conditions = conditions_for(len(stock.pieces), asked, num_aside)
        groups = () if held is None else held.groups
        seed = child_seed(asked.seed, 0)  # as ``puzzleflow solve`` seeds the puzzle of a folder

        def work(job: Job) -> Callable[[], None]:
            job.report(f"Loading the solver {asked.solver}", 0.0)
            solver = shelf.get(asked.solver)
            job.report("Preparing the pieces", 0.1)
            workbench.sharpen(job.report)
            started = time.perf_counter()
            turns = workbench.turns
            sessions = workbench.sessions(square=conditions.turned)
            search = _Search(sessions, solver, asked, conditions, seed, job.report)
            if asked.grid is None:
                grid, found, ranking = search.any_grid()
            else:
                blocks = [
                    {piece: int(held.position_of[piece]) for piece in group}
                    for group in sorted(groups, key=len, reverse=True)
                    if held is not None
                ]
                grid, found, ranking = search.grid(asked.grid, pins, blocks)
            answer = Answer(found, grid, turns, frozenset(pins), time.perf_counter() - started)
            label = "solve again" if held is not None else f"solve with {asked.solver}"
            laid = Arrangement.solved(answer, label, groups, ranking)
            return lambda: workbench.lay(laid, stock)

        workbench.job = runner.submit(work)
        return workbench.job


@dataclass(frozen=True)
class _Search:
    """One solver on one set of pieces."""

    sessions: Sessions
    solver: Solver
    asked: Asked
    conditions: Conditions
    seed: int
    report: Callable[[str, float | None], None]

    def grid(
        self, grid: Grid, pins: dict[int, int], blocks: list[dict[int, int]]
    ) -> tuple[Grid, Solution, tuple[GridGuess, ...]]:
        """On one grid."""
        self.report(f"Comparing {len(self.sessions.pieces)} pieces", 0.2)
        session = self.sessions.get(self.solver, grid, self.conditions)
        self.report("Laying the pieces", 0.6)
        found = solve_together(
            session, grid, pins, blocks, self.report,
            seed=self.seed, num_alternatives=self.asked.num_alternatives,
        )  # fmt: skip
        return grid, found, ()

    def any_grid(self) -> tuple[Grid, Solution, tuple[GridGuess, ...]]:
        """On the grid that seems likeliest: by the solver itself, or by trying them all."""
        num = self.asked.num_alternatives
        try:
            self.report(f"Comparing {len(self.sessions.pieces)} pieces", 0.2)
            session = self.sessions.get(self.solver, None, self.conditions)
        except CannotSolve:
            world = self.conditions
            if world.turned or world.foreign or self.asked.missing:
                raise
            return guess_grid(
                self.sessions, self.solver, self.report, seed=self.seed, num_alternatives=num
            )
        self.report("Laying the pieces", 0.6)
        found = session.solve(seed=self.seed, num_alternatives=num)
        assert found.grid is not None
        ranking = tuple(GridGuess(grid, None, share) for grid, share in found.grid_prob)
        return found.grid, found, ranking
