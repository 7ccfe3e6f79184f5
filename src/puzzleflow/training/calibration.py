"""Weights of the energy's terms, fitted so that exp(-E) is a calibrated posterior.

E is linear in the weights, so the likelihood of the true layouts is concave in
them and its gradient is what the posterior expects of each term minus what the
truth shows. Exact for small grids, sampled for larger ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search import posterior
from puzzleflow.search.posterior import Posterior
from puzzleflow.solvers.relational_energy import EnergyWeights, Terms


def observed(terms: Terms, position_of: IntArray, grid: Grid) -> FloatArray:
    """(4,) position, pair, border and colour cost of one layout, before weighting."""
    piece_at = invert(position_of)
    rights = piece_at[grid.neighbours(Direction.RIGHT)]
    downs = piece_at[grid.neighbours(Direction.DOWN)]
    return np.array(
        [
            terms.position[np.arange(len(position_of)), position_of].sum(),
            terms.right[*rights.T].sum() + terms.down[*downs.T].sum(),
            sum(terms.border[piece_at[grid.on_frame(d)], d].sum() for d in Direction),
            terms.colour_right[*rights.T].sum() + terms.colour_down[*downs.T].sum(),
        ]
    )


def expected(terms: Terms, belief: Posterior, grid: Grid) -> FloatArray:
    """(4,) the same costs as the posterior expects them."""
    border = sum(
        (belief.position_prob[:, grid.on_frame(d)].sum(axis=1) * terms.border[:, d]).sum()
        for d in Direction
    )
    right, down = belief.right_prob, belief.down_prob
    pair = (right * terms.right).sum() + (down * terms.down).sum()
    colour = (right * terms.colour_right).sum() + (down * terms.colour_down).sum()
    return np.array([(belief.position_prob * terms.position).sum(), pair, border, colour])


def fit_weights(
    terms: Sequence[Terms],
    truths: Sequence[IntArray],
    grid: Grid,
    *,
    initial: EnergyWeights | None = None,
    ridge: float = 0.05,
    rounds: int = 25,
    seed: int = 0,
    report: Callable[[int, EnergyWeights, float], None] | None = None,
) -> EnergyWeights:
    """Maximum-likelihood weights, never below zero, by sign-adaptive steps (Rprop).

    ``ridge`` pulls them towards ``initial``: where nearly every puzzle is solved,
    the likelihood alone would sharpen the posterior without end.
    """
    start = np.array(list((initial or EnergyWeights()).to_dict().values()))
    weights = start.copy()
    step = 0.25 * np.maximum(weights, 0.1)
    shown = np.mean(
        [observed(t, truth, grid) for t, truth in zip(terms, truths, strict=True)], axis=0
    )
    previous = np.zeros(4)
    for number in range(rounds):
        current = EnergyWeights(*weights.tolist())
        wanted = np.mean(
            [
                expected(t, posterior(t.energy(grid, current), seed=seed + index), grid)
                for index, t in enumerate(terms)
            ],
            axis=0,
        )
        gradient = wanted - shown - ridge * (weights - start)  # of the mean log-likelihood
        agreed = np.sign(gradient) * np.sign(previous)
        step = step * np.where(agreed > 0, 1.3, np.where(agreed < 0, 0.5, 1.0))
        weights = np.maximum(0.0, weights + np.sign(gradient) * step)
        previous = gradient
        if report:
            report(number, current, float(np.abs(gradient).max()))
        if step.max() < 0.004:
            break
    return EnergyWeights(*weights.tolist())
