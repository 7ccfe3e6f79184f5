from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from photographs import Conditions, found_iou, sample_photograph

from puzzleflow.core.canvas import equal_cells
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.generation.erosion import erosion_model
from puzzleflow.segmentation import draw_preview, segment
from puzzleflow.solvers.registry import load_solver

GRID = Grid(3, 3)
ROW = [(100.0, 70.0, 50.0), (100.0, 210.0, 50.0)]
Drawn = Callable[..., tuple[np.ndarray, np.ndarray]]


def test_composed_photographs_of_a_fixed_set() -> None:
    """The thresholds of the full set, on its first 45 fragments.

    All 504 are in the slow test below and in benchmarks/segmentation.py.
    """
    erosion = erosion_model("vae")
    iou: list[float] = []
    backwards: list[float] = []
    for seed in range(80_000, 80_005):
        _, taken = sample_photograph(seed, erosion, GRID)
        labels = segment(taken.pixels).labels
        iou += list(found_iou(taken.piece_of, labels))
        backwards += list(found_iou(labels, taken.piece_of))
    assert np.mean(np.array(backwards) < 0.5) <= 0.02  # regions that are no fragment
    assert np.mean(np.array(iou) >= 0.9) >= 0.98


@pytest.mark.slow
def test_at_least_98_of_100_of_500_fragments() -> None:
    erosion = erosion_model("vae")
    iou: list[float] = []
    for seed in range(80_000, 80_056):
        _, taken = sample_photograph(seed, erosion, GRID)
        iou += list(found_iou(taken.piece_of, segment(taken.pixels).labels))
    assert np.mean(np.array(iou) >= 0.9) >= 0.98


def test_a_photographed_puzzle_is_solved() -> None:
    puzzle, taken = sample_photograph(5, erosion_model("none"), GRID, Conditions(gap_px=20))
    found = segment(taken.pixels)
    pieces = equal_cells([fragment.pixels for fragment in found.fragments])
    photographed = Puzzle(pieces, GRID)
    solution = load_solver("greedy-alpha").prepare(photographed).solve(seed=0)
    assert puzzle.truth is not None
    np.testing.assert_array_equal(solution.position_of, puzzle.truth)


def test_fragments_are_clean_and_in_reading_order(discs: Drawn) -> None:
    photo, owner = discs(ROW)
    found = segment(photo)
    assert [fragment.bbox[1] < 140 for fragment in found.fragments] == [True, False]
    assert found_iou(owner, found.labels).min() > 0.97
    for number, fragment in enumerate(found.fragments, start=1):
        top, left, height, width = fragment.bbox
        assert fragment.pixels.shape == (height, width, 4)
        assert not fragment.pixels[fragment.pixels[..., 3] == 0].any()
        window = found.labels[top : top + height, left : left + width] == number
        np.testing.assert_array_equal(fragment.pixels[..., 3] > 127, window)
        assert fragment.area_px == np.count_nonzero(window)
    assert found.warnings == ()


def test_fragments_that_nearly_touch_stay_apart(discs: Drawn) -> None:
    photo, owner = discs([(100, 60, 45), (100, 154, 45), (100, 248, 45)])  # 3 px between them
    found = segment(photo)
    assert len(found.fragments) == 3
    assert found_iou(owner, found.labels).min() > 0.95


@pytest.mark.parametrize("blur", [3, 8])
def test_soft_shadows_are_ground(discs: Drawn, blur: int) -> None:
    from scipy import ndimage

    photo, owner = discs(ROW)
    moved = np.roll((owner > 0).astype(float), (blur, blur), (0, 1))
    shade = 1 - 0.4 * ndimage.gaussian_filter(moved, blur)
    photo = np.where((owner > 0)[..., None], photo, photo * shade[..., None]).astype(np.uint8)
    assert found_iou(owner, segment(photo).labels).min() > 0.95


def test_paint_of_the_grounds_colour_is_filled(discs: Drawn) -> None:
    photo, owner = discs(ROW)
    rng = np.random.default_rng(0)
    patch = np.s_[90:104, 60:80]
    photo[patch] = 220 + rng.integers(-22, 23, (14, 20, 3))  # livelier than the ground
    assert found_iou(owner, segment(photo).labels).min() > 0.97


