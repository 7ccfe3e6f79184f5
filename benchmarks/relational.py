"""The relational solver end to end: encode in batches, relate, search, marginals."""

from __future__ import annotations

import time

import torch

from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_seed
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.solvers.relational import RelationalSolver


def puzzle_of(sample: str, grid: Grid, seed: int) -> Puzzle:
    return cut_puzzle(load_sample(sample), grid, "outline", child_seed(seed, sample))


def main() -> None:
    torch.set_num_threads(2)
    solver = RelationalSolver()
    names = [sample.name for sample in list_samples()]
    print("| grid | puzzles | prepare ms | solve ms | again with a pin ms |")
    print("|---|---|---|---|---|")
    for grid, num in ((Grid(3, 3), 16), (Grid(5, 5), 8), (Grid(10, 10), 1)):
        puzzles = [puzzle_of(name, grid, 0) for name in names[:num]]
        solver.prepare_many(puzzles)[0].solve(seed=0)  # warm: kernels compiled
        began = time.perf_counter()
        sessions = solver.prepare_many(puzzles)
        prepared = time.perf_counter()
        solutions = [session.solve(seed=0) for session in sessions]
        solved = time.perf_counter()
        for session, solution in zip(sessions, solutions, strict=True):
            session.solve(seed=0, pinned={0: int(solution.position_of[0])})
        pinned = time.perf_counter()
        times = [1000 * t / num for t in (prepared - began, solved - prepared, pinned - solved)]
        print(f"| {grid} | {num} | " + " | ".join(f"{t:.0f}" for t in times) + " |", flush=True)


if __name__ == "__main__":
    main()
