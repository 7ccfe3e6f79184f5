from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import FormatError
from puzzleflow.core.rng import child_rng
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.generation.fidelity import REAL, SYNTHETIC
from puzzleflow.generation.gap_model import REACH, GapModel, load_gap_model
from puzzleflow.generation.generators import GapFragments, OutlineFragments
from puzzleflow.generation.geometry import FEATURES, feature_table
from puzzleflow.masks import bounding_box
from puzzleflow.models.checkpoint import bundled_weights
from puzzleflow.training.gap_fit import (
    JUDGED,
    SD_SLACK,
    SETTINGS,
    GapFit,
    fit_gap_run,
    fit_thinning,
)


def test_the_published_table() -> None:
    assert tuple(REAL) == tuple(SYNTHETIC) == FEATURES
    for column in (REAL, SYNTHETIC):
        for row in column.values():
            assert row.minimum < row.median < row.maximum
            assert abs(row.mean - row.median) < row.sd
        # three of the features are two: the printed means agree with each other
        assert column["circularity"].mean == pytest.approx(
            4 * np.pi * column["area"].mean / column["perimeter"].mean ** 2, rel=0.02
        )


def test_features_follow_the_papers_generated_fragments() -> None:
    table = feature_table(GapFragments().masks(range(1000, 1300)))
    for name, column in zip(FEATURES, table.T, strict=True):
        wanted = SYNTHETIC[name]
        assert column.mean() == pytest.approx(wanted.mean, rel=0.03), name
        # 300 masks know an sd to some 5 %; the model card has the figures of 2,000
        assert column.std() == pytest.approx(wanted.sd, rel=0.28), name


def test_boxes_lie_inside_the_cell_about_its_middle() -> None:
    model = GapFragments().gap
    for index in range(20):
        top, bottom, left, right = bounding_box(model.draw(child_rng(4, "box", index)))
        assert abs(top - (128 - bottom)) <= 3
        assert abs(left - (128 - right)) <= 3


def test_erosion_is_stored_by_name() -> None:
    model = erosion_model("gap")
    assert model.name == "gap"
    masks = model.masks([5, 6], 128, 128)
    assert np.array_equal(masks, GapFragments().masks([5, 6]))
    assert model.masks([5], 40, 60).shape == (1, 40, 60)


def test_thinning_reaches_the_published_moments_and_cuts_the_tails() -> None:
    rng = child_rng(1, "drawn")
    mean = np.array([SYNTHETIC[name].mean for name in JUDGED])
    sd = np.array([SYNTHETIC[name].sd for name in JUDGED])
    drawn = mean * 1.03 + 1.4 * sd * rng.standard_normal((4000, len(JUDGED)))
    thinning, share = fit_thinning(drawn, 90.0)
    chance = np.array([thinning.size.chance(row[:2]) * thinning.edge.chance(row) for row in drawn])
    assert share == pytest.approx(chance.mean())
    kept = chance @ drawn / chance.sum()
    varied = np.sqrt(chance @ (drawn - kept) ** 2 / chance.sum())
    assert kept == pytest.approx(mean, rel=0.02)
    assert varied == pytest.approx(sd, rel=SD_SLACK + 0.01)
    assert not chance[np.abs((drawn - mean) / sd).max(axis=1) > REACH].any()


def test_a_fit_is_repeatable_and_loads(tmp_path: Path) -> None:
    outlines = OutlineFragments().model
    fit = GapFit(draws=150)
    first, share = fit_gap_run(tmp_path / "a", outlines, fit=fit)
    again, _ = fit_gap_run(tmp_path / "b", outlines, fit=fit)
    assert first.read_bytes() == again.read_bytes()
    assert 0.1 < share < 1
    model, thinning = load_gap_model(first, outlines)
    assert model.settings.gains == pytest.approx(SETTINGS.gains)
    assert thinning.size.reach == REACH
    assert GapFragments(first).masks([3]).any()


def test_foreign_weights_are_refused() -> None:
    with pytest.raises(FormatError, match="outline_model"):
        load_gap_model(bundled_weights("fragment_outline.safetensors"), OutlineFragments().model)


def test_settings_for_other_bands_are_refused() -> None:
    with pytest.raises(ValueError, match="3 gains"):
        GapModel.of(OutlineFragments().model, replace(SETTINGS, gains=(0.0, 0.0, 0.0)))
