"""A solver of made-up open puzzles that reads the truth off their pixels."""

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle, Solution

FOREIGN = 200


def told_puzzle(puzzle: Puzzle) -> Puzzle:
    """The puzzle with its truth written into its pixels: red position, green turn, blue grid."""
    from dataclasses import replace

    pieces = puzzle.pieces.copy()
    truth = puzzle.truth
    turns = np.zeros(len(pieces)) if puzzle.true_turns is None else puzzle.true_turns
    pieces[..., 0] = np.where(truth < 0, FOREIGN, truth)[:, None, None]
    pieces[..., 1] = turns[:, None, None]
    pieces[..., 2] = 16 * puzzle.grid.rows + puzzle.grid.cols
    pieces[..., 3] = 255
    return replace(puzzle, pieces=pieces)


class OpenReader:
    """``wrong=1`` lays the first piece aside where that is allowed."""

    name = "open-reader"

    def __init__(self, wrong: int = 0) -> None:
        self.wrong = wrong

    def prepare(self, puzzle: Puzzle) -> "OpenReader":
        self.puzzle = puzzle
        return self

    def solve(self, *, seed, pinned=None, forbidden=(), num_alternatives=0) -> Solution:
        red, green, blue = (self.puzzle.pieces[:, 0, 0, c].astype(np.int64) for c in range(3))
        position_of = np.where(red == FOREIGN, -1, red)
        grid = Grid(int(blue[0]) // 16, int(blue[0]) % 16)
        if self.wrong and self.puzzle.conditions.foreign:
            position_of[0] = -1
        return Solution(
            position_of,
            self.name,
            confidence=np.linspace(0.5, 1, len(red)),
            grid=grid,
            turns=green if self.puzzle.conditions.turned else None,
            aside_prob=(position_of < 0) * 0.8 + 0.1,
            grid_prob=((grid, 0.75), (Grid(1, len(red)), 0.25)),
        )
