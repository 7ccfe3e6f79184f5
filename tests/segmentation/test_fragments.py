from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError
from puzzleflow.segmentation.fragments import (
    cut_fragment,
    reading_order,
    soft_alpha,
)


def test_rows_may_be_crooked() -> None:
    tilt = [0, 12, 24, 36]  # the right end of a row lies 36 px lower
    boxes = [(row * 110 + tilt[col], col * 110, 90, 90) for row in range(3) for col in range(4)]
    shuffled = np.random.default_rng(0).permutation(12)
    order = reading_order([boxes[i] for i in shuffled])
    assert [shuffled[i] for i in order] == list(range(12))


def test_low_and_high_fragments_share_a_row() -> None:
    boxes = [(100, 200, 80, 50), (120, 0, 30, 50), (90, 100, 100, 50), (300, 0, 80, 50)]
    assert reading_order(boxes) == [1, 2, 0, 3]
    assert reading_order([]) == []


@given(st.lists(st.tuples(*[st.integers(0, 500)] * 2, *[st.integers(1, 90)] * 2), max_size=12))
def test_every_fragment_is_read_once(boxes: list[tuple[int, int, int, int]]) -> None:
    assert sorted(reading_order(boxes)) == list(range(len(boxes)))


@given(st.integers(0, 2**32 - 1))
def test_alpha_says_what_the_mask_says(seed: int) -> None:
    mask = np.random.default_rng(seed).random((12, 12)) > 0.5
    np.testing.assert_array_equal(soft_alpha(mask) > 127, mask)


def test_the_rim_shows_no_ground() -> None:
    photo = np.full((40, 40, 3), 255, np.uint8)
    photo[10:30, 10:30] = (180, 20, 20)
    photo[9:31, 9:31][np.pad(np.zeros((20, 20), bool), 1, constant_values=True)] = (218, 138, 138)
    labels = np.zeros((40, 40), np.int32)
    labels[9:31, 9:31] = 1  # half a pixel too large, as outlines are
    cut = cut_fragment(photo, labels, 1)
    assert cut.bbox == (9, 9, 22, 22)
    assert cut.area_px == 22 * 22
    assert not cut.cut_off
    seen = cut.pixels[cut.pixels[..., 3] > 0][:, :3]
    assert (seen == (180, 20, 20)).all()


def test_a_number_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no fragment 3"):
        cut_fragment(np.zeros((9, 9, 3), np.uint8), np.ones((9, 9), np.int32), 3)
