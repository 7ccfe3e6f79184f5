"""Mixture of full Gaussians by expectation and maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from puzzleflow.core.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GaussianMixture:
    """J parts in D dimensions."""

    weights: Floats  # (J,)
    means: Floats  # (J, D)
    factors: Floats  # (J, D, D) lower Cholesky factors of the covariances

    def log_likelihood(self, points: Floats) -> Floats:
        """(N,) natural logarithm of the density at (N, D)."""
        parts = _log_parts(points, self.weights, self.means, self.factors)
        return _log_sum(parts)


def fit_mixture(
    points: Floats,
    num_parts: int,
    rng: np.random.Generator,
    *,
    steps: int = 40,
    ridge: float = 0.02,
) -> GaussianMixture:
    """Fit (N, D) points; ``ridge`` is added to each variance, in units of the whole's."""
    if len(points) < num_parts * 2:
        raise InputError(f"{len(points)} points are too few for {num_parts} Gaussians")
    shift, scale = points.mean(axis=0), points.std(axis=0) + 1e-12
    scaled = (points - shift) / scale
    size = points.shape[1]
    means = scaled[rng.choice(len(scaled), num_parts, replace=False)]
    factors = np.repeat(np.eye(size)[None], num_parts, axis=0)
    weights = np.full(num_parts, 1 / num_parts)
    for _ in range(steps):
        parts = _log_parts(scaled, weights, means, factors)  # (N, J)
        shares = np.exp(parts - _log_sum(parts)[:, None])
        counts = shares.sum(axis=0) + 1e-9
        weights = counts / counts.sum()
        means = shares.T @ scaled / counts[:, None]
        for j in range(num_parts):
            offset = scaled - means[j]
            covariance = (shares[:, j, None] * offset).T @ offset / counts[j]
            factors[j] = np.linalg.cholesky(covariance + ridge * np.eye(size))
    return GaussianMixture(weights, shift + scale * means, scale[:, None] * factors)


def _log_parts(points: Floats, weights: Floats, means: Floats, factors: Floats) -> Floats:
    """(N, J) log of each part's weight times its density."""
    columns = []
    for weight, mean, factor in zip(weights, means, factors, strict=True):
        white = solve_triangular(factor, (points - mean).T, lower=True)
        spread = np.log(np.diag(factor)).sum() + 0.5 * len(mean) * np.log(2 * np.pi)
        columns.append(np.log(weight + 1e-300) - 0.5 * (white**2).sum(axis=0) - spread)
    return np.stack(columns, axis=1)


def _log_sum(parts: Floats) -> Floats:
    top = parts.max(axis=1)
    summed: Floats = top + np.log(np.exp(parts - top[:, None]).sum(axis=1))
    return summed
