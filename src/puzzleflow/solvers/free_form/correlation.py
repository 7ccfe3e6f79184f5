"""All translations of two fragments at once, by cross-correlation.

For every pixel where one's extension meets the other's material the score gains
(1 + GAIN) · likeness − 1, between −1 (other colours) and GAIN (the same colour);
for every pixel where material meets material it loses OVERLAP_LOSS. Likeness is an
inner product of features, so the whole map of scores is one inverse transform of a
sum of products of spectra.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from puzzleflow.core.types import FloatArray
from puzzleflow.search.compiling import compiled
from puzzleflow.solvers.free_form.extended import Extended
from puzzleflow.solvers.free_form.palette import Palette

Spectra = NDArray[np.complex64]

GAIN = 5.0
OVERLAP_LOSS = 15.0


def fixed_spectra(fragment: Extended, palette: Palette, size: int) -> Spectra:
    """(2 + 2K, size, size // 2 + 1) of the fragment that stays."""
    extension, material = _sides(fragment, palette)
    extension[0] -= OVERLAP_LOSS * fragment.material
    return _transformed(np.concatenate([extension, material]), size)


def moved_spectra(fragment: Extended, palette: Palette, size: int) -> Spectra:
    """(2 + 2K, size, size // 2 + 1) of the fragment that is moved, conjugate."""
    extension, material = _sides(fragment, palette)
    spectra = _transformed(np.concatenate([material, extension]), size)
    return np.asarray(np.conj(spectra, out=spectra))


def _sides(fragment: Extended, palette: Palette) -> tuple[FloatArray, FloatArray]:
    """(1 + K, H, W) each: what its extension and what its material brings to a product."""
    sides = []
    for where, rest in ((fragment.extension, -1 / (1 + GAIN)), (fragment.material, 1.0)):
        features = palette.features(fragment.colours[where])  # (M, K)
        planes = np.zeros((1 + features.shape[1], *fragment.shape), dtype=np.float32)
        planes[0, where] = rest
        planes[1:, where] = features.T
        sides.append(planes)
    return (1 + GAIN) * sides[0], sides[1]


def _transformed(planes: FloatArray, size: int) -> Spectra:
    return np.asarray(fft.rfft2(planes, (size, size), workers=1), np.complex64)


def score_map(fixed: Spectra, moved: Spectra) -> FloatArray:
    """(size, size) float32: score where the array of the moved one begins at (row, column).

    Rows and columns past the array of the fixed one stand for negative ones.
    """
    size = fixed.shape[1]
    total = _summed(fixed.reshape(len(fixed), -1), moved.reshape(len(moved), -1))
    spectrum = total.reshape(size, size // 2 + 1)
    return np.asarray(fft.irfft2(spectrum, (size, size), workers=1), np.float32)


@compiled
def _summed(first: Spectra, second: Spectra) -> Spectra:
    """(F,) sum of products over the first axis."""
    count, length = first.shape
    total = np.zeros(length, dtype=np.complex64)
    for k in range(count):
        for i in range(length):
            total[i] += first[k, i] * second[k, i]
    return total
