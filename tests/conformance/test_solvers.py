"""What every registered solver promises, plugins included."""

import numpy as np
import pytest

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import CannotSolve, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_rng
from puzzleflow.evaluation.worker import checked
from puzzleflow.generation.builder import opened
from puzzleflow.solvers.base import Session, Solver
from puzzleflow.solvers.registry import DEFAULT_SOLVER, list_solvers, load_solver

pytestmark = pytest.mark.usefixtures("tiny_rivals")
PIECE_PX = 32
GRIDS = [Grid(1, 1), Grid(1, 2), Grid(1, 4), Grid(3, 1), Grid(2, 3), Grid(3, 3)]


def make_puzzle(grid: Grid, seed: int = 0, *, inset: int = 3) -> Puzzle:
    """Pieces of a smooth random picture, eroded by an uneven outline, shuffled."""
    rng = child_rng(seed, "conformance", str(grid))
    height, width = grid.rows * PIECE_PX, grid.cols * PIECE_PX
    y, x = np.mgrid[:height, :width] / PIECE_PX  # (H, W) in pieces
    waves = rng.normal(size=(3, 4, 2))
    picture = np.stack(
        [sum(np.sin(fy * y + fx * x + k) for k, (fy, fx) in enumerate(w)) for w in waves], axis=-1
    )
    picture = np.clip(picture * 30 + 128, 0, 255).astype(np.uint8)  # (H, W, 3)
    cells = picture.reshape(grid.rows, PIECE_PX, grid.cols, PIECE_PX, 3).swapaxes(1, 2)
    cells = cells.reshape(grid.num_pieces, PIECE_PX, PIECE_PX, 3)  # (N, H, W, 3)
    pieces = np.zeros((grid.num_pieces, PIECE_PX, PIECE_PX, 4), np.uint8)
    for cell, piece in zip(cells, pieces, strict=True):
        top, left, bottom, right = rng.integers(0, inset + 1, size=4)
        inside = np.s_[top : PIECE_PX - bottom, left : PIECE_PX - right]
        piece[inside] = np.dstack([cell, np.full((PIECE_PX, PIECE_PX), 255, np.uint8)])[inside]
    truth = rng.permutation(grid.num_pieces)
    return Puzzle(pieces[truth], grid, truth=truth, puzzle_id=f"conformance-{grid}-{seed}")


def prepare(name: str, puzzle: Puzzle) -> Session:
    """A session, or a skip where the solver says that it cannot."""
    try:
        return load_solver(name).prepare(puzzle)
    except CannotSolve as error:
        refusal = str(error)
    assert str(puzzle.grid) in refusal, "a refusal names the grid"
    assert puzzle.grid != Grid(3, 3), "every solver handles 3x3"
    pytest.skip(f"{name}: {refusal}")


def test_the_default_solver_is_registered() -> None:
    assert DEFAULT_SOLVER in list_solvers()


@pytest.fixture(params=list_solvers())
def name(request: pytest.FixtureRequest, flow_has_weights: None) -> str:
    return str(request.param)


def test_satisfies_the_protocol_under_its_own_name(name: str) -> None:
    solver = load_solver(name)
    assert isinstance(solver, Solver)
    assert solver.name == name
    assert isinstance(prepare(name, make_puzzle(Grid(3, 3))), Session)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_valid_permutation_and_untouched_input(name: str, grid: Grid) -> None:
    puzzle = make_puzzle(grid)
    before = puzzle.pieces.copy(), puzzle.truth.copy()
    solution = prepare(name, puzzle).solve(seed=1)
    assert isinstance(solution, Solution)
    as_permutation(solution.position_of, len(solution.position_of))
    assert len(solution.position_of) == grid.num_pieces
    assert solution.solver == name
    assert solution.seconds >= 0
    assert np.array_equal(puzzle.pieces, before[0])
    assert np.array_equal(puzzle.truth, before[1])


@pytest.mark.parametrize("grid", [Grid(2, 3), Grid(3, 3)], ids=str)
def test_deterministic_for_a_seed(name: str, grid: Grid) -> None:
    puzzle = make_puzzle(grid)
    session = prepare(name, puzzle)
    first = session.solve(seed=7)
    session.solve(seed=8)  # an answer in between must leave no trace
    again = session.solve(seed=7)
    fresh = prepare(name, puzzle).solve(seed=7)
    assert np.array_equal(first.position_of, again.position_of)
    assert np.array_equal(first.position_of, fresh.position_of)


