from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy.spatial import ConvexHull
from skimage import measure

from puzzleflow.generation.fragments import fill_holes, fragment_generator, largest_component
from puzzleflow.generation.geometry import concavities, outline, shape_features, vertices
from puzzleflow.generation.quick_geometry import (
    edge_features,
    hull_features,
    is_whole,
    longest_border,
    quick_perimeter,
    quick_solidity,
    quick_vertices,
    size_features,
    steady_concavities,
)

BOOLS = arrays(bool, (9, 11)).filter(lambda mask: mask.any())


@given(BOOLS)
def test_perimeter_equals_scikit_image(mask: np.ndarray) -> None:
    assert quick_perimeter(mask) == pytest.approx(measure.perimeter(mask, neighborhood=4))


@given(BOOLS)
def test_outline_is_a_border_of_scikit_image_of_the_same_length(mask: np.ndarray) -> None:
    quick, slow = longest_border(mask), outline(mask)
    assert len(quick) == len(slow)
    borders = measure.find_contours(np.pad(mask, 1).astype(float), 0.5)
    sets = [{tuple(point) for point in border - 1} for border in borders]
    assert {tuple(point) for point in quick} in sets
    steps = np.diff(np.concatenate([quick, quick[:1]]), axis=0)
    assert np.hypot(*steps.T).max() <= 1


def test_one_pixel_by_hand() -> None:
    mask = np.zeros((3, 3), dtype=bool)
    mask[1, 1] = True
    found = {tuple(point) for point in longest_border(mask)}
    assert found == {(0.5, 1), (1.5, 1), (1, 0.5), (1, 1.5)}


def test_edge_features_of_a_square() -> None:
    mask = np.ones((128, 128), dtype=bool)
    assert edge_features(mask, size_features(mask)).tolist() == [16384, 508, 4, 0]


def test_hull_features_of_a_square() -> None:
    mask = np.zeros((128, 128), dtype=bool)
    mask[10:110, 20:120] = True
    area, perimeter, solidity, corners, bends = hull_features(mask, size_features(mask))
    assert (area, perimeter, corners, bends) == (10_000, 396, 4, 0)
    assert solidity == pytest.approx(1, abs=2e-3)  # the border cuts the four corner pixels


def test_hull_features_agree_with_the_reported_ones() -> None:
    masks = fragment_generator("outline").masks(range(12))
    quick = np.array([hull_features(mask, size_features(mask)) for mask in masks])
    slow = np.array([shape_features(mask) for mask in masks])
    assert quick[:, :2] == pytest.approx(slow[:, :2])
    assert quick[:, 2] == pytest.approx(slow[:, 3], rel=0.01)
    borders = [longest_border(mask) for mask in masks]
    for border, (_, perimeter) in zip(borders, quick[:, :2], strict=True):
        assert quick_vertices(border, perimeter) == vertices(border, perimeter)


def test_steady_concavities_do_not_care_where_the_border_begins() -> None:
    mask = fragment_generator("outline").masks([8])[0]
    border = longest_border(mask)
    starts = range(0, len(border), 7)
    plain = [concavities(np.roll(border, start, axis=0)) for start in starts]
    steady = [steady_concavities(np.roll(border, start, axis=0)) for start in starts]
    assert np.std(steady) < np.std(plain) / 1.5
    assert np.mean(steady) == pytest.approx(np.mean(plain), abs=1)


@given(BOOLS)
def test_whole_is_one_part_without_holes(mask: np.ndarray) -> None:
    one = np.array_equal(largest_component(mask), mask)
    assert is_whole(mask) == (one and np.array_equal(fill_holes(mask), mask))


@given(BOOLS)
def test_solidity_is_that_of_the_convex_hull(mask: np.ndarray) -> None:
    border = longest_border(mask)
    assert quick_solidity(border, 5.0) == pytest.approx(5.0 / ConvexHull(border).volume)
