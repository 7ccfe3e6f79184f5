"""Edges as photographs show them: where they may differ, and what stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from puzzleflow.core.fragments import Fragment
from puzzleflow.generation.fracture import Weathering
from puzzleflow.generation.free_form import FreeForm, break_picture
from puzzleflow.generation.photography import Photography, photographed

SIDE = 60


@pytest.fixture(scope="module")
def square() -> Fragment:
    pixels = np.zeros((SIDE + 20, SIDE + 20, 4), np.uint8)
    pixels[10:-10, 10:-10] = (180, 120, 60, 255)
    return Fragment(pixels, "square")


def taken(fragment: Fragment, how: Photography, seed: int = 0) -> tuple[Fragment, np.ndarray]:
    """The fragment, and how deep (in pixels of the first one) each of its pixels lies."""
    found = photographed(fragment, how, SIDE, np.random.default_rng(seed))
    margin = (found.pixels.shape[0] - fragment.pixels.shape[0]) // 2
    before = np.pad(fragment.mask, margin)
    return found, ndimage.distance_transform_edt(before) - ndimage.distance_transform_edt(~before)


def test_nothing_amiss_changes_nothing(square: Fragment) -> None:
    found, depth = taken(square, Photography())
    np.testing.assert_array_equal(found.mask, depth > 0)
    np.testing.assert_array_equal(
        found.pixels[found.mask], np.tile((180, 120, 60, 255), (SIDE * SIDE, 1))
    )


def test_a_stain_darkens_the_edge_and_not_what_lies_deep(square: Fragment) -> None:
    found, depth = taken(square, Photography(stain=0.6, stain_depth=0.03))
    light = found.pixels[..., :3].mean(axis=2)
    assert light[depth == 1].mean() < 90
    assert light[depth > 20].min() >= 119


def test_a_shadow_lies_on_one_side(square: Fragment) -> None:
    found, depth = taken(square, Photography(shadow=0.5, shadow_depth=0.04))
    edge = found.pixels[depth == 1][:, :3].mean(axis=1)
    assert edge.min() < 100 < 125 < edge.max()


@pytest.mark.parametrize("cut", [-0.04, 0.04])
def test_cut_too_far(square: Fragment, cut: float) -> None:
    how = Photography(ground=(0, 0, 1), cut=cut)
    found, depth = taken(square, how)
    side = np.sqrt(found.area_px)
    away = (SIDE - side) / 2 / SIDE  # of √area, on either side
    assert 0.6 * abs(cut) < away * np.sign(cut) < 1.4 * abs(cut)
    rim = found.mask & (depth < -1)
    if cut < 0:  # the ground shows
        assert rim.any()
        np.testing.assert_array_equal(found.pixels[rim][:, :3], [(0, 0, 255)] * int(rim.sum()))
    else:
        assert not rim.any()


def test_what_would_lose_too_much_stays_as_it_is(square: Fragment) -> None:
    assert taken(square, Photography(cut=0.3))[0] is square


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_any_photograph_keeps_most_of_a_fragment_and_its_place(seed: int) -> None:
    pixels = np.zeros((SIDE, SIDE, 4), np.uint8)
    pixels[4:-6, 2:-2] = (90, 140, 200, 255)
    fragment = Fragment(pixels, "one")
    how = Photography.drawn(np.random.default_rng(seed))
    found, depth = taken(fragment, how, seed)
    assert 0.7 < found.area_px / fragment.area_px < 1.3
    assert ndimage.label(found.mask)[1] == 1
    assert found.mask[depth > 0.06 * SIDE].all()
    assert not found.mask[depth < -0.06 * SIDE].any()
    again, _ = taken(fragment, how, seed)
    np.testing.assert_array_equal(found.pixels, again.pixels)
    assert how == Photography.drawn(np.random.default_rng(seed))


def test_a_set_is_photographed_and_keeps_its_truth() -> None:
    rng = np.random.default_rng(0)
    picture = np.repeat(np.repeat(rng.integers(0, 256, (12, 12, 3)), 16, 0), 16, 1)
    how = FreeForm((5, 5), weathering=Weathering(0.03), photographed=True)
    clean = break_picture(picture.astype(np.uint8), replace(how, photographed=False), 2)
    found = break_picture(picture.astype(np.uint8), how, 2)
    np.testing.assert_array_equal(found.adjacency, clean.adjacency)
    for one, two, pose, true in zip(
        found.fragments, clean.fragments, found.poses, clean.poses, strict=True
    ):
        assert pose is not None
        assert true is not None
        assert one.name == two.name
        assert one.pixels.tobytes() != two.pixels.tobytes()
        np.testing.assert_allclose(
            pose.apply(one.centroid[None]), true.apply(two.centroid[None]), atol=2
        )
