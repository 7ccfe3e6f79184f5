"""The default solver where pieces are missing, foreign or turned, or the grid is not known."""

from dataclasses import replace

import numpy as np
import pytest

from puzzleflow import Grid, Puzzle, cut_puzzle, load_sample, load_solver
from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import NotAGrid
from puzzleflow.core.puzzle import Layout
from puzzleflow.generation.builder import opened
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.base import Solver
from puzzleflow.solvers.compatibility import seam_costs
from puzzleflow.solvers.grids import possible_grids
from puzzleflow.solvers.relational_open import _agreement, _by_turns, _one_turned

GRID = Grid(3, 3)


@pytest.fixture(scope="module")
def solver() -> Solver:
    return load_solver("relational")


@pytest.fixture(scope="module")
def pictures() -> list[Puzzle]:
    """Square pieces without any gap: nothing is left to chance."""
    return [
        cut_puzzle(load_sample(name), GRID, "fixed:1", 3, piece_px=96)
        for name in ("harvesters", "goldsmith", "grande-jatte")
    ]


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(missing=1),
        Conditions(missing=3),
        Conditions(foreign=2),
        Conditions(missing=2, foreign=2),
    ],
    ids=str,
)
def test_missing_and_foreign_pieces(
    solver: Solver, pictures: list[Puzzle], conditions: Conditions
) -> None:
    right = total = strangers = 0
    for index, picture in enumerate(pictures):
        puzzle = opened(picture, conditions, index, [pictures[index - 1]])
        solution = solver.prepare(puzzle.without_truth()).solve(seed=0)
        assert puzzle.truth is not None
        own = puzzle.truth >= 0
        right += int((solution.position_of == puzzle.truth)[own].sum())
        total += int(own.sum())
        strangers += int((solution.position_of[~own] < 0).sum())
        assert np.count_nonzero(solution.position_of < 0) <= conditions.foreign
    assert right / total > 0.7
    assert strangers >= 2 * conditions.foreign  # of three times as many


def test_an_unknown_grid_is_found(solver: Solver) -> None:
    for grid in (Grid(2, 3), Grid(4, 3)):
        puzzle = cut_puzzle(load_sample("harvesters"), grid, "fixed:1", 1, piece_px=96)
        hidden = opened(puzzle, Conditions(hidden=True), 0)
        assert hidden.without_truth().known_grid is None
        solution = solver.prepare(hidden.without_truth()).solve(seed=0)
        assert solution.grid == grid
        assert solution.grid_prob[0][0] == grid
        assert sum(prob for _, prob in solution.grid_prob) == pytest.approx(1.0)


def test_turned_pieces_lie_right_to_each_other(solver: Solver, pictures: list[Puzzle]) -> None:
    """Which side of the whole is up may be in doubt; how pieces lie to each other is not."""
    for index, picture in enumerate(pictures):
        puzzle = opened(picture, Conditions(turned=True), index)
        solution = solver.prepare(puzzle.without_truth()).solve(seed=0)
        assert solution.turns is not None
        assert puzzle.true_turns is not None
        common = (solution.turns - puzzle.true_turns) % 4
        assert np.bincount(common).max() >= 8


def test_pins_and_the_same_answer_again(solver: Solver, pictures: list[Puzzle]) -> None:
    puzzle = opened(pictures[0], Conditions(missing=2, foreign=1), 5, [pictures[1]])
    session = solver.prepare(puzzle.without_truth())
    first, again = (session.solve(seed=3, num_alternatives=3) for _ in range(2))
    assert first.position_of.tolist() == again.position_of.tolist()
    assert first.confidence is not None
    assert again.confidence is not None
    assert first.confidence.tolist() == again.confidence.tolist()
    pinned = session.solve(seed=3, pinned={0: 4, 1: -1})
    assert pinned.position_of[:2].tolist() == [4, -1]


