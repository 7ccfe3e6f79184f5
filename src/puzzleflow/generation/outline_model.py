"""A fitted model of outlines: coarse shape, and roughness that comes in bursts.

The low harmonics of a curve (see ``outlines``) and the log roughness of four
bands of higher harmonics are drawn together from a mixture of Gaussians. Each
band is then a Gaussian field with the fitted spectrum, times an envelope
exp(e(s)) that is smooth along the border and shared between the bands as far
as real outlines share it: fractures are rough here and smooth there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzleflow.core.errors import FormatError, naming
from puzzleflow.generation.outlines import POINTS, Curve
from puzzleflow.generation.thinning import Thinning

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

KIND = "outline_model"
COARSE = 12  # harmonics that the mixture draws
BANDS = ((13, 24), (25, 52), (53, 110), (111, 255))  # first and last harmonic
_ARRAYS = ("weights", "means", "factors", "gains", "envelopes")  # stored as they are
ENVELOPE = 40  # harmonics of the envelope


@dataclass(frozen=True)
class OutlineModel:
    """Letters: J mixture parts, D coarse numbers and log roughnesses, K harmonics, B bands."""

    weights: Floats  # (J,)
    means: Floats  # (J, D)
    factors: Floats  # (J, D, D) lower triangular
    fields: Complexes  # (K, 2, 2) radius and angle, harmonics of all bands in turn
    gains: Floats  # (B,)
    envelopes: Floats  # (ENVELOPE, B, B) lower triangular

    def draw(self, rng: np.random.Generator) -> Curve:
        """One curve."""
        coarse, roughness = self.numbers(rng)
        return self.curve(coarse, roughness, rng)

    def numbers(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Coarse numbers (D - B,) and log roughnesses (B,) of one curve, from the mixture."""
        part = int(np.searchsorted(np.cumsum(self.weights), rng.random() * self.weights.sum()))
        part = min(part, len(self.weights) - 1)
        normal = rng.standard_normal(self.means.shape[1])
        vector = self.means[part] + self.factors[part] @ normal  # (D,)
        return vector[: -len(BANDS)], vector[-len(BANDS) :]

    def curve(self, coarse: Floats, roughness: Floats, rng: np.random.Generator) -> Curve:
        """The coarse curve with rough bands drawn onto it."""
        curve = from_harmonics(coarse_harmonics(coarse))  # (2, POINTS)
        envelope = self.envelope(rng)  # (B, POINTS)
        for band, field in enumerate(self.field(rng)):
            curve += np.exp(roughness[band] + envelope[band]) * self.gains[band] * field
        return curve

    def field(self, rng: np.random.Generator) -> Floats:
        """(B, 2, POINTS): one stationary field per band, without envelope and gain."""
        normal = complex_normal(rng, (len(self.fields), 2, 1))
        drawn = (self.fields @ normal)[..., 0]  # (K, 2)
        harmonics = np.zeros((len(BANDS), 2, POINTS // 2 + 1), dtype=np.complex128)
        for band, (first, last) in enumerate(BANDS):
            start = first - BANDS[0][0]
            harmonics[band, :, first : last + 1] = drawn[start : start + last - first + 1].T
        return from_harmonics(harmonics)

    def envelope(self, rng: np.random.Generator) -> Floats:
        """(B, POINTS): log envelopes."""
        drawn = self.envelopes @ complex_normal(rng, (ENVELOPE, len(BANDS), 1))  # (K, B, 1)
        harmonics = np.zeros((len(BANDS), POINTS // 2 + 1), dtype=np.complex128)
        harmonics[:, 1 : ENVELOPE + 1] = drawn[..., 0].T
        return from_harmonics(harmonics)


def complex_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Complexes:
    """Standard complex normal numbers."""
    pair = rng.standard_normal((2, *shape))
    drawn: Complexes = (pair[0] + 1j * pair[1]) / np.sqrt(2)
    return drawn


def to_harmonics(curves: Floats) -> Complexes:
    """(..., POINTS) to (..., POINTS / 2 + 1), scaled so that powers do not grow with POINTS."""
    return np.fft.rfft(curves, axis=-1) / POINTS


def from_harmonics(harmonics: Complexes) -> Floats:
    """The inverse of ``to_harmonics``."""
    return np.fft.irfft(harmonics * POINTS, POINTS, axis=-1)


def coarse_vector(harmonics: Complexes) -> Floats:
    """(..., 2, K) harmonics to the (..., 50) real numbers of the low ones."""
    low = harmonics[..., : COARSE + 1]
    parts = [low.real, low.imag[..., 1:]]
    return np.concatenate([part.reshape(*part.shape[:-2], -1) for part in parts], axis=-1)


def coarse_harmonics(vector: Floats) -> Complexes:
    """The inverse of ``coarse_vector``, zero above: (2, K)."""
    harmonics = np.zeros((2, POINTS // 2 + 1), dtype=np.complex128)
    cut = 2 * (COARSE + 1)
    harmonics[:, : COARSE + 1] = vector[:cut].reshape(2, COARSE + 1)
    harmonics[:, 1 : COARSE + 1] += 1j * vector[cut:].reshape(2, COARSE)
    return harmonics


def save_outline_model(
    path: str | Path, model: OutlineModel, thinning: Thinning, training: dict[str, Any]
) -> None:
    """Parameters as float32 safetensors with how they were fitted."""
    import torch

    from puzzleflow.models.checkpoint import save_weights

    arrays = {
        "fields": np.stack([model.fields.real, model.fields.imag]),
        **{name: vars(model)[name] for name in _ARRAYS},
        **thinning.arrays(),
    }
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    config = {"kind": KIND, "coarse": COARSE, "bands": BANDS, "training": training}
    save_weights(path, tensors, config)


def load_outline_model(path: str | Path) -> tuple[OutlineModel, Thinning]:
    """What ``save_outline_model`` wrote; anything else is a ``FormatError``."""
    from puzzleflow.models.checkpoint import load_weights

    tensors, config = load_weights(path, KIND)
    if config.get("coarse") != COARSE or config.get("bands") != [list(b) for b in BANDS]:
        raise FormatError(f"{path}: expected a fitted {KIND!r} with {BANDS}")
    try:
        arrays = {name: tensor.double().numpy() for name, tensor in tensors.items()}
        real, imaginary = arrays["fields"]
        plain = {name: arrays[name] for name in _ARRAYS}
        model = OutlineModel(fields=real + 1j * imaginary, **plain)
        thinning = Thinning.of_arrays(arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FormatError(f"{path}: not the arrays of an outline model ({error})") from error
    with naming(path):
        _check_shapes(model)
    return model, thinning


def _check_shapes(model: OutlineModel) -> None:
    parts, bands = len(model.weights), len(BANDS)
    drawn = 2 * (2 * COARSE + 1) + bands
    expected: dict[str, tuple[int, ...]] = {
        "weights": (parts,),
        "means": (parts, drawn),
        "factors": (parts, drawn, drawn),
        "fields": (BANDS[-1][1] - BANDS[0][0] + 1, 2, 2),
        "gains": (bands,),
        "envelopes": (ENVELOPE, bands, bands),
    }
    for name, shape in expected.items():
        found = vars(model)[name].shape
        if found != shape:
            raise FormatError(f"{name}: expected shape {shape}, got {found}")
    if parts < 1 or not (model.weights.min() >= 0 and model.weights.sum() > 0):
        raise FormatError("weights: expected shares from 0")
