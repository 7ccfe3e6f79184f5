"""PuzzleFlow as a solver: encode once, refine from a random layout."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.checkpoint import bundled_weights, load_weights, restore
from puzzleflow.models.flow_sampler import FlowStep, SamplerConfig, refine, vote
from puzzleflow.models.pixels import to_tensor
from puzzleflow.models.puzzleflow import FlowConfig, build_puzzleflow
from puzzleflow.solvers.base import allowed_placements

WEIGHTS = "flow.safetensors"


class FlowSolver:
    """The paper's solver.

    weights  a safetensors file, by default the bundled one
    steps    S; assign "greedy" (paper) or "hungarian"; clock "paper" or "before"
    starts   random layouts refined side by side; more than one votes
    """

    name = "flow"

    def __init__(
        self,
        weights: str | Path | None = None,
        steps: int = 20,
        assign: str = "greedy",
        clock: str = "paper",
        starts: int = 1,
    ) -> None:
        path = bundled_weights(WEIGHTS) if weights is None else Path(weights)
        tensors, described = load_weights(path)
        self.network = build_puzzleflow(FlowConfig.from_dict(described["network"]))
        restore(self.network, tensors, path).eval()
        if starts < 1 or steps < 1:
            raise InputError("steps and starts are whole numbers from 1")
        self.sampler = SamplerConfig(steps=steps, assign=assign, clock=clock)
        self.starts = starts

    def prepare(self, puzzle: Puzzle) -> FlowSession:
        try:
            self.network.check(puzzle.grid)
        except InputError as error:
            raise CannotSolve(str(error)) from error
        began = time.perf_counter()
        grid = puzzle.grid
        with torch.inference_mode():
            pixels = to_tensor(puzzle.pieces, self.network.config.piece_px)
            features = self.network.encode(pixels[None])  # (1, N, D)

        @torch.inference_mode()
        def step(x_t: IntArray, t: float) -> FloatArray:
            K = len(x_t)
            logits = self.network.step(
                features.expand(K, -1, -1), torch.from_numpy(x_t), torch.full((K,), t), grid
            )
            return logits.double().numpy()

        prepare_s = time.perf_counter() - began
        return FlowSession(step, grid.num_pieces, self.sampler, self.starts, prepare_s)


class FlowSession:
    """Cached features behind a step function."""

    def __init__(
        self, step: FlowStep, num_pieces: int, sampler: SamplerConfig, starts: int, prepare_s: float
    ) -> None:
        self.step = step
        self.num_pieces = num_pieces
        self.sampler = sampler
        self.starts = starts
        self.prepare_s = prepare_s

    def solve(
        self,
        *,
        seed: int,
        pinned: Mapping[int, int] | None = None,
        forbidden: Sequence[tuple[int, int]] = (),
        num_alternatives: int = 0,
    ) -> Solution:
        """Refine; a single start gives its own last layout, several give their vote."""
        began = time.perf_counter()
        allowed = allowed_placements(self.num_pieces, pinned, forbidden)
        rng = child_rng(seed, "flow")
        starts = np.stack([rng.permutation(self.num_pieces) for _ in range(self.starts)])
        refinement = refine(self.step, starts, self.sampler, allowed)
        voted, position_prob = vote(refinement.logits)
        position_of = refinement.layouts[-1, 0] if self.starts == 1 else voted
        trace = refinement.layouts[:, 0]
        if self.starts > 1:
            trace = np.concatenate([trace, voted[None]])
        return Solution(
            position_of=position_of,
            solver=FlowSolver.name,
            seconds=self.prepare_s + time.perf_counter() - began,
            confidence=position_prob[np.arange(self.num_pieces), position_of],
            position_prob=position_prob,
            trace=trace,
        )