def test_grids_that_pieces_may_fill() -> None:
    def grids(num: int, conditions: Conditions) -> list[str]:
        pieces = np.full((num, 8, 8, 4), 255, np.uint8)
        return [str(grid) for grid in possible_grids(Puzzle(pieces, None, conditions=conditions))]

    hidden = Conditions(hidden=True)
    assert sorted(grids(12, hidden)) == ["2x6", "3x4", "4x3", "6x2"]
    assert grids(7, hidden) == ["1x7", "7x1"]  # nothing broader is left
    assert "3x3" in grids(8, Conditions(hidden=True, missing=1))
    assert "2x4" in grids(8, Conditions(hidden=True, missing=1))
    with pytest.raises(NotAGrid):
        Puzzle(np.full((7, 8, 8, 4), 255, np.uint8), GRID, conditions=Conditions(missing=1))


def test_a_seam_turns_with_its_pieces(pictures: list[Puzzle]) -> None:
    """What lies below becomes what lies right when all is turned against the clock."""
    pieces = pictures[0].pieces
    turned = np.rot90(pieces, 1, (1, 2)).copy()
    assert np.allclose(
        seam_costs("alpha", pieces).down, seam_costs("alpha", turned).right, rtol=1e-4
    )


def test_turns_agree_where_pieces_turn_only_together() -> None:
    turns = np.array([0, 1, 3])
    together = np.zeros((3, 4))
    for way, share in ((0, 0.7), (2, 0.3)):  # of the whole
        together[np.arange(3), (turns + way) % 4] = share
    assert _agreement(together, turns) == pytest.approx(np.ones(3))
    alone = together.copy()
    alone[0] = np.roll(together[0], 1)  # a piece that turns when the others do not
    agreed = _agreement(alone, turns)
    assert agreed[0] == pytest.approx((0.7 * np.sqrt(1 / 3) + 0.3 * np.sqrt(1 / 3)) ** 2)
    assert agreed[0] < agreed[1] == pytest.approx(agreed[2])


def two_pieces() -> Energy:
    """Two pieces in four turns each, side by side: candidate 4 i + t, energies of seams alone."""
    right = np.full((8, 8), 9.0)
    right[0, 5], right[1, 6] = 1.0, 2.0  # both one turn apart
    right[0, 4] = 3.0  # alike
    energy = Energy.of(Grid(1, 2), unary=np.zeros((8, 2)), right=right, down=np.zeros((8, 8)))
    return replace(energy, piece_of=np.repeat([0, 1], 4))


def laid(energy: Energy, first: int, second: int) -> Layout:
    position_of = np.full(8, -1)
    position_of[first], position_of[second] = 0, 1
    return energy.layout(position_of)


def test_layouts_are_told_apart_by_how_pieces_lie_to_each_other() -> None:
    energy = two_pieces()
    layouts = [laid(energy, 0, 4), laid(energy, 1, 6), laid(energy, 0, 5)]
    likely = _by_turns(layouts, np.full((2, 4), 0.25))
    assert [(key, layout.energy) for key, layout in likely.items()] == [((0, 1), 1), ((0, 0), 3)]


def test_a_piece_that_is_not_laid_has_its_likeliest_turn() -> None:
    layout = Layout(np.array([-1, 0, -1, -1, -1, -1, -1, -1]), energy=0.0, grid=Grid(1, 1))
    turn_prob = np.array([[0.1, 0.9, 0, 0], [0.2, 0.1, 0.1, 0.6]])
    assert list(_by_turns([layout], turn_prob)) == [(0, 2)]


def test_each_piece_is_turned_otherwise_where_it_lies() -> None:
    energy = two_pieces()
    turned = list(_one_turned(energy, laid(energy, 0, 4), 8, 4))
    assert len(turned) == 6
    found = {tuple(np.flatnonzero(layout.position_of >= 0)): layout.energy for layout in turned}
    assert found[0, 5] == 1.0
    assert set(found) == {(1, 4), (2, 4), (3, 4), (0, 5), (0, 6), (0, 7)}
