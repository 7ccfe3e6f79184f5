"""Classical solvers on pictures: square pieces as published, irregular ones by their outline."""

from functools import cache

import numpy as np
import pytest

from puzzleflow.core.errors import UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.pictures import resize, square_crop
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.solvers.classical import piece_confidence, seam_confidence
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.genetic import GeneticSolver
from puzzleflow.solvers.greedy import GreedySolver
from puzzleflow.solvers.registry import load_solver


@cache
def square_puzzles(side, piece_px=64, gap_px=0):
    """Every bundled picture, cut into squares; ``gap_px`` of void between neighbours."""
    grid, made = Grid(side, side), []
    for sample in list_samples():
        picture = resize(square_crop(load_sample(sample.name)), side * piece_px, side * piece_px)
        cells = picture.reshape(side, piece_px, side, piece_px, 3).swapaxes(1, 2)
        cells = cells.reshape(-1, piece_px, piece_px, 3)
        pieces = np.concatenate([cells, np.full_like(cells[..., :1], 255)], axis=-1)
        inside = np.zeros((piece_px, piece_px, 1), np.uint8)
        rim = gap_px // 2
        inside[rim : piece_px - rim, rim : piece_px - rim] = 1
        truth = child_rng(0, sample.name).permutation(grid.num_pieces)
        made.append(Puzzle((pieces * inside)[truth], grid, truth=truth))
    return made


def share_solved(solver, puzzles):
    answers = [solver.prepare(puzzle).solve(seed=0).position_of for puzzle in puzzles]
    return np.mean([np.array_equal(a, p.truth) for a, p in zip(answers, puzzles, strict=True)])


def test_greedy_solves_most_uneroded_5x5_puzzles():
    assert share_solved(load_solver("greedy"), square_puzzles(5)) >= 0.6


@pytest.mark.parametrize("name", ["linear", "mgc-tree"])
def test_mgc_solvers_solve_nearly_all_uneroded_puzzles(name):
    assert share_solved(load_solver(name), square_puzzles(5)[:20]) >= 0.9


def test_a_straight_gap_is_harder_but_not_hopeless():
    share = share_solved(load_solver("greedy"), square_puzzles(3, piece_px=128, gap_px=12))
    assert 0.4 <= share < 1


def test_alpha_changes_nothing_on_square_pieces():
    for puzzle in square_puzzles(3)[:6]:
        border = load_solver("greedy").prepare(puzzle).solve(seed=0)
        alpha = load_solver("greedy-alpha").prepare(puzzle).solve(seed=0)
        assert np.array_equal(border.position_of, alpha.position_of)
        assert border.energy == alpha.energy


def irregular(puzzle, seed=0):
    """Octagons and ellipses of random size inside the cells: void on every side."""
    rng = child_rng(seed, "irregular")
    height, width = puzzle.piece_px
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    pieces = puzzle.pieces.copy()
    for piece in pieces:
        power, tilt = rng.uniform(2.5, 5), rng.uniform(-0.15, 0.15, size=2)
        inside = np.abs(x + tilt[0] * y) ** power + np.abs(y + tilt[1] * x) ** power <= 1.02
        piece[~inside] = 0
    return Puzzle(pieces, puzzle.grid, truth=puzzle.truth)


def test_alpha_lifts_greedy_far_above_chance_on_irregular_pieces():
    puzzles = [irregular(puzzle, seed) for seed, puzzle in enumerate(square_puzzles(3))]

    def absolute(name):
        solver = load_solver(name)
        return np.mean([(solver.prepare(p).solve(seed=0).position_of == p.truth) for p in puzzles])

    assert absolute("greedy") < 0.25  # chance is 0.11
    assert absolute("greedy-alpha") > 0.5


def test_kernel_crossover_beats_pmx():
    puzzles = square_puzzles(5)[:5]
    energies = {}
    for crossover in ("pmx", "kernel"):
        solver = GeneticSolver(crossover=crossover)
        energies[crossover] = [solver.prepare(p).solve(seed=0).energy for p in puzzles]
    assert (np.array(energies["kernel"]) < np.array(energies["pmx"])).all()


def test_names_tell_the_options():
    assert GreedySolver().name == "greedy"
    assert GreedySolver(compatibility="mgc").name == "greedy-mgc"
    assert GeneticSolver(crossover="kernel", compatibility="alpha").name == "genetic-kernel-alpha"
    with pytest.raises(UnknownName, match="compatibility"):
        GreedySolver(compatibility="nose")
    with pytest.raises(UnknownName, match="crossover"):
        GeneticSolver(crossover="nose")


def test_seam_confidence_by_hand():
    right = np.array([[0, 1.0, 9.0], [9.0, 0, 1.0], [5.0, 9.0, 0]])
    costs = SeamCosts(right, np.ones((3, 3)))
    across, below = seam_confidence(costs, Grid(1, 3), np.array([0, 1, 2]))
    assert across.shape == (1, 2)
    assert below.shape == (0, 3)
    assert (across > 0.9).all()
    wrong, _ = seam_confidence(costs, Grid(1, 3), np.array([1, 0, 2]))
    assert wrong.max() < 0.5
    pieces = piece_confidence(Grid(1, 3), np.array([2, 1, 0]), (np.array([[0.2, 0.6]]), below))
    np.testing.assert_allclose(pieces, [0.6, 0.4, 0.2])


def test_alternatives_are_sorted_and_start_with_the_answer():
    session = load_solver("genetic-kernel").prepare(square_puzzles(3)[0])
    solution = session.solve(seed=0, num_alternatives=5)
    energies = [layout.energy for layout in solution.alternatives]
    assert np.array_equal(solution.alternatives[0].position_of, solution.position_of)
    assert energies == sorted(energies)
    assert len(energies) == 5
