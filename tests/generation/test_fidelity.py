from __future__ import annotations

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.generation.fidelity import compare, nearest_iou, project, spread, summarise

RNG = np.random.default_rng(0)
REAL = 10 + RNG.normal(size=(300, 8))


def test_summary_by_hand() -> None:
    table = np.repeat(np.array([1.0, 2, 3, 4, 10])[:, None], 8, axis=1)
    area = summarise(table)["area"]
    assert (area.mean, area.median, area.minimum, area.maximum) == (4, 3, 1, 10)
    assert area.iqr == 2
    assert area.sd == pytest.approx(np.sqrt(10))


def test_distances_of_equal_and_of_shifted_groups() -> None:
    same = compare(REAL, REAL)["perimeter"]
    assert (same.difference_percent, same.ks, same.wasserstein) == (0, 0, 0)
    shifted = REAL.copy()
    shifted[:, 0] += 100
    area = compare(REAL, shifted)["area"]
    assert area.ks == 1
    assert area.wasserstein == pytest.approx(100)
    assert area.difference_percent == pytest.approx(100 * 100 / REAL[:, 0].mean())
    assert area.ks_p < 1e-6


def test_spread_tells_collapse_from_noise() -> None:
    again = 10 + RNG.normal(size=(300, 8))
    good = spread(REAL, again)
    assert good.precision > 0.8
    assert good.coverage > 0.8
    collapsed = spread(REAL, np.repeat(REAL[:1], 300, axis=0))
    assert collapsed.precision == 1
    assert collapsed.coverage < 0.1
    far = spread(REAL, again + 50)
    assert (far.precision, far.coverage) == (0, 0)
    with pytest.raises(InputError, match="more than 5"):
        spread(REAL[:5], again)


def test_projection_keeps_variance_and_a_constant_feature_does_no_harm() -> None:
    table = REAL.copy()
    table[:, 2] = 1.0  # as the aspect ratio of stretched masks
    found = project(table, table[:100])
    assert found.explained.sum() == pytest.approx(1)
    assert found.explained[0] == found.explained.max()
    assert found.real.shape == (300, 8)
    assert found.generated == pytest.approx(found.real[:100])
    assert np.isfinite(found.real).all()


def test_nearest_iou_sees_through_turns_and_flips() -> None:
    rng = np.random.default_rng(3)
    training = rng.random((5, 16, 16)) > 0.5
    turned = np.stack([np.rot90(training[3], 3), training[1][:, ::-1], np.rot90(training[0]).T])
    assert nearest_iou(turned, training) == pytest.approx(1)


def test_nearest_iou_by_hand() -> None:
    full = np.ones((1, 8, 8), dtype=bool)
    half = full.copy()
    half[:, 4:] = False
    assert nearest_iou(half, full) == pytest.approx(0.5)
    assert nearest_iou(np.zeros((1, 8, 8), dtype=bool), full) == pytest.approx(0)
