"""Fit the thinning of ``gap`` masks to the paper's table.

The targets are the published means and standard deviations of the generated
fragments; nobody's masks are looked at. The thinning is the least change of the
drawn density (in relative entropy) that brings every moment near its target: its
logarithm is linear in the features and their squares.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from puzzleflow.core.rng import child_rng
from puzzleflow.generation.fidelity import SOURCE, SYNTHETIC
from puzzleflow.generation.fragments import is_degenerate
from puzzleflow.generation.gap_model import REACH, GapModel, GapSettings, save_gap_model
from puzzleflow.generation.geometry import concavities
from puzzleflow.generation.outline_model import OutlineModel
from puzzleflow.generation.quick_geometry import hull_features, longest_border, size_features
from puzzleflow.generation.thinning import Floats, Ratio, Thinning, terms

WEIGHTS = "fragment_gap.safetensors"
JUDGED = ("area", "perimeter", "solidity", "vertices", "concavities")  # of hull_features

# found by hand, trying some twenty settings on the moments of 500 drawn masks each
SETTINGS = GapSettings(
    gains=(0.05, 0.7, -0.2, -0.5),
    bursts=0.6,
    depth=-0.35,
    depth_sd=0.4,
    roughness_sd=0.14,
    size=0.022,
    size_sd=0.045,
)

NEWTON_STEPS = 30
RIDGE = 1e-4
MEAN_SLACK, SD_SLACK = 0.015, 0.12  # of the published figures: what lies within is left alone
_CONCAVITIES = SYNTHETIC["concavities"]
CORRECTIONS = 12  # rounds that undo what keeping every mask above the level distorts


@dataclass(frozen=True)
class GapFit:
    """Sizes of the fit."""

    draws: int = 2000
    keep_all_above: float = 90.0  # per cent of the draws whose ratio lies below the level
    seed: int = 0


def fit_gap_run(
    folder: str | Path,
    outlines: OutlineModel,
    settings: GapSettings = SETTINGS,
    fit: GapFit | None = None,
) -> tuple[Path, float]:
    """Fit on ``outlines`` and write the weights to ``folder``; the share of masks kept, too."""
    fit = fit or GapFit()
    drawn, noise = _drawn(GapModel.of(outlines, settings), fit)
    thinning, share = fit_thinning(drawn, fit.keep_all_above, noise)
    training = {**asdict(fit), "share_kept": share, "target": f"{SOURCE}, synthetic column"}
    path = Path(folder) / WEIGHTS
    save_gap_model(path, settings, thinning, training)
    return path, share


def fit_thinning(
    drawn: Floats, keep_all_above: float, noise: float = 0.0
) -> tuple[Thinning, float]:
    """From (M, 5) features of drawn masks; also the share of masks that is kept.

    noise  variance that the report's concavities have beyond the steady ones measured here
    """
    size = _fit_tilt(drawn[:, :2], np.ones(len(drawn)), noise, keep_all_above)
    first = np.array([size.chance(row) for row in drawn[:, :2]])
    edge = _fit_tilt(drawn, first, noise, keep_all_above)
    second = np.array([edge.chance(row) for row in drawn])
    return Thinning(size, edge, hull_features), float((first * second).mean())


def _fit_tilt(features: Floats, counts: Floats, noise: float, keep_all_above: float) -> Ratio:
    """The ratio that brings (M, F) features, each so often, within the slack of the moments."""
    rows = [SYNTHETIC[name] for name in JUDGED[: features.shape[1]]]
    shift, scale = np.array([row.mean for row in rows]), np.array([row.sd for row in rows])
    scaled = (features - shift) / scale
    counts = np.where(np.abs(scaled).max(axis=1) > REACH, 0.0, counts)
    inputs = terms(scaled)  # (M, T)
    first, second = np.triu_indices(len(rows))
    used = np.concatenate([[False], np.ones(len(rows), bool), first == second])  # (T,)
    noises = np.array([noise / row.sd**2 if row is _CONCAVITIES else 0.0 for row in rows])
    found = counts @ scaled / counts.sum()
    varied = np.sqrt(counts @ (scaled - found) ** 2 / counts.sum() + noises)
    mean = np.clip(found, -MEAN_SLACK * shift / scale, MEAN_SLACK * shift / scale)
    sd = np.clip(varied, 1 - SD_SLACK, 1 + SD_SLACK)
    goal = np.concatenate([mean, mean**2 + sd**2 - noises])
    aimed = goal.copy()
    weights = np.zeros(inputs.shape[1])
    for _ in range(CORRECTIONS):
        weights[used] = _tilt(inputs[:, used], counts, aimed, weights[used])
        logs = inputs @ weights
        level = float(np.percentile(logs, keep_all_above))
        kept = counts * np.exp(np.minimum(0.0, logs - level))
        aimed += 0.5 * (goal - kept @ inputs[:, used] / kept.sum())
    return Ratio(shift, scale, weights, level, REACH)


def _tilt(inputs: Floats, counts: Floats, aimed: Floats, start: Floats) -> Floats:
    """(T,) weights w so that counts · exp(inputs @ w) has the mean ``aimed``: Newton steps."""
    weights = start.copy()
    for _ in range(NEWTON_STEPS):
        logs = inputs @ weights
        tilted = counts * np.exp(logs - logs.max())
        tilted /= tilted.sum()
        mean = tilted @ inputs
        centred = inputs - mean
        bend = (centred * tilted[:, None]).T @ centred + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(bend, aimed - mean - RIDGE * weights)
        weights += step * min(1.0, 1.0 / float(np.abs(step).max() + 1e-12))
    return weights


def _drawn(model: GapModel, fit: GapFit) -> tuple[Floats, float]:
    """(M, 5) features of fresh draws, and the variance of concavities about the steady ones."""
    rows, strayed = [], []
    for index in range(fit.draws):
        mask = model.draw(child_rng(fit.seed, "gap fit", index))
        if is_degenerate(mask):
            continue
        row = hull_features(mask, size_features(mask))
        rows.append(row)
        strayed.append(concavities(longest_border(mask)) - row[JUDGED.index("concavities")])
    return np.array(rows), float(np.var(strayed))
