"""How close generated outlines come to real ones, and the paper's: tables, two-sample distances."""

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


SOURCE = "The Missing GAP, supplement"
COUNT = 958  # masks of each column of its table "Detailed summary statistics"

# mean, sd, median, minimum, maximum, interquartile range, in the order of FEATURES
_REAL = (
    (10617, 1333, 10598, 7245, 14821, 1746),
    (451.95, 29.72, 449.80, 370.2, 542.6, 39.8),
    (1.001, 0.023, 0.998, 0.945, 1.089, 0.031),
    (0.931, 0.027, 0.935, 0.845, 0.986, 0.036),
    (0.655, 0.068, 0.661, 0.471, 0.812, 0.089),
    (19.47, 2.90, 19.23, 13.12, 28.61, 3.81),
    (9.73, 2.12, 10, 5, 16, 3),
    (19.79, 3.62, 20, 11, 31, 5),
)
_SYNTHETIC = (
    (10716, 863, 10705, 8012, 13254, 1142),
    (434.88, 27.60, 433.10, 361.7, 518.4, 36.2),
    (0.996, 0.055, 0.993, 0.842, 1.178, 0.072),
    (0.936, 0.030, 0.941, 0.831, 0.991, 0.040),
    (0.718, 0.081, 0.726, 0.504, 0.895, 0.107),
    (17.78, 2.41, 17.53, 11.92, 25.42, 3.16),
    (11.78, 2.03, 12, 6, 18, 3),
    (23.01, 3.74, 23, 13, 35, 5),
)

REAL = {name: Summary(*row) for name, row in zip(FEATURES, _REAL, strict=True)}
SYNTHETIC = {name: Summary(*row) for name, row in zip(FEATURES, _SYNTHETIC, strict=True)}


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
