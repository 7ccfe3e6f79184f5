from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image

from puzzleflow.core.assembly import Assembly, truth_assembly
from puzzleflow.core.assembly_metrics import score_assembly
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.evaluation.repair_legacy import PIXELS_PER_MM, legacy_scores, score_tables


def picture(side: int) -> Image.Image:
    pixels = np.zeros((60, 60, 4), np.uint8)
    low = (60 - side) // 2
    pixels[low : low + side, low : low + side] = 255
    return Image.fromarray(pixels)


PICTURES = {0: picture(40), 1: picture(30), 2: picture(20)}
TRUTH = {0: (100.0, 100.0, 0.0), 1: (150.0, 100.0, 350.0), 2: (100.0, 150.0, 10.5)}


def score(answer, truth=TRUTH):
    return score_tables(PICTURES.__getitem__, answer, truth)


def test_the_truth_loses_only_the_fraction_of_its_angles():
    scores = score(TRUTH)
    assert scores["rmse_translation"] == scores["rmse_rotation"] == 0
    assert 0.97 < scores["q_pos"] <= 1  # 10.5 degrees are drawn against 10


def test_one_fragment_off():
    """Fragment 2 moved by 10 px of its 20: half of it shared, weight 400 / (400 + 900)."""
    truth = TRUTH | {1: (150.0, 100.0, 0.0), 2: (100.0, 150.0, 0.0)}
    scores = score(truth | {2: (110.0, 150.0, 0.0)}, truth)
    assert scores["q_pos"] == pytest.approx((900 + 0.5 * 400) / 1300)
    assert scores["rmse_translation"] == pytest.approx((0 + 10) / 2 / PIXELS_PER_MM / math.sqrt(2))


def test_angles_are_not_wrapped():
    scores = score(TRUTH | {1: (150.0, 100.0, 2.0)})  # 12 degrees from 350
    assert scores["rmse_rotation"] == pytest.approx(348 / 2 / math.sqrt(2))


def test_corners_are_not_turned_with_the_anchor():
    """The truth turned as a whole by 90 degrees about the anchor: right, yet punished."""
    truth = {i: (x, y, 0.0) for i, (x, y, _) in TRUTH.items()}
    turned = {0: (100.0, 100.0, 90.0), 1: (100.0, 50.0, 90.0), 2: (150.0, 100.0, 90.0)}
    scores = score(turned, truth)
    assert scores["q_pos"] == pytest.approx(1)  # pictures are turned, about the anchor's middle
    assert scores["rmse_translation"] == pytest.approx(
        math.hypot(50, 50) / PIXELS_PER_MM / math.sqrt(2)
    )
    assert scores["rmse_rotation"] == 0


def test_without_the_anchor_nothing_counts():
    assert score({1: TRUTH[1], 2: TRUTH[2]})["q_pos"] == 0
    assert score({0: TRUTH[0]})["q_pos"] == 0


def test_missing_fragments_count_nothing_in_the_area():
    truth = {i: (x, y, 0.0) for i, (x, y, _) in TRUTH.items()}
    assert score({0: truth[0], 1: truth[1]}, truth)["q_pos"] == pytest.approx(900 / 1300)


def test_assemblies_are_scored_too():
    sides = (40, 30, 20)
    fragments = tuple(
        Fragment(np.full((side, side, 4), 255, np.uint8), str(side)) for side in sides
    )
    poses = (Pose(0, 0), Pose(50, 0), Pose(0, 50))
    whole = FragmentSet(fragments, poses)
    assert legacy_scores(whole, truth_assembly(poses))["q_pos"] == pytest.approx(1)
    shifted = Assembly(3, ({i: Pose(-300, 70) @ pose for i, pose in enumerate(poses)},))
    scores = legacy_scores(whole, shifted)
    assert scores["rmse_translation"] == pytest.approx(0, abs=1e-9)
    turned = Assembly(3, ({i: Pose(0, 0, 90) @ pose for i, pose in enumerate(poses)},))
    assert legacy_scores(whole, turned)["rmse_translation"] > 1
    assert score_assembly(whole, turned).position_error < 1e-9  # what it should be
