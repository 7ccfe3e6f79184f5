"""Fit the outline model: spectra, envelopes and mixture by moments, then a calibration.

A random field with the spectrum of real outlines has a shorter border than
they have, because real roughness comes in bursts. So five numbers (how strong
the bursts are, and the gain of each band) are chosen at the end by comparing
the features of drawn masks with those of the training masks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import BoolArray
from puzzleflow.files import write_json
from puzzleflow.generation.fidelity import compare
from puzzleflow.generation.fragments import is_degenerate
from puzzleflow.generation.geometry import FEATURES, feature_table
from puzzleflow.generation.outline_model import (
    BANDS,
    ENVELOPE,
    OutlineModel,
    coarse_vector,
    from_harmonics,
    save_outline_model,
    to_harmonics,
)
from puzzleflow.generation.outlines import POINTS, curve_of, mask_of
from puzzleflow.generation.quick_geometry import edge_features, size_features
from puzzleflow.generation.thinning import Floats, Ratio, Thinning, terms
from puzzleflow.training.banks import split_masks

Report = Callable[[str], None]

WEIGHTS = "fragment_outline.safetensors"
WINDOWS = (20, 12, 8, 6)  # points over which a band's energy is averaged
FIRST_BURSTS = 3.9  # where the calibration begins: factor on the envelope's variance,
FIRST_GAINS = (-0.18, -0.33, 0.13, 0.22)  # and log gains
RIDGE = 1e-2
KEEP_ALL_ABOVE = 88  # per cent of drawn masks whose ratio lies below the level


@dataclass(frozen=True)
class OutlineFit:
    """Sizes of the fit."""

    num_parts: int = 12
    envelope_steps: int = 6
    envelope_draws: int = 2000
    calibration_steps: int = 12
    calibration_draws: int = 300
    thinning_draws: int = 3000
    seed: int = 0


def fit_outline_run(
    folder: str | Path,
    masks: BoolArray,
    names: list[str],
    *,
    seed: int = 0,
    settings: OutlineFit | None = None,
    report: Report = lambda line: None,
) -> OutlineModel:
    """Fit on the training part of ``masks`` and write weights and settings to ``folder``."""
    settings = settings or OutlineFit(seed=seed)
    train = masks[split_masks(names, settings.seed).train]
    model, score = fit_outlines(train, settings, report)
    rng = child_rng(settings.seed, "thinning")
    thinning = fit_thinning(train, _drawn_masks(model, settings), rng)
    training = {
        "num_masks": len(masks),
        "num_train": len(train),
        "settings": settings.__dict__,
        "mean_ks_on_training_masks": score,
    }
    path = Path(folder) / WEIGHTS
    save_outline_model(path, model, thinning, training)
    write_json(Path(folder) / "outline_fit.json", training)
    report(f"{path}: mean KS distance to the training masks {score:.3f} before thinning")
    return model


def fit_outlines(
    masks: BoolArray, settings: OutlineFit, report: Report = lambda line: None
) -> tuple[OutlineModel, float]:
    """The calibrated model and its mean KS distance to ``masks``."""
    curves = turned_curves(masks)  # (N, 2, POINTS)
    report(f"{len(curves)} outlines of {len(masks)} masks, turned and flipped")
    harmonics = to_harmonics(curves)  # (N, 2, K)
    model, roughness = fit_roughness(harmonics, settings)
    report("roughness fitted")
    points = np.concatenate([coarse_vector(harmonics), roughness], axis=1)  # (N, D)
    weights, means, factors = fit_mixture(points, settings.num_parts, settings.seed)
    model = replace(model, weights=weights, means=means, factors=factors)
    report("coarse shapes fitted")
    return calibrate(model, feature_table(masks), settings, report)


def fit_mixture(
    points: Floats, num_parts: int, seed: int, *, ridge: float = 0.02
) -> tuple[Floats, Floats, Floats]:
    """Weights (J,), means (J, D) and lower Cholesky factors (J, D, D) of J full Gaussians.

    ridge  is added to each variance, in units of the whole's
    """
    if len(points) < num_parts * 2:
        raise InputError(f"{len(points)} points are too few for {num_parts} Gaussians")
    shift, scale = points.mean(axis=0), points.std(axis=0) + 1e-12
    random_state = child_seed(seed, "mixture") % 2**32  # all that scikit-learn takes
    fitted = GaussianMixture(num_parts, reg_covar=ridge, max_iter=500, random_state=random_state)
    fitted.fit((points - shift) / scale)
    factors = scale[:, None] * np.linalg.cholesky(fitted.covariances_)
    return fitted.weights_, shift + scale * fitted.means_, factors


def turned_curves(masks: BoolArray) -> Floats:
    """(8 N, 2, POINTS): every mask in its eight flips and quarter turns."""
    curves = []
    for mask in masks:
        for way in (mask, mask[:, ::-1]):
            for turn in range(4):
                try:
                    curves.append(curve_of(np.rot90(way, turn)))
                except InputError:  # a border that does not go round its centroid
                    continue
    if not curves:
        raise InputError("no mask has a border that goes round its centroid")
    return np.array(curves)


def fit_roughness(
    harmonics: NDArray[np.complex128], settings: OutlineFit
) -> tuple[OutlineModel, Floats]:
    """Spectra, gains and envelopes of the bands, and each outline's (N, B) log roughness."""
    num_bands = len(BANDS)
    real = np.stack([_band(harmonics, band) for band in range(num_bands)], axis=1)  # (N, B, 2, P)
    scales = np.sqrt((real**2).mean(axis=(0, 3)))  # (B, 2)
    energy = _log_energy(real, scales)  # (N, B, P)
    roughness = energy.mean(axis=2) / 2  # (N, B)
    factors = []
    for band, (first, last) in enumerate(BANDS):
        part = harmonics[:, :, first : last + 1] / np.exp(roughness[:, band])[:, None, None]
        power = np.einsum("nik,njk->kij", part, part.conj()) / len(part)  # (k, 2, 2)
        factors.append(np.linalg.cholesky(power + 1e-14 * np.eye(2)))
    model = OutlineModel(
        weights=np.ones(1),
        means=np.zeros((1, num_bands)),
        factors=np.zeros((1, num_bands, num_bands)),
        fields=np.concatenate(factors),
        gains=np.ones(num_bands),
        envelopes=np.zeros((ENVELOPE, num_bands, num_bands)),
    )
    draws, identity = settings.envelope_draws, np.eye(num_bands)
    rng = child_rng(settings.seed, "envelope")
    plain = _log_energy(np.stack([model.field(rng) for _ in range(draws)]), scales)
    wanted = _cross_power(energy) - _cross_power(plain) * identity  # what the envelope adds
    power = _positive(wanted / 4)
    for _ in range(settings.envelope_steps):
        factor = np.linalg.cholesky(power + 1e-12 * identity).astype(np.float64)
        model = replace(model, envelopes=factor)
        drawn = np.stack([_rough(model, rng) for _ in range(draws)])  # (n, B, 2, P)
        found = _log_energy(drawn, scales)
        level = found.mean(axis=2)  # (n, B)
        model = replace(model, gains=model.gains * np.exp(-level.mean(axis=0) / 2))
        reached = _cross_power(found) - _cross_power(plain) * identity
        ratio = np.maximum(_diagonal(wanted), 1e-9) / np.maximum(_diagonal(reached), 1e-9)
        step = np.clip(ratio, 0.4, 2.5) ** 0.35
        power = _positive(power * step[:, :, None] * step[:, None, :])
    # a short border measures its own roughness badly: take that scatter out again
    noise = level.var(axis=0) / (4 * roughness.var(axis=0) + 1e-12)
    shrink = np.sqrt(np.maximum(0.0, 1 - noise))
    middle = roughness.mean(axis=0)
    return model, middle + (roughness - middle) * shrink


