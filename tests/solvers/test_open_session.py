"""Sessions of the open world, on energies made by hand."""

import numpy as np
import pytest

from puzzleflow.core.errors import CannotSolve, InputError, NotAPermutation
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.open_session import TURN_DOUBT, Hypothesis, OpenSession
from puzzleflow.solvers.second_look import Looking


def planted(grid: Grid, truth: list[int], num_empty: int, strength: float = 4.0) -> Energy:
    """Pieces that fit as ``truth`` (piece → position, -1: nowhere) says, and empty places.

    True seams and places are cheap, a foreign piece is dear anywhere.
    """
    n = len(truth)
    rng = np.random.default_rng(0)
    unary = rng.normal(0, 0.1, (n + num_empty, grid.num_pieces))
    right, down = rng.normal(0, 0.1, (2, n + num_empty, n + num_empty))
    at = {position: piece for piece, position in enumerate(truth) if position >= 0}
    for piece, position in enumerate(truth):
        unary[piece] += strength if position < 0 else -0.5
        if position >= 0:
            unary[piece, position] -= 0.3 * strength
    for seam, direction in ((right, Direction.RIGHT), (down, Direction.DOWN)):
        for a, b in grid.neighbours(direction):
            if a in at and b in at:
                seam[at[a], at[b]] -= strength
    return Energy(grid, unary, right, down)


def session(*hypotheses: Hypothesis, grid: Grid | None = None, turned: bool = False) -> OpenSession:
    n = len(hypotheses[0].turns)
    return OpenSession(hypotheses, "test", num_pieces=n, grid=grid, turned=turned)


UPRIGHT = np.zeros(5, dtype=np.int64)
TRUTH = [4, -1, 0, 5, 2]  # on 2x3: piece 1 is foreign, positions 1 and 3 are empty


@pytest.fixture
def one() -> OpenSession:
    grid = Grid(2, 3)
    return session(Hypothesis(grid, UPRIGHT, planted(grid, TRUTH, 2)), grid=grid)


def test_pieces_aside_and_empty_cells(one: OpenSession) -> None:
    solution = one.solve(seed=0, num_alternatives=4)
    assert solution.position_of.tolist() == TRUTH
    assert solution.piece_at.tolist() == [2, -1, 4, -1, 0, 3]
    assert solution.grid == Grid(2, 3)
    assert solution.grid_prob == ((Grid(2, 3), pytest.approx(1.0)),)
    assert solution.turns is None
    assert solution.aside_prob is not None
    assert solution.aside_prob.argmax() == 1
    assert solution.position_prob is not None
    total = solution.position_prob.sum(axis=1) + solution.aside_prob
    assert total == pytest.approx(np.ones(5))
    assert solution.confidence is not None
    assert (solution.confidence > 0.5).all()
    layouts = [tuple(layout.position_of.tolist()) for layout in solution.alternatives]
    assert len(set(layouts)) == 4  # which empty place lies where makes no difference
    energies = [layout.energy for layout in solution.alternatives]
    assert energies == sorted(energies)
    assert solution.seam_confidence is not None
    right, _ = solution.seam_confidence
    assert np.isnan(right[0, 0])  # beside an empty cell
    assert right[1, 1] > 0.5  # pieces 0 and 3


def test_pins_are_honoured(one: OpenSession) -> None:
    pinned = one.solve(seed=0, pinned={0: 1, 2: -1})
    assert pinned.position_of[0] == 1
    assert pinned.position_of[2] == -1
    assert pinned.confidence is not None
    assert pinned.confidence[[0, 2]] == pytest.approx([1.0, 1.0])
    free = one.solve(seed=0, forbidden=[(0, 4)])
    assert free.position_of[0] != 4


def test_impossible_pins_are_refused(one: OpenSession) -> None:
    with pytest.raises(CannotSolve):  # three of five aside: four cells for two empty places
        one.solve(seed=0, pinned={0: -1, 2: -1, 3: -1})
    with pytest.raises(NotAPermutation):
        one.solve(seed=0, pinned={0: 1, 2: 1})
    with pytest.raises(InputError, match="outside"):
        one.solve(seed=0, pinned={0: 6})


def test_the_likelier_grid_wins_and_confidence_is_shared() -> None:
    truth = [0, 1, 2, 3]
    fitting = Hypothesis(Grid(2, 2), UPRIGHT[:4], planted(Grid(2, 2), truth, 0, strength=1.0))
    flat = Hypothesis(Grid(1, 4), UPRIGHT[:4], planted(Grid(1, 4), [3, 2, 1, 0], 0, strength=1.0))
    solution = session(flat, fitting).solve(seed=0)
    assert solution.grid == Grid(2, 2)
    assert [grid for grid, _ in solution.grid_prob] == [Grid(2, 2), Grid(1, 4)]
    assert sum(prob for _, prob in solution.grid_prob) == pytest.approx(1.0)
    alone = session(fitting).solve(seed=0)
    assert alone.confidence is not None
    assert solution.confidence is not None
    share = solution.grid_prob[0][1]
    assert solution.confidence == pytest.approx(share * alone.confidence)
    dear = Hypothesis(fitting.grid, fitting.turns, fitting.energy, cost=8.0)
    assert session(flat, dear).solve(seed=0).grid == Grid(1, 4)
    with pytest.raises(InputError, match="grid is not known"):
        session(flat, fitting).solve(seed=0, pinned={0: 0})


def test_turns_are_told_and_their_doubt_counts() -> None:
    truth, grid = [0, 1, 2, 3], Grid(2, 2)
    energy = planted(grid, truth, 0)
    one_way = Hypothesis(grid, np.array([0, 1, 2, 3]), energy)
    other = Hypothesis(grid, np.array([0, 1, 2, 0]), energy, cost=1.0)
    solution = session(one_way, other, grid=grid, turned=True).solve(seed=0)
    assert solution.turns is not None
    assert solution.turns.tolist() == [0, 1, 2, 3]
    assert solution.confidence is not None
    share = 1 / (1 + np.exp(-1.0))
    assert solution.confidence[3] == pytest.approx(share * solution.confidence[0], rel=0.01)


def test_what_is_believed_is_trusted_as_far_as_turns_agree() -> None:
    grid = Grid(2, 3)
    energy = planted(grid, TRUTH, 2)
    laid = np.array(TRUTH) >= 0
    sure, doubted = (
        session(Hypothesis(grid, UPRIGHT, energy, 0.0, agreed), grid=grid, turned=True)
        .solve(seed=0)
        for agreed in (np.ones(5), np.where(laid, 0.5, 0.1))
    )  # fmt: skip
    assert sure.position_of.tolist() == doubted.position_of.tolist() == TRUTH
    assert sure.confidence is not None
    less = np.where(laid, 2**TURN_DOUBT, 1.0)  # how a piece aside is turned says nothing
    assert doubted.confidence == pytest.approx(sure.confidence / less)


def test_where_nothing_is_left_there_is_nothing_to_look_at() -> None:
    """Also where layouts would be looked at again: the answer is that there is none."""
    grid = Grid(1, 2)
    hypothesis = Hypothesis(grid, np.zeros(2, dtype=np.int64), planted(grid, [0, 1], 0))
    looking = Looking(np.zeros((2, 8, 8, 4), np.uint8))
    asked = OpenSession([hypothesis], "test", num_pieces=2, grid=grid, turned=True, looking=looking)
    with pytest.raises(CannotSolve, match="no layout honours"):
        asked.solve(seed=0, forbidden=[(0, 0), (1, 0)])
