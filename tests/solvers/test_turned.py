"""The open world without learning: four copies a piece, and candidates of an energy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Grid
from puzzleflow.core.open_facts import open_answer
from puzzleflow.core.open_metrics import OpenTruth, score_open
from puzzleflow.core.puzzle import Layout, Puzzle, all_turns, turned_pieces
from puzzleflow.core.rng import child_rng
from puzzleflow.generation.builder import opened
from puzzleflow.solvers.registry import load_solver

PX = 16
BY_COPIES = ["linear", "linear-alpha", "mgc-tree", "tree-alpha"]
ALL = [*BY_COPIES, "search-alpha"]


def wavy(grid, seed=0):
    """Square pieces of a picture whose colours run on smoothly: no seam can be mistaken."""
    rng = child_rng(seed, "wavy")
    y, x = np.mgrid[: grid.rows * PX, : grid.cols * PX] / PX
    waves = [
        sum(np.sin(fy * y + fx * x + phase) for fy, fx, phase in rng.normal(0, 1.6, (4, 3)))
        for _ in range(3)
    ]
    picture = np.clip(128 + 45 * np.stack(waves, axis=-1), 0, 255).astype(np.uint8)
    cells = picture.reshape(grid.rows, PX, grid.cols, PX, 3).swapaxes(1, 2).reshape(-1, PX, PX, 3)
    pieces = np.concatenate([cells, np.full_like(cells[..., :1], 255)], axis=-1)
    truth = rng.permutation(grid.num_pieces)
    return Puzzle(pieces[truth], grid, truth=truth)


def scores(puzzle, solution):
    layout = Layout(solution.position_of, grid=solution.grid, turns=solution.turns)
    answer = open_answer(layout, puzzle.grid, solution.aside_prob, solution.confidence)
    truth = OpenTruth(puzzle.truth, puzzle.grid, puzzle.conditions, puzzle.true_turns)
    return score_open([answer], [truth])


def aligned(puzzle, name):
    solution = load_solver(name).prepare(puzzle.without_truth()).solve(seed=0)
    return float(scores(puzzle, solution).per_puzzle("perfect_aligned")[0])


def test_all_turns_by_hand():
    piece = np.zeros((2, 2, 2, 4), np.uint8)
    piece[1, 0, 1] = 9  # piece 1, upper right
    turned = all_turns(piece)
    assert turned.shape == (8, 2, 2, 4)
    assert [np.argwhere(turned[k, ..., 0]).tolist() for k in (4, 5, 6, 7)] == [
        [[0, 1]], [[0, 0]], [[1, 0]], [[1, 1]]
    ]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("grid", [Grid(2, 2), Grid(3, 3), Grid(2, 3)], ids=str)
def test_turned_pieces_are_laid_right_up_to_a_turn_of_the_whole(name, grid):
    for seed in range(2):
        puzzle = opened(wavy(grid, seed), Conditions(turned=True), seed)
        assert aligned(puzzle, name) == 1.0


@pytest.mark.parametrize("name", ["linear-alpha", "search-alpha"])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 50), turn=st.integers(1, 3))
def test_turning_everything_turns_the_answer_alone(name, seed, turn):
    puzzle = opened(wavy(Grid(2, 3), seed % 3), Conditions(turned=True), seed)
    moved = replace(
        puzzle,
        pieces=turned_pieces(puzzle.pieces, np.full(6, turn)),
        true_turns=(puzzle.true_turns - turn) % 4,
    )
    assert aligned(puzzle, name) == aligned(moved, name) == 1.0


@pytest.mark.parametrize("name", ALL)
def test_pins_are_honoured_and_turns_are_told(name):
    puzzle = opened(wavy(Grid(2, 3)), Conditions(turned=True), 0).without_truth()
    solution = load_solver(name).prepare(puzzle).solve(seed=0, pinned={3: 1}, num_alternatives=1)
    assert solution.position_of[3] == 1
    assert solution.turns.shape == (6,)
    assert solution.alternatives[0].turns.tolist() == solution.turns.tolist()


@pytest.mark.parametrize("name", BY_COPIES)
@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(missing=1),
        Conditions(turned=True, missing=1),
        Conditions(turned=True, hidden=True),
    ],
    ids=str,
)
def test_copies_want_every_piece_and_the_grid(name, conditions):
    puzzle = opened(wavy(Grid(2, 3)), conditions, 0).without_truth()
    with pytest.raises(CannotSolve):
        load_solver(name).prepare(puzzle)


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(missing=1),
        Conditions(foreign=1),
        Conditions(missing=1, foreign=1),
        Conditions(hidden=True),
        Conditions(turned=True, foreign=1, hidden=True),
    ],
    ids=str,
)
def test_search_alpha_in_the_open_world(conditions):
    grid, stranger = Grid(3, 3), wavy(Grid(3, 3), seed=7)
    found = []
    for seed in range(3):
        puzzle = opened(wavy(grid, seed), conditions, seed, [stranger])
        solution = load_solver("search-alpha").prepare(puzzle.without_truth()).solve(seed=0)
        found.append(scores(puzzle, solution))
        if conditions.foreign and not conditions.missing:
            assert (solution.position_of == -1).tolist() == (puzzle.truth == -1).tolist()
            assert solution.aside_prob.argmax() == int((puzzle.truth == -1).argmax())
    name = "perfect_aligned" if conditions.hidden or conditions.turned else "perfect"
    assert np.mean([one.per_puzzle(name)[0] for one in found]) >= 2 / 3
