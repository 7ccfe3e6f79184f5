"""The probability path between a random layout and the true one, and the way along it.

π_t^(i) = π_1^(i) with probability α(t), else π_0^(i);  π_0 uniform over permutations. At
inference S steps of refinement lead from a random layout on, on features encoded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch import Tensor

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.errors import check_known
from puzzleflow.core.types import BoolArray, FloatArray, IntArray

SCHEDULES: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda t: t,
    "cosine": lambda t: 1 - torch.cos(0.5 * math.pi * t),
}
# state x_t (K, N) and time t in [0, 1] → logits (K, N, N) piece, position
FlowStep = Callable[[IntArray, float], FloatArray]

FORBIDDEN = -1e9


@dataclass(frozen=True)
class PathSample:
    """States of B puzzles: x_0, x_1, x_t (B, N) positions and t (B,)."""

    x_0: Tensor
    x_1: Tensor
    x_t: Tensor
    t: Tensor


@dataclass(frozen=True)
class FlowPath:
    """The interpolation with schedule α: "linear" (the paper) or "cosine"."""

    schedule: str = "linear"

    def __post_init__(self) -> None:
        check_known("flow schedule", self.schedule, SCHEDULES)

    def alpha(self, t: Tensor) -> Tensor:
        """Probability that a piece already lies at its target."""
        return SCHEDULES[self.schedule](t)

    def start(self, num_puzzles: int, num_pieces: int, generator: torch.Generator) -> Tensor:
        """(B, N) uniform permutations."""
        return torch.rand(num_puzzles, num_pieces, generator=generator).argsort(dim=1)

    def sample(
        self, x_1: Tensor, generator: torch.Generator, t: Tensor | None = None
    ) -> PathSample:
        """x_t for targets ``x_1`` (B, N), at times ``t`` or uniform ones."""
        B, N = x_1.shape
        t = torch.rand(B, generator=generator) if t is None else t
        x_0 = self.start(B, N, generator)
        arrived = torch.rand(B, N, generator=generator) < self.alpha(t)[:, None]
        return PathSample(x_0=x_0, x_1=x_1, x_t=torch.where(arrived, x_1, x_0), t=t)


@dataclass(frozen=True)
class SamplerConfig:
    """The paper's procedure by default.

    steps   S
    assign  "greedy": in piece order, each the best position still free;
            "hungarian": the best permutation
    clock   "paper": t = s / S for s = 1 … S;
            "before": t = (s − 1) / S, which never claims that all is right
    """

    steps: int = 20
    assign: str = "greedy"
    clock: str = "paper"

    def __post_init__(self) -> None:
        check_known("assignment", self.assign, ASSIGNMENTS)
        check_known("clock", self.clock, CLOCKS)

    def time(self, step: int) -> float:
        """t at step 1 … S."""
        return CLOCKS[self.clock](step, self.steps)


@dataclass(frozen=True)
class Refinement:
    """layouts (S + 1, K, N): the start and the layout after every step; final logits (K, N, N)."""

    layouts: IntArray
    logits: FloatArray


def greedy_in_piece_order(logits: FloatArray, allowed: BoolArray | None = None) -> IntArray:
    """(N, N) logits → permutation: piece 0 chooses first, then piece 1 …

    Each takes the best free position among the ``allowed`` ones that leaves a layout to the rest.
    """
    num_pieces = len(logits)
    left = np.ones((num_pieces, num_pieces), bool) if allowed is None else allowed.copy()
    may_fail = not _pins_only(left)
    position_of = np.empty(num_pieces, dtype=np.int64)
    for piece in range(num_pieces):
        best_first = np.argsort(-np.where(left[piece], logits[piece], -np.inf), kind="stable")
        for position in best_first:
            rest = left[piece + 1 :].copy()
            rest[:, position] = False
            if not may_fail or _has_layout(rest):
                break
        position_of[piece] = position
        left[:, position] = False
    return position_of


def _pins_only(allowed: BoolArray) -> bool:
    """Whether pieces that have a choice may lie wherever no other piece is pinned."""
    pinned = allowed.sum(axis=1) == 1  # (N,)
    open_to_all = ~allowed[pinned].any(axis=0)  # (N,) position
    return bool((allowed[~pinned] == open_to_all).all())


def _has_layout(allowed: BoolArray) -> bool:
    """Whether every piece (row) can have an allowed position (column) of its own."""
    if not len(allowed):
        return True
    matching = maximum_bipartite_matching(csr_array(allowed), perm_type="column")
    return bool((matching >= 0).all())


def hungarian(logits: FloatArray, allowed: BoolArray | None = None) -> IntArray:
    """(N, N) logits → the ``allowed`` permutation of the largest sum."""
    if allowed is not None:
        logits = np.where(allowed, logits, FORBIDDEN)
    _, position_of = linear_sum_assignment(logits, maximize=True)
    return position_of.astype(np.int64)  # type: ignore[no-any-return]


ASSIGNMENTS = {"greedy": greedy_in_piece_order, "hungarian": hungarian}
CLOCKS: dict[str, Callable[[int, int], float]] = {
    "paper": lambda step, steps: step / steps,
    "before": lambda step, steps: (step - 1) / steps,
}


def refine(
    step: FlowStep, starts: IntArray, config: SamplerConfig, allowed: BoolArray | None = None
) -> Refinement:
    """Refine K layouts (K, N) side by side.

    allowed  (N, N) True where a piece may lie; placements outside are never made
    """
    num_pieces = starts.shape[1]
    allowed = np.ones((num_pieces, num_pieces), bool) if allowed is None else allowed
    assign = ASSIGNMENTS[config.assign]
    layouts = [starts if allowed.all() else np.stack([_moved(start, allowed) for start in starts])]
    logits = np.zeros((len(starts), num_pieces, num_pieces))
    for s in range(1, config.steps + 1):
        check_cancelled()
        logits = np.where(allowed, step(layouts[-1], config.time(s)), FORBIDDEN)
        layouts.append(np.stack([assign(one, allowed) for one in logits]))
    return Refinement(np.stack(layouts), logits)


def vote(logits: FloatArray) -> tuple[IntArray, FloatArray]:
    """Final logits of K starts → one permutation, and the mean probabilities (N, N)."""
    shifted = logits - logits.max(axis=2, keepdims=True)
    prob = np.exp(shifted)
    prob /= prob.sum(axis=2, keepdims=True)
    mean = prob.mean(axis=0)
    return hungarian(np.log(mean + 1e-12)), mean


def _moved(start: IntArray, allowed: BoolArray) -> IntArray:
    """The start with as few pieces moved as ``allowed`` asks for."""
    return hungarian(np.eye(len(start))[start], allowed)