def test_does_not_look_at_the_truth(name: str) -> None:
    puzzle = make_puzzle(Grid(3, 3))
    seen = prepare(name, puzzle).solve(seed=3)
    blind = prepare(name, puzzle.without_truth()).solve(seed=3)
    assert np.array_equal(seen.position_of, blind.position_of)


@pytest.mark.parametrize("grid", [Grid(1, 4), Grid(2, 3), Grid(3, 3)], ids=str)
def test_honours_pins(name: str, grid: Grid) -> None:
    session = prepare(name, make_puzzle(grid))
    free = session.solve(seed=2).position_of
    last = grid.num_pieces - 1
    pins = {0: int(free[1]), last: int(free[0])}  # against its own wish
    pinned = session.solve(seed=2, pinned=pins).position_of
    as_permutation(pinned, len(pinned))
    assert {piece: int(pinned[piece]) for piece in pins} == pins


def test_honours_a_full_set_of_pins(name: str) -> None:
    session = prepare(name, make_puzzle(Grid(3, 3)))
    wanted = child_rng(5, "pins").permutation(9)
    pins = {piece: int(position) for piece, position in enumerate(wanted)}
    assert np.array_equal(session.solve(seed=0, pinned=pins).position_of, wanted)


@pytest.mark.parametrize("grid", [Grid(2, 3), Grid(3, 3)], ids=str)
def test_never_uses_forbidden_placements(name: str, grid: Grid) -> None:
    session = prepare(name, make_puzzle(grid))
    free = session.solve(seed=4).position_of
    forbidden = [(piece, int(position)) for piece, position in enumerate(free)]
    pins = {0: int(free[1])}
    answer = session.solve(seed=4, pinned=pins, forbidden=forbidden).position_of
    as_permutation(answer, len(answer))
    assert answer[0] == free[1]
    assert not (answer == free).any()


def test_refuses_impossible_pins(name: str) -> None:
    session = prepare(name, make_puzzle(Grid(3, 3)))
    with pytest.raises(NotAPermutation):
        session.solve(seed=0, pinned={0: 3, 1: 3})
    with pytest.raises(CannotSolve):
        session.solve(seed=0, pinned={0: 3}, forbidden=[(0, 3)])


def test_probabilities_and_alternatives_are_well_formed(name: str) -> None:
    grid = Grid(3, 3)
    solution = prepare(name, make_puzzle(grid)).solve(seed=6, num_alternatives=4)
    if solution.confidence is not None:
        assert solution.confidence.shape == (9,)
        assert ((solution.confidence >= 0) & (solution.confidence <= 1 + 1e-6)).all()
    if solution.position_prob is not None:
        assert solution.position_prob.shape == (9, 9)
        assert np.allclose(solution.position_prob.sum(axis=1), 1, atol=1e-4)
    if solution.seam_confidence is not None:
        assert [seams.shape for seams in solution.seam_confidence] == [(3, 2), (2, 3)]
    assert len(solution.alternatives) <= 4
    layouts = [tuple(layout.position_of) for layout in solution.alternatives]
    assert len(set(layouts)) == len(layouts)
    for layout in layouts:
        as_permutation(layout, 9)
    if layouts:
        assert layouts[0] == tuple(solution.position_of)


CONDITIONS = [
    Conditions(missing=1),
    Conditions(foreign=1),
    Conditions(missing=1, foreign=1),
    Conditions(turned=True),
    Conditions(hidden=True),
]


@pytest.mark.parametrize("conditions", CONDITIONS, ids=str)
def test_open_puzzles_are_solved_by_their_rules_or_refused(
    name: str, conditions: Conditions
) -> None:
    grid = Grid(2, 3)
    whole = opened(make_puzzle(grid), conditions, 0, [make_puzzle(grid, seed=1)])
    puzzle = whole.without_truth()
    try:
        session = load_solver(name).prepare(puzzle)
        solution = session.solve(seed=1)
        assert checked(solution, puzzle) is solution
        assert solution.grid is not None
        if conditions.turned:
            assert solution.turns is not None
        if solution.confidence is not None:
            assert ((solution.confidence >= 0) & (solution.confidence <= 1 + 1e-6)).all()
        if solution.grid_prob:
            assert sum(share for _, share in solution.grid_prob) == pytest.approx(1)
        if puzzle.known_grid is not None:
            pins = {0: 4, 2: 1}
            pinned = checked(session.solve(seed=1, pinned=pins), puzzle).position_of
            assert {piece: int(pinned[piece]) for piece in pins} == pins
    except CannotSolve:
        assert name != DEFAULT_SOLVER, "the default solver knows the open world"
