"""Hundreds of pieces: what issue 18 asks of whole pictures without erosion."""

from __future__ import annotations

import pytest

from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.solvers.relational import RelationalSolver


@pytest.mark.slow
@pytest.mark.parametrize("side", [20, 30])
def test_a_large_puzzle_without_erosion_is_nearly_solved(side: int) -> None:
    grid = Grid(side, side)
    puzzle = cut_puzzle(load_sample(list_samples()[1].name), grid, "none", 1, piece_px=28)
    solution = RelationalSolver().prepare(puzzle.without_truth()).solve(seed=0)
    assert puzzle.truth is not None
    print(f"{grid}: {solution.seconds:.1f} s")
    assert score(solution.position_of, puzzle.truth, grid).relation_accuracy >= 0.97
