"""Fit the thinning of drawn masks: logistic regression, real against drawn."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from puzzleflow.core.types import BoolArray
from puzzleflow.generation.quick_geometry import edge_features, size_features
from puzzleflow.generation.thinning import Floats, Ratio, Thinning, terms

RIDGE = 1e-2
KEEP_ALL_ABOVE = 88  # per cent of drawn masks whose ratio lies below the level


def fit_thinning(real: BoolArray, drawn: BoolArray, rng: np.random.Generator) -> Thinning:
    """From (N, H, W) real and (M, H, W) drawn masks; the second step sees what the first keeps."""
    wanted, found = (
        np.array([edge_features(mask, size_features(mask)) for mask in masks])  # (N, 4)
        for masks in (real, drawn)
    )
    size = fit_ratio(wanted[:, :2], found[:, :2])
    kept = found[[rng.random() < size.chance(row) for row in found[:, :2]]]
    return Thinning(size, fit_ratio(wanted, kept))


def fit_ratio(real: Floats, drawn: Floats) -> Ratio:
    """From (N, F) and (M, F) features of real and of drawn masks."""
    shift, scale = real.mean(axis=0), real.std(axis=0) + 1e-9
    inputs = terms((np.concatenate([real, drawn]) - shift) / scale)
    labels = np.concatenate([np.ones(len(real)), np.zeros(len(drawn))])
    # both groups count alike, so that the logit is the log ratio of densities
    counts = np.where(labels == 1, 0.5 / len(real), 0.5 / len(drawn)) * len(labels)
    ridge = RIDGE * len(labels) / 100
    regression = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-8, max_iter=1000)
    weights = regression.fit(inputs, labels, sample_weight=counts).coef_[0]
    fitted = Ratio(shift, scale, weights, 0.0)
    level = float(np.percentile(fitted.log_ratio(drawn), KEEP_ALL_ABOVE))
    return Ratio(shift, scale, weights, level)
