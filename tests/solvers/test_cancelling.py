"""Every built-in solver can be given up, before it begins and in the middle of its loops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from puzzleflow.core.cancelling import Cancelled, CancelToken, cancelled_by
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.generation.builder import build_puzzle
from puzzleflow.samples import load_sample
from puzzleflow.search import Energy, minimise, posterior
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.genetic import Evolution, genetic_layout
from puzzleflow.solvers.registry import SOLVERS, load_solver
from puzzleflow.solvers.tabu import tabu_layout

pytestmark = pytest.mark.usefixtures("tiny_rivals", "flow_has_weights")
GRID = Grid(5, 5)
FOREVER = 10**9


@pytest.fixture(scope="module")
def puzzle() -> Puzzle:
    masks = np.ones((25, 32, 32), dtype=bool)
    positions = np.random.default_rng(0).permutation(25)
    return build_puzzle(load_sample("irises"), GRID, masks, positions).without_truth()


@pytest.mark.parametrize("name", sorted(SOLVERS.builtin.keys() - {"random"}))
def test_a_cancelled_solver_neither_prepares_nor_solves(name: str, puzzle: Puzzle) -> None:
    solver = load_solver(name)
    session = solver.prepare(puzzle)
    token = CancelToken()
    token.cancel()
    with cancelled_by(token):
        with pytest.raises(Cancelled):
            solver.prepare(puzzle)
        with pytest.raises(Cancelled):
            session.solve(seed=0)
    assert sorted(session.solve(seed=0).position_of) == list(range(25))


def random_costs() -> SeamCosts:
    right, down = np.random.default_rng(1).random((2, 25, 25))
    return SeamCosts(right, down)


def random_energy(grid: Grid) -> Energy:
    return Energy(
        grid, *np.random.default_rng(2).normal(size=(3, grid.num_pieces, grid.num_pieces))
    )


ENDLESS: dict[str, Callable[[], object]] = {
    "growing and annealing": lambda: minimise(random_energy(GRID), effort=FOREVER),
    "listing layouts": lambda: minimise(random_energy(GRID), num_layouts=FOREVER),
    "listing exactly": lambda: minimise(random_energy(Grid(3, 4)), num_layouts=FOREVER),
    "sampling": lambda: posterior(random_energy(GRID), start=minimise(random_energy(GRID))[0],
                                  effort=FOREVER),
    "tabu": partial(
        tabu_layout, random_costs(), GRID, np.ones((25, 25), dtype=bool), num_steps=FOREVER
    ),
    "genetic": partial(
        genetic_layout,
        random_costs(),
        GRID,
        np.ones((25, 25), dtype=bool),
        evolution=Evolution(max_generations=100_000, patience=FOREVER),
    ),
}  # fmt: skip


@pytest.mark.parametrize("work", ENDLESS)
def test_endless_work_ends_when_cancelled(work: str) -> None:
    token, outcome = CancelToken(), []

    def run() -> None:
        with cancelled_by(token):
            try:
                ENDLESS[work]()
            except Cancelled:
                outcome.append("cancelled")

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()
    token.cancel()
    thread.join(60)
    assert outcome == ["cancelled"]
