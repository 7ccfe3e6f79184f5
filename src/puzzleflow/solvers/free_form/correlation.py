"""All translations of two fragments at once, by cross-correlation.

For every pixel where one's extension meets the other's material the score gains
1 − ‖difference of normalised colours‖²; for every pixel where material meets
material it loses OVERLAP_LOSS. The square expands into products of what each
side knows alone, so the whole map of scores is one inverse transform of a sum
of ten products of spectra.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from puzzleflow.core.types import FloatArray
from puzzleflow.solvers.compiled import compiled
from puzzleflow.solvers.free_form.extended import Extended

Spectra = NDArray[np.complex64]

OVERLAP_LOSS = 6.0  # a pixel of overlap costs as much as so many of perfect contact bring


def size_for(first: tuple[int, int], second: tuple[int, int]) -> int:
    """Side of the transforms in which no translation wraps around."""
    return int(fft.next_fast_len(max(first[0] + second[0], first[1] + second[1]), real=True))


def fixed_spectra(fragment: Extended, size: int) -> Spectra:
    """(10, size, size // 2 + 1) of the fragment that stays."""
    given, asked = _sides(fragment)
    given[0] -= OVERLAP_LOSS * fragment.material
    return _transformed(np.concatenate([given, asked]), size)


def moved_spectra(fragment: Extended, size: int) -> Spectra:
    """(10, size, size // 2 + 1) of the fragment that is moved, conjugate."""
    given, asked = _sides(fragment)
    return np.conj(_transformed(np.concatenate([asked, given]), size))


def _sides(fragment: Extended) -> tuple[FloatArray, FloatArray]:
    """(5, H, W) each: what its extension and what its material brings to a product."""
    colours = np.moveaxis(fragment.colours, 2, 0)  # (3, H, W)
    square = (colours**2).sum(axis=0)  # (H, W)
    ones = np.ones_like(square)
    extension = np.concatenate([[1 - square, -ones], 2 * colours]) * fragment.extension
    material = np.concatenate([[ones, square], colours]) * fragment.material
    return extension.astype(np.float32), material.astype(np.float32)


def _transformed(planes: FloatArray, size: int) -> Spectra:
    return np.asarray(fft.rfft2(planes, (size, size), workers=1), np.complex64)


def score_map(fixed: Spectra, moved: Spectra, size: int) -> FloatArray:
    """(size, size) float32: score where the array of the moved one begins at (row, column).

    Rows and columns past the array of the fixed one stand for negative ones.
    """
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
