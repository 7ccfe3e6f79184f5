from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from skimage import measure

from puzzleflow.generation.geometry import outline
from puzzleflow.generation.quick_geometry import (
    edge_features,
    quick_outline,
    quick_perimeter,
    size_features,
)

BOOLS = arrays(bool, (9, 11)).filter(lambda mask: mask.any())


@given(BOOLS)
def test_perimeter_equals_scikit_image(mask: np.ndarray) -> None:
    assert quick_perimeter(mask) == pytest.approx(measure.perimeter(mask, neighborhood=4))


@given(BOOLS)
def test_outline_is_a_border_of_scikit_image_of_the_same_length(mask: np.ndarray) -> None:
    quick, slow = quick_outline(mask), outline(mask)
    assert len(quick) == len(slow)
    borders = measure.find_contours(np.pad(mask, 1).astype(float), 0.5)
    sets = [{tuple(point) for point in border - 1} for border in borders]
    assert {tuple(point) for point in quick} in sets
    steps = np.diff(np.concatenate([quick, quick[:1]]), axis=0)
    assert np.hypot(*steps.T).max() <= 1


def test_one_pixel_by_hand() -> None:
    mask = np.zeros((3, 3), dtype=bool)
    mask[1, 1] = True
    found = {tuple(point) for point in quick_outline(mask)}
    assert found == {(0.5, 1), (1.5, 1), (1, 0.5), (1, 1.5)}


def test_edge_features_of_a_square() -> None:
    mask = np.ones((128, 128), dtype=bool)
    assert edge_features(mask, size_features(mask)).tolist() == [16384, 508, 4, 0]
