"""Inference: from a random layout, S steps of refinement on features encoded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.errors import UnknownName
from puzzleflow.core.types import BoolArray, FloatArray, IntArray

# state x_t (K, N) and time t in [0, 1] → logits (K, N, N) piece, position
FlowStep = Callable[[IntArray, float], FloatArray]

FORBIDDEN = -1e9


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
        if self.assign not in ASSIGNMENTS:
            raise UnknownName("assignment", self.assign, ASSIGNMENTS)
        if self.clock not in CLOCKS:
            raise UnknownName("clock", self.clock, CLOCKS)

    def time(self, step: int) -> float:
        """t at step 1 … S."""
        return CLOCKS[self.clock](step, self.steps)


@dataclass(frozen=True)
class Refinement:
    """layouts (S + 1, K, N): the start and the layout after every step; final logits (K, N, N)."""

    layouts: IntArray
    logits: FloatArray


def greedy_in_piece_order(logits: FloatArray) -> IntArray:
    """(N, N) logits → permutation: piece 0 chooses first, then piece 1 …"""
    logits = logits.copy()
    position_of = np.empty(len(logits), dtype=np.int64)
    for piece in range(len(logits)):
        position_of[piece] = logits[piece].argmax()
        logits[:, position_of[piece]] = -np.inf
    return position_of


def hungarian(logits: FloatArray) -> IntArray:
    """(N, N) logits → the permutation of the largest sum."""
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
             (pieces that have only one place choose first)
    """
    num_pieces = starts.shape[1]
    allowed = np.ones((num_pieces, num_pieces), bool) if allowed is None else allowed
    free = allowed.all()
    assign = ASSIGNMENTS[config.assign] if free else hungarian
    layouts = [starts if free else np.stack([_moved(start, allowed) for start in starts])]
    logits = np.zeros((len(starts), num_pieces, num_pieces))
    for s in range(1, config.steps + 1):
        check_cancelled()
        logits = np.where(allowed, step(layouts[-1], config.time(s)), FORBIDDEN)
        layouts.append(np.stack([assign(one) for one in logits]))
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
    kept = np.where(allowed, 0.0, FORBIDDEN)
    kept[np.arange(len(start)), start] += 1.0
    return hungarian(kept)