def calibrate(
    model: OutlineModel, features: Floats, settings: OutlineFit, report: Report
) -> tuple[OutlineModel, float]:
    """Choose bursts and gains by the mean KS distance of all features to ``features``."""
    rng = child_rng(settings.seed, "calibration")
    best = np.array([np.log(FIRST_BURSTS), *FIRST_GAINS])
    chosen = _tuned(model, best)
    score = _score(chosen, features, settings)
    step = 0.15
    for number in range(settings.calibration_steps):
        trial = best + step * rng.standard_normal(len(best)) * np.array([2.0, 1, 1, 1, 1])
        tuned = _tuned(model, trial)
        found = _score(tuned, features, settings)
        if found < score:
            best, chosen, score = trial, tuned, found
            report(f"calibration {number + 1}: mean KS {score:.4f} at {best.round(3).tolist()}")
        else:
            step = max(0.03, step * 0.97)
    return chosen, score


def _tuned(model: OutlineModel, values: Floats) -> OutlineModel:
    return replace(
        model,
        envelopes=model.envelopes * np.exp(values[0] / 2),
        gains=model.gains * np.exp(values[1:]),
    )


def _score(model: OutlineModel, features: Floats, settings: OutlineFit) -> float:
    """The same seeds for every trial, so that trials differ by their numbers alone."""
    seeds = range(settings.calibration_draws)
    drawn = [mask_of(model.draw(child_rng(settings.seed, "trial", index))) for index in seeds]
    distances: dict[str, Any] = compare(features, feature_table(np.stack(drawn)))
    return float(np.mean([distances[name].ks for name in FEATURES]))


