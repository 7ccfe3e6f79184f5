"""The weights of the energy's terms by maximum likelihood, and how far to trust such a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.grid import Direction
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search import posterior
from puzzleflow.search.posterior import Posterior
from puzzleflow.solvers.relational_energy import WEIGHTS, EnergyWeights, Parts

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)  # of the way from the weights before to what was fitted
FACTORS = (1.0, 1.15, 1.3, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)  # of all weights
LEAST = 1e-4  # probability that counts: one impossible piece does not decide all
LOWEST = np.array([-np.inf if name in ("gap", "aside") else 0.0 for name in WEIGHTS])


@dataclass(frozen=True, eq=False)
class Example:
    """The parts of a puzzle's energy, and the true layout.

    candidate_at  (P,) the candidate at every position; which of several empty
                  places lies where makes no difference
    """

    parts: Parts
    candidate_at: IntArray


def observed(example: Example) -> FloatArray:
    """(F,) what each weight multiplies in the true layout."""
    parts, at = example.parts, example.candidate_at
    rights = at[parts.grid.neighbours(Direction.RIGHT)]
    downs = at[parts.grid.neighbours(Direction.DOWN)]
    placed: FloatArray = parts.unary[:, at, np.arange(len(at))].sum(axis=1)
    across: FloatArray = parts.right[:, rights[:, 0], rights[:, 1]].sum(axis=1)
    along: FloatArray = parts.down[:, downs[:, 0], downs[:, 1]].sum(axis=1)
    return placed + across + along


def expected(parts: Parts, belief: Posterior) -> FloatArray:
    """(F,) the same as the posterior expects it."""
    pairs = (
        (parts.unary, belief.position_prob),
        (parts.right, belief.right_prob),
        (parts.down, belief.down_prob),
    )
    total: FloatArray = np.sum([np.tensordot(part, prob, axes=2) for part, prob in pairs], axis=0)
    return total


def fit_weights(
    examples: Sequence[Example],
    *,
    initial: EnergyWeights | None = None,
    ridge: float = 0.05,
    rounds: int = 25,
    seed: int = 0,
    report: Callable[[int, EnergyWeights, float], None] | None = None,
) -> EnergyWeights:
    """Maximum-likelihood weights by sign-adaptive steps (Rprop); all but constants from 0 up.

    So that exp(-E) is a calibrated posterior. E is linear in the weights, so the likelihood of
    the true layouts is concave in them and its gradient is what the posterior expects of each
    term minus what the truth shows. Exact for small grids, sampled for larger ones.

    ``ridge`` pulls them towards ``initial``: where nearly every puzzle is solved,
    the likelihood alone would sharpen the posterior without end. Weights of terms
    that no example has stay as they are.
    """
    start = (initial or EnergyWeights()).vector
    weights = start.copy()
    step = 0.25 * np.maximum(weights, 0.1)
    shown = np.mean([observed(example) for example in examples], axis=0)
    previous = np.zeros_like(weights)
    for number in range(rounds):
        current = EnergyWeights.of(weights)
        wanted = np.mean(
            [
                expected(example.parts, posterior(example.parts.energy(current), seed=seed + index))
                for index, example in enumerate(examples)
            ],
            axis=0,
        )
        gradient = wanted - shown - ridge * (weights - start)  # of the mean log-likelihood
        gradient[np.abs(gradient) < 1e-9] = 0.0
        agreed = np.sign(gradient) * np.sign(previous)
        step = step * np.where(agreed > 0, 1.3, np.where(agreed < 0, 0.5, 1.0))
        weights = np.maximum(LOWEST, weights + np.sign(gradient) * step)
        previous = gradient
        if report:
            report(number, current, float(np.abs(gradient).max()))
        if step[gradient != 0].max(initial=0.0) < 0.004:
            break
    return EnergyWeights.of(weights)


def trusted(
    examples: Sequence[Example], start: EnergyWeights, fitted: EnergyWeights, *, seed: int = 0
) -> tuple[EnergyWeights, float, float]:
    """Weights on the way from ``start`` to ``fitted``, times a factor; that share, the factor.

    Those under which these puzzles, which were not fitted, surprise least: what was fitted to
    few puzzles knows them by heart, and is too sure of others.
    """

    def surprise(weights: EnergyWeights, factor: float = 1.0) -> float:
        """Mean of -log p(the true candidate of a position)."""
        told = []
        for index, example in enumerate(examples):
            belief = posterior(
                example.parts.energy(weights), seed=seed + index, temperature=1 / factor
            )
            at = example.candidate_at
            told.append(belief.position_prob[at, np.arange(len(at))])
        return float(-np.log(np.maximum(told, LEAST)).mean())

    def between(share: float) -> EnergyWeights:
        return EnergyWeights.of(share * fitted.vector + (1 - share) * start.vector)

    share = min(SHARES, key=lambda share: surprise(between(share)))
    factor = min(FACTORS, key=lambda factor: surprise(between(share), factor))
    return EnergyWeights.of(factor * between(share).vector), share, factor
