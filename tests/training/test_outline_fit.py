from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.generation.generators import OutlineFragments
from puzzleflow.generation.outlines import fill_frame, fill_polygon
from puzzleflow.training.outline_fit import (
    WEIGHTS,
    OutlineFit,
    fit_mixture,
    fit_outline_run,
    turned_curves,
)


def blobs(count: int) -> np.ndarray:
    masks = []
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        radius = 40 + sum(
            rng.normal() * 8 / k * np.cos(k * angles + rng.random() * 6) for k in range(1, 60)
        )
        rows, cols = radius * np.sin(angles), radius * np.cos(angles)
        rows = (rows - rows.min()) / np.ptp(rows) * 128 - 0.5
        cols = (cols - cols.min()) / np.ptp(cols) * 128 - 0.5
        masks.append(fill_frame(fill_polygon(rows, cols, 128)))
    return np.stack(masks)


def test_fit_writes_weights_that_draw_similar_masks(tmp_path: Path) -> None:
    masks = blobs(40)
    settings = OutlineFit(
        num_parts=2,
        envelope_steps=1,
        envelope_draws=30,
        calibration_steps=1,
        calibration_draws=12,
        thinning_draws=60,
    )
    lines: list[str] = []
    names = [f"{index}.png" for index in range(40)]
    fit_outline_run(tmp_path, masks, names, settings=settings, report=lines.append)
    assert lines[0].startswith("256 outlines of 32 masks")
    drawn = OutlineFragments(tmp_path / WEIGHTS).masks(range(6))
    assert drawn.mean() == pytest.approx(masks.mean(), abs=0.1)


def test_curves_of_all_turns() -> None:
    curves = turned_curves(blobs(2))
    assert curves.shape == (16, 2, 512)
    rows, cols = np.mgrid[:128, :128] - 63.5
    distance = np.hypot(rows, cols)
    crescent = (distance < 63) & (distance > 55) & (cols < 20)
    with pytest.raises(InputError, match="centroid"):
        turned_curves(crescent[None])


def test_mixture_finds_two_heaps() -> None:
    rng = np.random.default_rng(0)
    left = rng.normal([-5, 0], [1, 0.5], (600, 2))
    right = rng.normal([5, 1], [0.5, 2], (200, 2))
    weights, means, factors = fit_mixture(np.concatenate([left, right]), 2, 0, ridge=1e-4)
    order = np.argsort(means[:, 0])
    assert weights[order] == pytest.approx([0.75, 0.25], abs=0.01)
    assert means[order] == pytest.approx(np.array([[-5, 0], [5, 1]]), abs=0.3)
    factor = factors[order[1]]
    assert np.sqrt(np.diag(factor @ factor.T)) == pytest.approx([0.5, 2], rel=0.15)
    with pytest.raises(InputError, match="too few"):
        fit_mixture(np.zeros((3, 2)), 2, 0)
