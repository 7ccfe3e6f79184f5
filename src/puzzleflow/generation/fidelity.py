"""How close generated outlines come to real ones: tables and two-sample distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial import cKDTree

from puzzleflow.core.errors import InputError
from puzzleflow.core.types import BoolArray
from puzzleflow.generation.geometry import FEATURES

Table = NDArray[np.float64]  # (N, 8), columns in the order of FEATURES

NEIGHBOURS = 5
_CHUNK = 256


@dataclass(frozen=True)
class Summary:
    """One feature of one group, as the paper tabulates it."""

    mean: float
    sd: float
    median: float
    minimum: float
    maximum: float
    iqr: float


@dataclass(frozen=True)
class Distance:
    """One feature of two groups; differences are of the real mean, in per cent."""

    difference_percent: float
    ks: float
    ks_p: float
    wasserstein: float  # in the feature's own unit


@dataclass(frozen=True)
class Spread:
    """Overlap in standardised feature space, by nearest neighbours."""

    precision: float  # share of generated masks that lie among the real ones
    coverage: float  # share of real masks that have a generated one nearby


@dataclass(frozen=True)
class Projection:
    """Principal components of the pooled, standardised features."""

    explained: NDArray[np.float64]  # (8,) shares of the variance
    loadings: NDArray[np.float64]  # (8, 8) component, feature
    real: NDArray[np.float64]  # (N, 8) scores
    generated: NDArray[np.float64]  # (M, 8) scores


def summarise(table: Table) -> dict[str, Summary]:
    """Mean, sd, median, range and interquartile range of each feature."""
    low, middle, high = np.percentile(table, [25, 50, 75], axis=0)
    return {
        name: Summary(
            float(table[:, j].mean()),
            float(table[:, j].std()),
            float(middle[j]),
            float(table[:, j].min()),
            float(table[:, j].max()),
            float(high[j] - low[j]),
        )
        for j, name in enumerate(FEATURES)
    }


def compare(real: Table, generated: Table) -> dict[str, Distance]:
    """Difference of means, Kolmogorov-Smirnov and Wasserstein, for each feature."""
    distances = {}
    for j, name in enumerate(FEATURES):
        ours, theirs = generated[:, j], real[:, j]
        ks = stats.ks_2samp(ours, theirs, method="asymp")
        distances[name] = Distance(
            100 * float(ours.mean() / theirs.mean() - 1),
            float(ks.statistic),
            float(ks.pvalue),
            float(stats.wasserstein_distance(ours, theirs)),
        )
    return distances


def spread(real: Table, generated: Table, neighbours: int = NEIGHBOURS) -> Spread:
    """Precision and coverage with balls that reach each real mask's k-th neighbour."""
    if len(real) <= neighbours:
        raise InputError(f"precision and coverage need more than {neighbours} real masks")
    ours, theirs = _standardise(real, real), _standardise(real, generated)
    radii = cKDTree(ours).query(ours, k=neighbours + 1)[0][:, -1]  # itself comes first
    tree = cKDTree(theirs)
    inside: set[int] = set()
    covered = 0
    for centre, radius in zip(ours, radii, strict=True):
        hits = tree.query_ball_point(centre, radius)
        inside.update(hits)
        covered += bool(hits)
    return Spread(len(inside) / len(generated), covered / len(real))


def project(real: Table, generated: Table) -> Projection:
    """Principal components of both groups together."""
    pooled = np.concatenate([real, generated])
    scaled = _standardise(pooled, pooled)
    _, lengths, loadings = np.linalg.svd(scaled - scaled.mean(axis=0), full_matrices=False)
    explained = lengths**2 / (lengths**2).sum()
    scores = (scaled - scaled.mean(axis=0)) @ loadings.T
    return Projection(explained, loadings, scores[: len(real)], scores[len(real) :])


def _standardise(reference: Table, table: Table) -> Table:
    """Zero mean and unit variance of ``reference``; a constant feature keeps its unit."""
    scale = reference.std(axis=0)
    scaled: Table = (table - reference.mean(axis=0)) / np.where(scale > 1e-9, scale, 1.0)
    return scaled


def nearest_iou(masks: BoolArray, training: BoolArray) -> NDArray[np.float64]:
    """(N,) best intersection over union with any training mask, turned or flipped.

    The eight flips and quarter turns of each mask are tried against every
    training mask, pixel by pixel.
    """
    known = training.reshape(len(training), -1).astype(np.float32)
    known_area = known.sum(axis=1)
    best = np.zeros(len(masks))
    for start in range(0, len(masks), _CHUNK):
        chunk = masks[start : start + _CHUNK]
        for turned in _turns(chunk):
            flat = np.ascontiguousarray(turned).reshape(len(chunk), -1).astype(np.float32)
            common = flat @ known.T  # (chunk, training)
            either = flat.sum(axis=1)[:, None] + known_area[None, :] - common
            iou = np.divide(common, either, out=np.zeros_like(common), where=either > 0)
            part = best[start : start + _CHUNK]
            np.maximum(part, iou.max(axis=1), out=part)
    return best


def _turns(masks: BoolArray) -> list[BoolArray]:
    """The eight flips and quarter turns of (N, H, H) masks."""
    flipped = masks[:, :, ::-1]
    return [np.rot90(way, turn, axes=(1, 2)) for way in (masks, flipped) for turn in range(4)]
