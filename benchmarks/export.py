"""The flow solver's engines: PyTorch, ONNX Runtime, and ONNX Runtime with int8 matrices.

Same weights, same puzzles, same seeds, one thread; processor time, which other work on the
machine does not lengthen, median of all puzzles, engines taking turns puzzle by puzzle.
Puzzles are cut from the bundled pictures, which no training sees, with fresh masks. Weights:
the bundled ones, or those that EXPORT_WEIGHTS names.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from puzzleflow.core.grid import Grid
from puzzleflow.core.intervals import bootstrap_mean, percent
from puzzleflow.core.metrics import score
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.generation.builder import build_puzzle
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.models.checkpoint import bundled_weights
from puzzleflow.models.export import export_flow, quantise_graphs
from puzzleflow.models.flow_engine import FlowEngine, read_flow
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.solvers.flow import FlowSeamsSolver, FlowSolver

ROUNDS = {Grid(3, 3): 4, Grid(5, 5): 4}  # puzzles of each picture
EROSION = "vae"


@dataclass
class Runs:
    """What one engine did on the puzzles of one grid, in their order."""

    encode_s: list[float] = field(default_factory=list)
    steps_s: list[float] = field(default_factory=list)
    whole_s: list[float] = field(default_factory=list)
    layouts: list[IntArray] = field(default_factory=list)


def puzzles_of(grid: Grid, rounds: int) -> list[Puzzle]:
    model = erosion_model(EROSION)
    puzzles = []
    for round_ in range(rounds):
        for sample in list_samples():
            place = (str(grid), round_, sample.name)
            seeds = [child_seed(0, "mask", *place, cell) >> 1 for cell in range(grid.num_pieces)]
            masks = model.masks(seeds, 128, 128)
            positions = child_rng(0, "order", *place).permutation(grid.num_pieces)
            puzzles.append(build_puzzle(load_sample(sample.name), grid, masks, positions))
    return puzzles


class TimedEngine:
    """An engine that counts its processor seconds."""

    def __init__(self, engine: FlowEngine) -> None:
        self.engine = engine
        self.config = engine.config
        self.encode_s = self.steps_s = 0.0

    def encode(self, pixels: FloatArray, prior: FloatArray | None = None) -> FloatArray:
        begun = time.process_time()
        features = self.engine.encode(pixels, prior)
        self.encode_s = time.process_time() - begun
        self.steps_s = 0.0
        return features

    def step(self, features: FloatArray, x_t: IntArray, t: FloatArray, grid: Grid) -> FloatArray:
        begun = time.process_time()
        logits = self.engine.step(features, x_t, t, grid)
        self.steps_s += time.process_time() - begun
        return logits


def run(solver: FlowSolver, puzzle: Puzzle, seed: int, runs: Runs) -> None:
    assert isinstance(solver.engine, TimedEngine)
    begun = time.process_time()
    solution = solver.prepare(puzzle.without_truth()).solve(seed=seed)
    runs.whole_s.append(time.process_time() - begun)
    runs.encode_s.append(solver.engine.encode_s)
    runs.steps_s.append(solver.engine.steps_s)
    runs.layouts.append(solution.position_of)


def show(grid: Grid, puzzles: list[Puzzle], done: dict[str, Runs], sizes: dict[str, float]) -> None:
    truths = np.stack([puzzle.truth for puzzle in puzzles if puzzle.truth is not None])
    reference = done["PyTorch"]
    expected = np.stack(reference.layouts)
    for name, runs in done.items():
        layouts = np.stack(runs.layouts)
        scores = score(layouts, truths, grid)
        same = (layouts == expected).all(axis=1)
        gained = (layouts == truths).mean(axis=1) - (expected == truths).mean(axis=1)  # (puzzles,)
        change = percent(bootstrap_mean(gained))
        whole_s, reference_s = np.median(runs.whole_s), np.median(reference.whole_s)
        print(
            f"| {grid} | {name} | {sizes[name]:.1f} | {1000 * np.median(runs.encode_s):.1f} "
            f"| {1000 * np.median(runs.steps_s):.1f} | {1000 * whole_s:.0f} "
            f"| {reference_s / whole_s:.1f} | {100 * same.mean():.1f} "
            f"| {100 * scores.perfect_accuracy:.1f} | {100 * scores.absolute_accuracy:.1f} "
            f"| {100 * scores.relation_accuracy:.1f} "
            f"| {change.value:+.1f} [{change.low:+.1f}, {change.high:+.1f}] |",
            flush=True,
        )


def main() -> None:
    torch.set_num_threads(1)
    weights = Path(os.environ.get("EXPORT_WEIGHTS") or bundled_weights(FlowSeamsSolver.bundled))
    with tempfile.TemporaryDirectory() as folder:
        places = {"PyTorch": weights}
        places |= {name: Path(folder) / name for name in ("ONNX", "ONNX int8")}
        export_flow(read_flow(weights), places["ONNX"])
        quantise_graphs(places["ONNX"], places["ONNX int8"])
        sizes = {
            name: sum(f.stat().st_size for f in (path.iterdir() if path.is_dir() else [path])) / 1e6
            for name, path in places.items()
        }
        solvers = {name: FlowSolver(weights=path) for name, path in places.items()}
    for solver in solvers.values():
        solver.engine = TimedEngine(solver.engine)
    print(
        "| grid | engine | MB | encode ms | 20 steps ms | puzzle ms | times PyTorch "
        "| same layouts % | PA % | AA % | SRA % | AA − PyTorch's [95 %] |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for grid, rounds in ROUNDS.items():
        puzzles = puzzles_of(grid, rounds)
        done = {name: Runs() for name in solvers}
        for solver in solvers.values():
            run(solver, puzzles[0], 0, Runs())  # warm: kernels compiled
        for number, puzzle in enumerate(puzzles):
            for name, solver in solvers.items():
                run(solver, puzzle, number, done[name])
        show(grid, puzzles, done, sizes)


if __name__ == "__main__":
    main()
