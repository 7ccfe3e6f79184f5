from __future__ import annotations

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.generation.geometry import (
    FEATURES,
    concavities,
    curvature,
    feature_table,
    outline,
    resample,
    shape_features,
    vertices,
)


def disc(radius: float, side: int = 128) -> np.ndarray:
    rows, cols = np.mgrid[:side, :side] - (side - 1) / 2
    return np.asarray(rows**2 + cols**2 <= radius**2)


def named(mask: np.ndarray) -> dict[str, float]:
    return dict(zip(FEATURES, shape_features(mask), strict=True))


def test_full_square() -> None:
    found = named(np.ones((128, 128), dtype=bool))
    assert found["area"] == 128**2
    assert found["perimeter"] == 4 * 127  # between centres of border pixels
    assert found["aspect ratio"] == 1
    assert found["solidity"] == 1
    assert found["circularity"] == pytest.approx(4 * np.pi * 128**2 / 508**2)
    assert found["vertices"] == 4
    assert found["concavities"] == 0


def test_circularity_and_compactness_are_reciprocal() -> None:
    found = named(disc(60))
    assert found["circularity"] * found["compactness"] == pytest.approx(4 * np.pi)
    assert found["circularity"] == pytest.approx(0.9, abs=0.1)


def test_aspect_ratio_is_width_over_height() -> None:
    mask = np.zeros((128, 128), dtype=bool)
    mask[20:60, 10:90] = True
    assert named(mask)["aspect ratio"] == 2


def test_solidity_of_a_notched_square() -> None:
    mask = np.ones((120, 120), dtype=bool)
    mask[:60, 60:] = False  # an L; its hull cuts off half of the missing quarter
    assert named(mask)["solidity"] == pytest.approx(0.75 / 0.875, abs=0.01)


def test_vertices_of_polygons() -> None:
    triangle = np.tri(128, dtype=bool)
    assert vertices(outline(triangle), 437) == pytest.approx(3, abs=1)
    notched = np.ones((120, 120), dtype=bool)
    notched[:60, 60:] = False
    assert vertices(outline(notched), 480) == 6


def test_concavities_count_inward_bends() -> None:
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.stack([50 * np.sin(angles), 50 * np.cos(angles)], axis=1)
    assert concavities(circle) == 0
    star = circle * (1 + 0.2 * np.sin(7 * angles))[:, None]
    assert 7 <= concavities(star) <= 50


def test_curvature_of_a_circle_either_way_round() -> None:
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    circle = np.stack([20 * np.sin(angles), 20 * np.cos(angles)], axis=1)
    assert curvature(circle) == pytest.approx(1 / 20, rel=0.01)
    assert curvature(circle[::-1]) == pytest.approx(1 / 20, rel=0.01)


def test_resample_walks_at_equal_steps() -> None:
    square = np.array([[0.0, 0], [0, 4], [4, 4], [4, 0]])
    points = resample(square, 8)
    steps = np.hypot(*np.diff(np.concatenate([points, points[:1]]), axis=0).T)
    assert steps == pytest.approx(2)


def test_features_do_not_change_when_a_mask_is_turned() -> None:
    mask = disc(50)
    mask[:64, :40] = False
    turned = np.stack([np.rot90(mask, turn) for turn in range(4)])
    table = feature_table(turned)
    assert table.shape == (4, 8)
    assert np.ptp(table[:, :2], axis=0) == pytest.approx(0)


def test_a_mask_without_an_outline_is_refused() -> None:
    with pytest.raises(InputError, match="0 pixels"):
        shape_features(np.zeros((16, 16), dtype=bool))
    assert feature_table(np.zeros((0, 16, 16), dtype=bool)).shape == (0, 8)