def _drawn_masks(model: OutlineModel, settings: OutlineFit) -> BoolArray:
    """(n, 128, 128) fresh draws that are not degenerate."""
    rngs = (child_rng(settings.seed, "thinning", index) for index in range(settings.thinning_draws))
    drawn = (mask_of(model.draw(rng)) for rng in rngs)
    return np.stack([mask for mask in drawn if not is_degenerate(mask)])


def _rough(model: OutlineModel, rng: np.random.Generator) -> Floats:
    """(B, 2, POINTS) of one outline of middling roughness."""
    envelope = np.exp(model.envelope(rng))[:, None, :]
    return np.asarray(model.gains[:, None, None] * envelope * model.field(rng))


def _band(harmonics: NDArray[np.complex128], band: int) -> Floats:
    first, last = BANDS[band]
    part = np.zeros_like(harmonics)
    part[..., first : last + 1] = harmonics[..., first : last + 1]
    return from_harmonics(part)


def _log_energy(fields: Floats, scales: Floats) -> Floats:
    """(N, B, 2, P) to (N, B, P): log of the local energy, averaged over each band's window."""
    energy = ((fields / scales[:, :, None]) ** 2).mean(axis=2)
    for band, window in enumerate(WINDOWS):
        energy[:, band] = ndimage.gaussian_filter1d(energy[:, band], window, axis=1, mode="wrap")
    logs: Floats = np.log(energy + 1e-6)
    return logs


def _cross_power(logs: Floats) -> Floats:
    """(N, B, P) to (ENVELOPE, B, B): how the bands' envelopes vary, and vary together."""
    waves = (np.fft.rfft(logs, axis=2) / POINTS)[:, :, 1 : ENVELOPE + 1]
    power: Floats = np.einsum("nik,njk->kij", waves, waves.conj()).real / len(waves)
    return power


def _diagonal(matrices: Floats) -> Floats:
    diagonal: Floats = np.einsum("kii->ki", matrices)
    return diagonal


def _positive(matrices: Floats) -> Floats:
    """The nearest matrices without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrices)
    clipped: Floats = (vectors * np.maximum(values, 1e-12)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return clipped


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