def test_dust_is_dropped(discs: Drawn) -> None:
    photo, owner = discs([*ROW, (20, 20, 3), (180, 140, 4)])
    found = segment(photo)
    assert len(found.fragments) == 2
    assert len(segment(photo, min_area_px=20).fragments) == 4
    assert owner.max() == 4


def test_a_threshold_of_ones_own(discs: Drawn) -> None:
    photo, _ = discs(ROW, paint=(205, 205, 200))  # 15 levels a channel from the ground
    found = segment(photo, threshold=12.0)
    assert found.threshold == 12.0
    assert len(found.fragments) == 2
    with pytest.raises(InputError, match="no fragments found"):
        segment(photo, threshold=60.0)


def test_large_photographs_are_understood_small_and_cut_fine(
    discs: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("puzzleflow.segmentation.find.WORK_PIXELS", 60_000)
    large = [(row * 4, col * 4, radius * 4) for row, col, radius in ROW]
    photo, owner = discs(large, shape=(800, 1200))  # four times the size that is looked at
    found = segment(photo)
    assert found.labels.shape == (800, 1200)
    assert found_iou(owner, found.labels).min() > 0.985
    monkeypatch.setattr("puzzleflow.segmentation.find.REFINE_PIXELS", 0)
    coarse = segment(photo)  # the bound on memory leaves the outline of the small size
    assert 0.9 < found_iou(owner, coarse.labels).min() < found_iou(owner, found.labels).min()


def test_transparent_ground_needs_no_guessing(discs: Drawn) -> None:
    photo, owner = discs(ROW, paint=(220, 220, 215))  # the ground's own colour
    alpha = np.where(owner > 0, 255, 0).astype(np.uint8)
    found = segment(np.dstack([photo, alpha]))
    assert found.background is None
    np.testing.assert_array_equal(found.labels, owner)
    assert found.fragments[0].pixels.shape[2] == 4
    opaque = np.dstack([discs(ROW)[0], np.full(owner.shape, 255, np.uint8)])
    assert segment(opaque).background is not None


def test_fragments_cut_off_by_the_margin_are_told(discs: Drawn) -> None:
    photo, _ = discs([(100, 20, 50), (100, 210, 50)])
    found = segment(photo)
    assert [fragment.cut_off for fragment in found.fragments] == [True, False]
    assert found.warnings == ("fragment 1 cut off by the margin of the photograph",)


def test_an_empty_ground_is_told(discs: Drawn) -> None:
    with pytest.raises(InputError, match="no fragments found: expected fragments on a plain"):
        segment(discs([])[0])


@pytest.mark.parametrize(
    ("photo", "message"),
    [
        (np.zeros((40, 40), np.uint8), "uint8"),
        (np.zeros((40, 40, 3), np.float32), "float32"),
        (np.zeros((40, 8, 3), np.uint8), "8x40 pixels"),
    ],
)
def test_what_is_no_photograph(photo: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        segment(photo)


def test_a_threshold_is_positive(discs: Drawn) -> None:
    with pytest.raises(InputError, match="above 0"):
        segment(discs(ROW)[0], threshold=0.0)


def test_noise_is_not_a_thousand_fragments() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (120, 120, 3), dtype=np.uint8)
    with pytest.raises(InputError, match="no fragments found"):
        segment(noise)


@pytest.mark.parametrize(("contrast", "is_told"), [(8, False), (30, True), (120, True)])
def test_striped_grounds_are_told(discs: Drawn, contrast: int, is_told: bool) -> None:
    photo, labels = discs(ROW)
    photo = photo.copy()
    photo[(labels == 0) & (np.arange(photo.shape[1]) // 4 % 2 == 1)] = photo[0, 0] - contrast
    found = segment(photo)
    assert any("not plain" in warning for warning in found.warnings) == is_told


def test_the_preview_outlines_and_numbers(discs: Drawn) -> None:
    photo, _ = discs(ROW)
    found = segment(photo)
    preview = draw_preview(found)
    assert preview.shape == photo.shape
    changed = (preview != photo).any(axis=-1)
    assert changed[100, 18:24].any()  # the outline
    assert changed[90:110, 60:80].any()  # the number
    assert not changed[100, 138:142].any()  # the ground between
    assert draw_preview(found, max_px=150).shape == (100, 150, 3)
