"""PuzzleFlow as a solver: encode once, refine from a random layout."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np

from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import ByteArray, FloatArray, IntArray
from puzzleflow.models.checkpoint import solver_weights
from puzzleflow.models.flow_engine import open_engine
from puzzleflow.models.flow_path import FlowStep, SamplerConfig, refine, vote
from puzzleflow.models.pixels import to_tensor
from puzzleflow.options import Within
from puzzleflow.solvers.base import Question, TimedSession
from puzzleflow.solvers.seam_prior import seam_prior


class FlowSolver:
    """The paper's solver: whole surfaces, one vector a piece, no seams.

    weights  a safetensors file, by default the bundled one, which runs in PyTorch;
             or a folder that ``puzzleflow export`` wrote, which runs in ONNX Runtime
    steps    S; assign "greedy" (paper) or "hungarian"; clock "paper" or "before"
    starts   random layouts refined side by side; more than one votes
    device   cpu, cuda, mps or auto; exported graphs run on the processor
    alpha    False hides the shape of pieces, as the paper's slicing to RGB does
    """

    name = "flow"
    bundled = "flow.safetensors"

    def __init__(
        self,
        weights: str | Path | None = None,
        steps: Annotated[int, Within(1)] = 20,
        assign: str = "greedy",
        clock: str = "paper",
        starts: Annotated[int, Within(1)] = 1,
        alpha: bool = True,
        device: str = "cpu",
    ) -> None:
        self.sampler = SamplerConfig(steps=steps, assign=assign, clock=clock)
        self.starts = starts
        self.weights = solver_weights(self.name, self.bundled) if weights is None else Path(weights)
        self.engine = open_engine(self.weights, device)
        self.alpha = alpha
        if not alpha:
            self.engine.slice_to_rgb()

    def prepare(self, puzzle: Puzzle) -> FlowSession:
        config, grid = self.engine.config, puzzle.closed_grid
        try:
            config.check(grid)
        except InputError as error:
            raise CannotSolve(str(error)) from error
        began = time.perf_counter()
        pieces = puzzle.pieces if self.alpha else without_shape(puzzle.pieces)
        pixels = to_tensor(pieces, config.piece_px).numpy()
        prior = seam_prior(pieces)[None] if config.relates else None
        features = self.engine.encode(pixels[None], prior)[0]  # (N, D)

        def step(x_t: IntArray, t: float) -> FloatArray:
            K = len(x_t)
            repeated = np.repeat(features[None], K, axis=0)  # (K, N, D)
            time_now = np.full(K, t, dtype=np.float32)
            logits = self.engine.step(repeated, x_t, time_now, grid).astype(np.float64)
            if not np.isfinite(logits).all():
                raise CannotSolve(f"{self.weights}: its network gives numbers that are not finite")
            return logits

        prepare_s = time.perf_counter() - began
        return FlowSession(self, step, grid.num_pieces, prepare_s)


class FlowSeamsSolver(FlowSolver):
    """Beyond the paper: a flow whose attention is told which pieces seem to touch."""

    name = "flow-seams"
    bundled = "flow_seams.safetensors"


def without_shape(pieces: ByteArray) -> ByteArray:
    """Pieces (N, H, W, 4) of which all is material: squares, black where there was nothing.

    Colours are then compared along the border of that square.
    """
    squares = np.where(pieces[..., 3:] > 0, pieces, 0).astype(np.uint8)
    squares[..., 3] = 255
    return squares


class FlowSession(TimedSession):
    """Cached features behind a step function."""

    def __init__(
        self, solver: FlowSolver, step: FlowStep, num_pieces: int, prepare_s: float
    ) -> None:
        self.name = solver.name
        self.sampler = solver.sampler
        self.starts = solver.starts
        self.step = step
        self.num_pieces = num_pieces
        self.prepare_s = prepare_s

    def answer(self, asked: Question) -> Solution:
        """Refine; a single start gives its own last layout, several give their vote."""
        allowed = asked.allowed(self.num_pieces)
        rng = child_rng(asked.seed, "flow")
        starts = np.stack([rng.permutation(self.num_pieces) for _ in range(self.starts)])
        refinement = refine(self.step, starts, self.sampler, allowed)
        voted, position_prob = vote(refinement.logits)
        position_of = refinement.layouts[-1, 0] if self.starts == 1 else voted
        trace = refinement.layouts[:, 0]
        if self.starts > 1:
            trace = np.concatenate([trace, voted[None]])
        return Solution(
            position_of=position_of,
            solver=self.name,
            confidence=position_prob[np.arange(self.num_pieces), position_of],
            position_prob=position_prob,
            trace=trace,
        )
