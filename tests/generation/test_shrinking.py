from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from puzzleflow.core.rng import child_rng
from puzzleflow.generation.erosion_models import move_outline


def blot(seed: int, side: int = 40) -> np.ndarray:
    """A random connected-looking mask."""
    noise = ndimage.gaussian_filter(child_rng(seed).normal(size=(side, side)), 4)
    mask = noise > np.quantile(noise, 0.4)
    return np.asarray(ndimage.label(mask)[0] == 1)


def test_a_square_by_hand() -> None:
    mask = np.zeros((10, 10), bool)
    mask[2:8, 2:8] = True
    smaller = move_outline(mask, 1)
    assert smaller.sum() == 16
    assert smaller[3:7, 3:7].all()
    larger = move_outline(mask, -1)
    assert larger.sum() == 36 + 4 * 6, "one pixel on every side, none at the corners"


def test_the_frame_of_the_cell_is_an_outline_too() -> None:
    whole = np.ones((10, 12), bool)
    assert move_outline(whole, 2).sum() == 6 * 8
    assert move_outline(whole, -3).all()


def test_nothing_moves_nothing() -> None:
    mask = blot(3)
    assert np.array_equal(move_outline(mask, 0), mask)


@given(seed=st.integers(0, 50), first=st.floats(-12, 12), second=st.floats(-12, 12))
def test_further_in_is_less(seed: int, first: float, second: float) -> None:
    mask = blot(seed)
    out, inward = sorted((first, second))
    assert move_outline(mask, inward).sum() <= move_outline(mask, out).sum()


@given(seed=st.integers(0, 50), inward=st.floats(0.5, 100))
def test_one_fragment_is_left(seed: int, inward: float) -> None:
    mask = blot(seed)
    smaller = move_outline(mask, inward)
    assert smaller.any()
    assert not (smaller & ~mask).any()
    assert ndimage.label(smaller, structure=np.ones((3, 3)))[1] == 1


@pytest.mark.parametrize("outward", [1.0, 3.0])
def test_growing_leaves_no_holes(outward: float) -> None:
    mask = np.ones((20, 20), bool)
    mask[8:12, 8:12] = False
    mask[8:12, 0:12] = False
    assert ndimage.label(~move_outline(mask, -outward))[1] <= 1
