"""Classical solvers: seconds per puzzle on one core against the paper's own times, and scores.

Puzzles are cut from the bundled sample pictures. The paper's supplement quotes
1-2 min (greedy) and 2-5 min (genetic) for 3x3, 5-10 and 15-30 min for 5x5 on
one core; the ratio below takes the lower end of each.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.generation.builder import build_puzzle
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.solvers.registry import load_solver

PIECE_PX = 128
QUOTED_S = {"greedy": {3: 60.0, 5: 300.0}, "genetic": {3: 120.0, 5: 900.0}}
SOLVERS = (
    "greedy",
    "greedy-alpha",
    "genetic",
    "genetic-alpha",
    "genetic-kernel",
    "genetic-kernel-alpha",
    "tabu",
    "tabu-alpha",
    "linear",
    "linear-alpha",
    "mgc-tree",
    "tree-alpha",
)


def puzzles(side: int, erosion: str) -> list[Puzzle]:
    grid, model = Grid(side, side), erosion_model(erosion)
    made = []
    for sample in list_samples():
        seeds = [child_seed(0, sample.name, i) for i in range(grid.num_pieces)]
        masks = model.masks(seeds, PIECE_PX, PIECE_PX)
        order = child_rng(0, sample.name, "order").permutation(grid.num_pieces)
        made.append(build_puzzle(load_sample(sample.name), grid, masks, order))
    return made


def measure(name: str, cut: list[Puzzle]) -> tuple[str, float]:
    """A line of the table, and the median seconds of processor time per puzzle."""
    solver = load_solver(name)
    solver.prepare(cut[0]).solve(seed=0)  # nothing is compiled while the clock runs
    spent, answers = [], []
    for puzzle in cut:
        before = time.process_time()
        answers.append(solver.prepare(puzzle).solve(seed=0).position_of)
        spent.append(time.process_time() - before)
    scores = score(np.stack(answers), np.stack([p.truth for p in cut]), cut[0].grid)
    shares = (scores.perfect_accuracy, scores.absolute_accuracy, scores.relation_accuracy)
    text = " | ".join(f"{100 * share:.1f}" for share in shares)
    seconds = float(np.median(spent))
    return f"{text} | {seconds:.3f}", seconds


def main(erosions: tuple[str, ...] = ("none", "fixed:12", "vae")) -> None:
    print("| erosion | grid | solver | PA % | AA % | SRA % | s/puzzle | quoted / ours |")
    print("|---|---|---|---|---|---|---|---|")
    for erosion in erosions:
        for side in (3, 5):
            cut = puzzles(side, erosion)
            for name in SOLVERS:
                line, seconds = measure(name, cut)
                quoted = QUOTED_S.get(name.partition("-")[0], {}).get(side)
                ratio = f"{quoted / seconds:,.0f}" if quoted else "–"
                print(f"| {erosion} | {side}x{side} | {name} | {line} | {ratio} |", flush=True)


if __name__ == "__main__":
    main(*((tuple(sys.argv[1:]),) if len(sys.argv) > 1 else ()))
