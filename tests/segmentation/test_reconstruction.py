"""From a photograph of eroded fragments to the picture, with the default solver."""

import numpy as np
from photographs import GROUNDS, Conditions, compose_photograph

from puzzleflow.core.canvas import equal_cells
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.generation.builder import build_puzzle
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.samples import load_sample
from puzzleflow.segmentation import segment
from puzzleflow.solvers.registry import DEFAULT_SOLVER, load_solver

PICTURES = ("harvesters", "irises", "grande-jatte", "goldsmith")


def test_photographed_fragments_are_put_together_again() -> None:
    grid, solver, erosion = Grid(3, 3), load_solver(DEFAULT_SOLVER), erosion_model("vae")
    num_solved = 0
    for number, name in enumerate(PICTURES):
        masks = erosion.masks(range(100 * number, 100 * number + 9), 160, 160)
        cut = build_puzzle(load_sample(name), grid, masks, child_rng(5, number).permutation(9))
        conditions = Conditions(ground=GROUNDS["slate"], gap_px=24)
        photograph = compose_photograph(cut.pieces, conditions, seed=number)
        fragments = segment(photograph.pixels).fragments
        assert len(fragments) == 9, name
        cells = equal_cells([fragment.pixels for fragment in fragments])
        session = solver.prepare(Puzzle(cells, grid))
        num_solved += bool(np.array_equal(session.solve(seed=0).position_of, cut.truth))
    assert num_solved >= 3
