"""Pieces that somebody has pinned rightly help the others."""

import numpy as np
import pytest

from puzzleflow import Grid, cut_puzzle, load_sample, load_solver
from puzzleflow.core.rng import child_rng
from puzzleflow.samples import list_samples


@pytest.mark.slow
def test_right_pins_never_cost_accuracy() -> None:
    """200 puzzles, 1, 2 and 4 right pins: of the other pieces at least as many lie right."""
    solver = load_solver("relational")
    samples = [sample.name for sample in list_samples()]
    right: dict[int, list[int]] = {1: [], 2: [], 4: []}
    before: dict[int, list[int]] = {1: [], 2: [], 4: []}
    for number in range(200):
        grid = Grid(4, 4) if number % 8 == 0 else Grid(3, 3)
        puzzle = cut_puzzle(load_sample(samples[number % len(samples)]), grid, "gap", number)
        truth = np.asarray(puzzle.truth)
        session = solver.prepare(puzzle.without_truth())
        freely = session.solve(seed=0).position_of == truth
        for num_pins in right:
            pins = child_rng(0, number, num_pins).choice(len(truth), num_pins, replace=False)
            pinned = session.solve(seed=0, pinned={int(p): int(truth[p]) for p in pins})
            others = np.setdiff1d(np.arange(len(truth)), pins)
            assert (pinned.position_of == truth)[pins].all()
            right[num_pins].append(int((pinned.position_of == truth)[others].sum()))
            before[num_pins].append(int(freely[others].sum()))
    for num_pins in right:
        assert sum(right[num_pins]) >= sum(before[num_pins])
    assert sum(right[4]) > sum(before[4])  # some puzzles are hard, and four pins tell much
