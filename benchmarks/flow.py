"""PuzzleFlow: seconds and memory a puzzle, encoding once or every step, training a second.

ViT-B (preset ``paper``) and the preset ``small``, both with random weights: the work is
the same. Every line is a process of its own with one thread, so that its peak resident
memory is its own; seconds are processor time, which other work on the machine does not
lengthen, with the wall clock in brackets.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.relational import puzzle_of

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.flow_path import FlowPath, SamplerConfig, refine
from puzzleflow.models.pixels import to_tensor
from puzzleflow.models.puzzleflow import PuzzleFlow, build_puzzleflow, flow_preset
from puzzleflow.samples import list_samples
from puzzleflow.solvers.seam_prior import seam_prior
from puzzleflow.training.flow import FlowBatch, FlowTraining, flow_loss

STEPS = 20
NAMES = {"paper": "ViT-B", "small-seams": "small-seams"}
REPEATS = {"paper": 1, "small-seams": 5}
TRAINED_PUZZLES = {"paper": 1, "small-seams": 16}  # in a batch; 16 are 144 pieces
TRAINED_STEPS = {"paper": 1, "small-seams": 4}


@dataclass
class Timer:
    """Processor and wall seconds of a block."""

    cpu_s: float = 0.0
    wall_s: float = 0.0

    def __enter__(self) -> Timer:
        self._begun = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s = time.process_time() - self._begun[0]
        self.wall_s = time.perf_counter() - self._begun[1]


def median(timers: list[Timer]) -> Timer:
    return sorted(timers, key=lambda timer: timer.cpu_s)[len(timers) // 2]


def network_for(preset: str, grid: Grid) -> PuzzleFlow:
    config = flow_preset(preset)
    if config.num_positions is not None:
        config = replace(config, num_positions=grid.num_pieces)
    torch.manual_seed(0)
    return build_puzzleflow(config).eval()


def encoder_of(network: PuzzleFlow, grid: Grid) -> Callable[[], torch.Tensor]:
    """Pieces of a bundled picture → features, from pixels on, as a solver does it."""
    puzzle = puzzle_of(list_samples()[0].name, grid, 0)

    def encode() -> torch.Tensor:
        pixels = to_tensor(puzzle.pieces, network.config.piece_px)[None]
        prior = None
        if network.config.relates:
            prior = torch.from_numpy(seam_prior(puzzle.pieces))[None]
        return network.encode(pixels, prior)

    return encode


@torch.inference_mode()
def solve(preset: str, grid: Grid) -> dict[str, float]:
    """One puzzle with S = 20; with ViT-B encoding every step is measured for 3x3 only.

    Of the small model medians: one puzzle is over in a fraction of a second.
    """
    network = network_for(preset, grid)
    encode = encoder_of(network, grid)
    start = np.arange(grid.num_pieces)[None]
    cached = torch.empty(0)

    def refined(features: Callable[[], torch.Tensor]) -> Timer:
        def step(x_t: IntArray, t: float) -> FloatArray:
            state, when = torch.from_numpy(x_t), torch.tensor([t])
            logits: FloatArray = network.step(features(), state, when, grid).double().numpy()
            return logits

        with Timer() as timer:
            refine(step, start, SamplerConfig(steps=STEPS))
        return timer

    def encoded() -> Timer:
        nonlocal cached
        with Timer() as timer:
            cached = encode()
        return timer

    repeats = REPEATS[preset]
    if repeats > 1:
        refined(encode)  # warm: kernels compiled
    encoding = median([encoded() for _ in range(repeats)])
    refining = median([refined(lambda: cached) for _ in range(repeats)])
    once_s = encoding.cpu_s + refining.cpu_s
    measured = preset != "paper" or grid.num_pieces == 9
    every_s = (
        median([refined(encode) for _ in range(repeats)]).cpu_s
        if measured
        else STEPS * encoding.cpu_s + refining.cpu_s
    )
    return {
        "encode_s": encoding.cpu_s,
        "steps_s": refining.cpu_s,
        "once_s": once_s,
        "once_wall_s": encoding.wall_s + refining.wall_s,
        "ratio": every_s / once_s,
        "measured": measured,
        "peak_mb": peak_mb(),
    }


def train(preset: str, grid: Grid) -> dict[str, float]:
    """Forward, backward and AdamW on puzzles that are there already."""
    network = network_for(preset, grid).train()
    settings = FlowTraining().recipe("paper").settings
    optimizer = torch.optim.AdamW(
        [p for p in network.parameters() if p.requires_grad],
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
    )
    num = TRAINED_PUZZLES[preset]
    puzzles = [puzzle_of(sample.name, grid, 0) for sample in list_samples()[:num]]
    pixels = torch.stack([to_tensor(p.pieces, network.config.piece_px) for p in puzzles])
    truths = torch.from_numpy(np.stack([p.truth for p in puzzles if p.truth is not None]))
    prior = None
    if network.config.relates:
        prior = torch.from_numpy(np.stack([seam_prior(p.pieces) for p in puzzles]))
    sample = FlowPath().sample(truths, torch.Generator().manual_seed(0))
    states = {"x_t": sample.x_t[:, None], "t": sample.t[:, None]}  # one a puzzle
    batch = FlowBatch((pixels * 255).byte(), truths, grid, prior, **states)

    def update() -> None:
        loss = flow_loss(network, batch)["loss"]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    steps = TRAINED_STEPS[preset]
    if preset == "small-seams":
        update()  # warm
    with Timer() as timer:
        for _ in range(steps):
            update()
    return {
        "puzzles": num,
        "per_cpu_s": steps * num / timer.cpu_s,
        "per_wall_s": steps * num / timer.wall_s,
        "peak_mb": peak_mb(),
    }


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kB on Linux


def in_own_process(what: str, preset: str, grid: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.flow", what, preset, grid],
        cwd=Path(__file__).resolve().parent.parent,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    print("| model | N | encode s | 20 steps s | puzzle s (wall) | every / once | peak MB |")
    print("|---|---|---|---|---|---|---|")
    for preset, name in NAMES.items():
        for grid in ("3x3", "5x5"):
            f = in_own_process("solve", preset, grid)
            ratio = f"{f['ratio']:.1f}" + ("" if f["measured"] else " (computed)")
            print(
                f"| {name} | {Grid.parse(grid).num_pieces} | {f['encode_s']:.3g} "
                f"| {f['steps_s']:.3g} | {f['once_s']:.3g} ({f['once_wall_s']:.3g}) | {ratio} "
                f"| {f['peak_mb']:.0f} |",
                flush=True,
            )
    print("\n| training, 3x3 | puzzles in a batch | puzzles/s of one core (wall) | peak MB |")
    print("|---|---|---|---|")
    for preset, name in NAMES.items():
        f = in_own_process("train", preset, "3x3")
        rates = f"{f['per_cpu_s']:.3g} ({f['per_wall_s']:.3g})"
        print(f"| {name} | {f['puzzles']} | {rates} | {f['peak_mb']:.0f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        torch.set_num_threads(1)
        work = {"solve": solve, "train": train}[sys.argv[1]]
        print(json.dumps(work(sys.argv[2], Grid.parse(sys.argv[3]))))
    else:
        main()
