from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from skimage import morphology

from puzzleflow.generation.fragments import (
    close_disk,
    fill_holes,
    finish,
    is_degenerate,
    largest_component,
    threshold,
)

BOOLS = arrays(bool, (12, 15))


def drawing(text: str) -> np.ndarray:
    return np.array([[c == "#" for c in line] for line in text.split()])


def test_threshold_is_strict() -> None:
    assert threshold(np.array([0.49, 0.5, 0.51])).tolist() == [False, False, True]


def test_fill_holes_fills_inside_only() -> None:
    ring = drawing("##### #...# #.#.# #...# #####")
    assert fill_holes(ring).all()
    bay = drawing("##### #...# #.#.# #...# ##.##")
    assert np.array_equal(fill_holes(bay), bay)


def test_background_does_not_leak_over_corners() -> None:
    corner = drawing(".##. #..# #..# .##.")
    assert fill_holes(corner)[1:3, 1:3].all()
    assert not fill_holes(corner)[0, 0]


def test_largest_component_joins_corners_and_drops_the_rest() -> None:
    mask = drawing("#..## .#... #.... ....# ....#")
    assert np.array_equal(largest_component(mask), drawing("#.... .#... #.... ..... ....."))
    assert not largest_component(np.zeros((4, 4), dtype=bool)).any()


def test_of_equal_components_the_first_is_kept() -> None:
    assert largest_component(drawing("##.## .....")).tolist() == drawing("##... .....").tolist()


def test_closing_bridges_a_crack_and_keeps_the_border() -> None:
    mask = np.ones((20, 20), dtype=bool)
    mask[:, 10] = False  # a crack one pixel wide
    closed = close_disk(mask)
    assert closed[2:-2].all()
    assert closed[:, 0].all()


@given(BOOLS)
def test_closing_agrees_with_scikit_image_on_a_wide_plane(mask: np.ndarray) -> None:
    wide = np.pad(mask, 6)
    expected = morphology.closing(wide, morphology.disk(2))[6:-6, 6:-6]
    assert np.array_equal(close_disk(mask), expected)


@given(BOOLS)
def test_steps_are_idempotent_and_ordered(mask: np.ndarray) -> None:
    for step in (fill_holes, largest_component, close_disk):
        once = step(mask)
        assert np.array_equal(step(once), once)
    assert (fill_holes(mask) >= mask).all()
    assert (close_disk(mask) >= mask).all()
    assert (largest_component(mask) <= mask).all()


@given(BOOLS)
def test_steps_leave_their_input_alone(mask: np.ndarray) -> None:
    before = mask.copy()
    for step in (fill_holes, largest_component, close_disk):
        step(mask)[:] = True
    assert np.array_equal(mask, before)


def test_finish_follows_the_published_order() -> None:
    output = np.zeros((40, 40), dtype=np.float32)
    output[5:30, 5:30] = 0.9
    output[10:14, 10:14] = 0.1  # a hole
    output[35:38, 35:38] = 0.8  # a crumb
    output[5:30, 20] = 0.2  # a crack that halves the mask: only closing could bridge it
    mask = finish(output)
    assert mask[11, 11]
    assert not mask[36, 36]
    assert not mask[15, 25]  # largest component comes before closing


def test_degenerate_masks() -> None:
    assert is_degenerate(np.zeros((128, 128), dtype=bool))
    thin = np.zeros((128, 128), dtype=bool)
    thin[:, 40:70] = True
    assert is_degenerate(thin)
    assert not is_degenerate(np.ones((128, 128), dtype=bool))


@pytest.mark.parametrize("step", [fill_holes, largest_component, close_disk])
def test_empty_stays_empty(step: object) -> None:
    assert not step(np.zeros((8, 8), dtype=bool)).any()  # type: ignore[operator]
