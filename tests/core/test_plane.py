from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.plane import Window, draw, place, window_around
from puzzleflow.core.pose import Pose


def disc(size=41, colour=(200, 100, 50)) -> Fragment:
    y, x = np.mgrid[:size, :size] - size // 2
    pixels = np.zeros((size, size, 4), np.uint8)
    pixels[x**2 + y**2 <= 0.2 * size**2] = (*colour, 255)
    return Fragment(pixels, "disc")


def test_a_fragment_that_is_not_turned_is_drawn_as_it_is():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 9, 4), np.uint8)
    pixels[..., 3] = 255
    fragment = Fragment(pixels, "a")
    drawn = draw([fragment], [Pose(4.5 + 2, 3 + 1)], Window(0, 0, 8, 12))
    assert np.array_equal(drawn[1:7, 2:11], pixels)
    assert drawn[0].max() == drawn[:, :2].max() == drawn[:, 11:].max() == 0
    quarter = draw([fragment], [Pose(3, 4.5, 90)], Window(0, 0, 9, 6))
    assert np.array_equal(quarter, np.rot90(pixels))  # counter-clockwise


@settings(max_examples=25)
@given(st.floats(-180, 180), st.floats(-30, 30), st.floats(-30, 30))
def test_material_is_kept(angle, x, y):
    fragment = disc()
    patch = place(fragment, Pose(x, y, angle), Window(-60, -60, 120, 120))
    assert patch.alpha.sum() == pytest.approx(fragment.area_px, rel=0.01)
    rows, cols = np.indices(patch.alpha.shape)
    assert np.average(cols, weights=patch.alpha) + patch.left + 0.5 - 60 == pytest.approx(
        x, abs=0.05
    )
    assert np.average(rows, weights=patch.alpha) + patch.top + 0.5 - 60 == pytest.approx(
        y, abs=0.05
    )
    assert patch.colours[patch.alpha > 0.99] == pytest.approx(
        np.broadcast_to(np.array([200, 100, 50]) / 255, (int((patch.alpha > 0.99).sum()), 3)),
        abs=0.01,
    )


def test_colours_do_not_darken_at_the_edge():
    drawn = draw([disc()], [Pose(20.3, 20.7, 33)])
    rim = (drawn[..., 3] > 20) & (drawn[..., 3] < 235)
    assert rim.sum() > 20
    assert np.abs(drawn[rim][:, :3].astype(int) - [200, 100, 50]).max() <= 7


def test_later_fragments_lie_on_top_and_unplaced_ones_are_left_out():
    red, blue = disc(colour=(255, 0, 0)), disc(colour=(0, 0, 255))
    window = Window(-20, -20, 40, 40)
    assert draw([red, blue], [Pose(0, 0), Pose(0, 0)], window)[20, 20].tolist() == [0, 0, 255, 255]
    assert draw([red, blue], [Pose(0, 0), None], window)[20, 20].tolist() == [255, 0, 0, 255]


def test_a_small_picture_of_much_material_keeps_colours_and_places():
    fragment = disc(401)
    window = window_around([fragment], [Pose(1000, 500, 20)], max_side_px=60)
    assert (window.height, window.width) == (60, 60)
    drawn = draw([fragment], [Pose(1000, 500, 20)], window)
    assert drawn[30, 30].tolist() == [200, 100, 50, 255]
    rows, cols = np.nonzero(drawn[..., 3] > 127)
    assert abs(rows.mean() + 0.5 - 30) < 0.6
    assert abs(cols.mean() + 0.5 - 30) < 0.6


def test_a_window_holds_all_material():
    fragments, poses = [disc(), disc()], [Pose(0, 0, 10), Pose(90, -35, 77)]
    drawn = draw(fragments, poses)
    total = sum(fragment.area_px for fragment in fragments)
    assert (drawn[..., 3] / 255).sum() == pytest.approx(total, rel=0.01)
    assert max(drawn[0, :, 3].max(), drawn[:, 0, 3].max(), drawn[-1, :, 3].max()) < 60


def test_what_cannot_be_drawn():
    with pytest.raises(InputError, match="known pose"):
        draw([disc()], [None])
    with pytest.raises(InputError, match="cannot be drawn"):
        draw([disc(), disc()], [Pose(0, 0), Pose(1e6, 1e6)])
    elsewhere = place(disc(), Pose(500, 0), Window(0, 0, 9, 9))
    assert elsewhere.alpha.size == 0
