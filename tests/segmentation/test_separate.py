from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.segmentation.find import number_fragments, part


def discs(*places: tuple[int, int, int], shape: tuple[int, int] = (120, 420)) -> np.ndarray:
    y, x = np.ogrid[: shape[0], : shape[1]]
    mask = np.zeros(shape, bool)
    for row, col, radius in places:
        mask |= (y - row) ** 2 + (x - col) ** 2 <= radius**2
    return mask


def test_touching_fragments_are_parted() -> None:
    mask = discs((60, 50, 30), (60, 108, 30), (60, 200, 30), (60, 290, 30), (60, 370, 30))
    labels = number_fragments(mask)  # the first two share a seam
    assert labels.max() == 5
    assert labels[60, 50] != labels[60, 108]
    sizes = np.bincount(labels.ravel())[1:]
    assert sizes.max() < 1.1 * sizes.min()


def test_a_chain_of_three_is_parted() -> None:
    mask = discs(*((60, col, 30) for col in (40, 98, 156)), (60, 240, 30), (60, 310, 30))
    mask |= discs((60, 380, 30))
    assert number_fragments(mask).max() == 6


def test_one_irregular_fragment_stays_whole() -> None:
    dumbbell = discs((60, 35, 18), (60, 75, 18))
    dumbbell[57:63, 35:75] = True  # a waist a third as wide as its ends
    mask = dumbbell | discs((60, 160, 38), (60, 260, 38), (60, 360, 38))
    labels = number_fragments(mask)
    assert labels.max() == 4
    assert len(np.unique(labels[dumbbell])) == 1


def test_dust_is_dropped_unless_asked_for() -> None:
    mask = discs((60, 60, 40), (60, 200, 40), (10, 130, 2), (100, 300, 4))
    assert number_fragments(mask).max() == 2
    assert number_fragments(mask, min_area_px=30).max() == 3
    assert number_fragments(mask, min_area_px=1).max() == 4


def test_nothing_has_no_fragments() -> None:
    assert number_fragments(np.zeros((20, 30), bool)).max() == 0


@pytest.mark.parametrize("scale", [1, 9])
def test_a_part_is_cut_at_the_waist(scale: int) -> None:
    mask = discs((30, 30, 22), (30, 80, 25), shape=(60, 110))
    mask[28:33, 30:80] = True
    mask = np.kron(mask, np.ones((scale, scale), bool))
    parting = part(mask)
    assert parting is not None
    assert parting.waist < 0.3
    assert set(np.unique(parting.labels[mask])) == {1, 2}
    assert not parting.labels[~mask].any()
    cut = np.flatnonzero(np.diff(parting.labels[30 * scale])) / scale
    assert any(50 <= place <= 57 for place in cut)


def test_a_disc_has_no_waist() -> None:
    assert part(discs((60, 60, 40))) is None


@given(st.integers(0, 2**32 - 1))
def test_numbers_cover_the_mask_but_for_dust(seed: int) -> None:
    mask = np.random.default_rng(seed).random((24, 24)) > 0.5
    labels = number_fragments(mask, min_area_px=4)
    assert not labels[~mask].any()
    present = np.unique(labels[labels > 0])
    np.testing.assert_array_equal(present, np.arange(1, len(present) + 1))
