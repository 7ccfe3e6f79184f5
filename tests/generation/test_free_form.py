from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.plane import Window, draw
from puzzleflow.generation.fracture import (
    GAPS,
    PATTERNS,
    Weathering,
    fracture,
    inner_distance,
    weathered,
)
from puzzleflow.generation.free_form import FreeForm, break_picture, outlined, turn_fragments

WHOLE = Weathering(gap=0, rounding=0, chips=0)


def picture(height=240, width=300) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    planes = [60 + 0.4 * x, 60 + 0.5 * y, 120 + 60 * np.sin(x / 9 + y / 13)]
    return np.stack(planes, axis=-1).astype(np.uint8)


def gap_median(fragments: FragmentSet) -> float:
    """Median distance to the nearest neighbour over √area, along outlines that face one."""
    outlines = [
        p.apply(f.outline) for f, p in zip(fragments.fragments, fragments.poses, strict=True)
    ]
    root = np.sqrt(fragments.areas)
    gaps = []
    for i, own in enumerate(outline[::4] for outline in outlines):
        others = [j for j in range(len(outlines)) if j != i]
        away = np.stack(
            [np.sqrt(((own[:, None] - outlines[j]) ** 2).sum(2)).min(1) for j in others]
        )  # (N - 1, M)
        nearest = np.array(others)[away.argmin(axis=0)]
        gap = (away.min(axis=0) - 1) / ((root[i] + root[nearest]) / 2)
        gaps.append(gap[fragments.true_neighbours[i][nearest] & (gap < 0.3)])
    return float(np.median(np.concatenate(gaps)))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("count", [2, 5, 30])
def test_a_pattern_covers_everything_with_connected_parts(pattern, count):
    labels = fracture(np.random.default_rng(3), (150, 200), count, pattern)
    assert np.array_equal(np.unique(labels), np.arange(count))
    for part in range(count):
        assert ndimage.label(labels == part)[1] == 1
    assert np.array_equal(labels, fracture(np.random.default_rng(3), (150, 200), count, pattern))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_areas_are_log_normal(pattern):
    spread = []
    for seed in range(4):
        labels = fracture(np.random.default_rng(seed), (200, 200), 20, pattern, sigma=0.5)
        spread.append(np.log(np.bincount(labels.ravel())).std())
    assert 0.35 < np.mean(spread) < 0.65
    even = fracture(np.random.default_rng(0), (200, 200), 20, pattern, sigma=0.0)
    assert np.log(np.bincount(even.ravel())).std() < min(0.36, np.mean(spread))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_without_weathering_the_fragments_are_the_picture(pattern):
    how = FreeForm((9, 9), pattern, WHOLE, light=0, rotation="none")
    fragments = break_picture(picture(), how, 5)
    drawn = draw(fragments.fragments, fragments.poses, Window(0, 0, 240, 300))
    assert len(fragments) == 9
    assert np.array_equal(drawn[..., :3], picture())
    assert drawn[..., 3].min() == 255


@pytest.mark.parametrize("rotation", ["free", "small"])
def test_turned_fragments_go_back_to_their_places(rotation):
    how = FreeForm((8, 8), "cuts", WHOLE, light=0, rotation=rotation)
    fragments = break_picture(picture(), how, 6)
    angles = np.array([pose.angle for pose in fragments.poses])
    assert np.abs(angles).max() > (30 if rotation == "free" else 3)
    assert rotation == "free" or np.abs(angles).max() <= 10
    drawn = draw(fragments.fragments, fragments.poses, Window(0, 0, 240, 300))
    solid = drawn[..., 3] == 255
    assert solid.mean() > 0.9
    assert np.abs(drawn[solid][:, :3].astype(int) - picture()[solid]).mean() < 2


@pytest.mark.parametrize("name", ["mild", "repair", "heavy"])
def test_gaps_are_as_wide_as_asked(name):
    how = FreeForm((7, 7), "any", Weathering(GAPS[name]))
    medians = [gap_median(break_picture(picture(400, 400), how, seed)) for seed in range(3)]
    assert np.mean(medians) == pytest.approx(GAPS[name], rel=0.2)


def test_nothing_tells_the_pose():
    fragments = break_picture(picture(), FreeForm((10, 10)), 1)
    for fragment in fragments.fragments:
        seen = fragment.pixels[..., 3] > 0
        assert seen[0].any()
        assert seen[-1].any()
        assert seen[:, 0].any()
        assert seen[:, -1].any()
        assert not fragment.pixels[~seen].any()
    x = np.array([pose.x for pose in fragments.poses])
    assert not (np.diff(x) > 0).all()
    assert fragments.names[0] == "fragment_01.png"


def test_light_differs_between_fragments():
    flat = np.full((200, 200, 3), 100, np.uint8)
    dark = break_picture(flat, FreeForm((12, 12), light=0.1, rotation="none"), 2)
    levels = [int(f.pixels[f.mask][:, 0].mean()) for f in dark.fragments]
    assert 90 <= min(levels) < 96
    assert 104 < max(levels) <= 110


def test_missing_and_foreign_fragments():
    other = np.full((240, 300, 3), (0, 200, 0), np.uint8)
    how = FreeForm((20, 20), missing=0.25, foreign=0.25, light=0)
    fragments = break_picture(picture(), how, 3, other=other)
    own = len(fragments) - len(fragments.foreign)
    assert (own, len(fragments.foreign), fragments.has_truth) == (15, 5, True)
    for index, fragment in enumerate(fragments.fragments):
        solid = fragment.pixels[fragment.pixels[..., 3] == 255]
        assert (index in fragments.foreign) == bool((solid[:, 0] == 0).all())
    assert not fragments.true_neighbours[list(fragments.foreign)].any()
    with pytest.raises(InputError, match="another picture"):
        break_picture(picture(), how, 3)


def test_the_same_seed_breaks_alike_and_another_does_not():
    how = FreeForm((6, 6))
    first, again, other = (break_picture(picture(), how, seed) for seed in (4, 4, 5))
    assert first.poses == again.poses
    for one, two in zip(first.fragments, again.fragments, strict=True):
        assert np.array_equal(one.pixels, two.pixels)
    assert first.poses != other.poses


def test_a_set_can_be_turned_with_its_truth():
    how = FreeForm((6, 6), "cuts", Weathering(0.05, chips=0), light=0, rotation="none")
    upright = break_picture(picture(), how, 8)
    turned = turn_fragments(upright, 3)
    window = Window(0, 0, 240, 300)
    before = draw(upright.fragments, upright.poses, window)
    after = draw(turned.fragments, turned.poses, window)
    solid = (before[..., 3] == 255) & (after[..., 3] == 255)
    assert solid.sum() > 0.95 * (before[..., 3] == 255).sum()
    assert np.abs(before[solid].astype(int) - after[solid]).mean() < 2
    assert min(abs(pose.angle) for pose in turned.poses) > 0
    assert np.array_equal(turned.true_neighbours, upright.true_neighbours)
    assert turned.poses == turn_fragments(upright, 3).poses
    small = turn_fragments(upright, 3, "small")
    assert max(abs(pose.angle) for pose in small.poses) <= 10
    with pytest.raises(UnknownName):
        turn_fragments(upright, 3, "some")


def test_weathering_leaves_one_part_and_takes_only_away():
    labels = fracture(np.random.default_rng(0), (150, 150), 4, "cuts")
    inner = inner_distance(labels)
    for part in range(4):
        mask = labels == part
        left = weathered(np.random.default_rng(part), mask, inner, Weathering(0.1, chips=3))
        assert ndimage.label(left)[1] == 1
        assert not (left & ~mask).any()
        assert 0.4 < left.sum() / mask.sum() < 0.95


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: FreeForm((1, 4)), InputError),
        (lambda: FreeForm((6, 4)), InputError),
        (lambda: FreeForm(pattern="glass"), UnknownName),
        (lambda: FreeForm(rotation="some"), UnknownName),
        (lambda: FreeForm(missing=1.0), InputError),
        (lambda: Weathering(gap=-1), InputError),
        (lambda: Weathering(chips=-1), InputError),
        (lambda: break_picture(picture(20, 20), FreeForm((50, 50)), 0), InputError),
        (lambda: fracture(np.random.default_rng(0), (9, 9), 2, "glass"), UnknownName),
    ],
)
def test_what_cannot_be_broken(make, error):
    with pytest.raises(error):
        make()


def test_fragments_take_real_outlines():
    """A disc on a square part: what is left is round, and as much as the gap says."""
    rows, cols = np.indices((128, 128))
    disc = (rows - 63.5) ** 2 + (cols - 63.5) ** 2 < 60**2
    part = np.zeros((100, 120), dtype=np.bool_)
    part[10:90, 20:100] = True
    left = outlined(np.random.default_rng(0), part, disc, 0.1)
    assert not (left & ~part).any()
    assert left.sum() == pytest.approx(0.8 * part.sum(), rel=0.03)
    assert left[50, 20:100].all()  # the middles of the sides are whole
    assert not left[[10, 10, 89, 89], [20, 99, 20, 99]].any()  # the corners are not
    broken = break_picture(picture(), FreeForm((4, 4)), 1, outlines=[disc])
    plain = break_picture(picture(), FreeForm((4, 4)), 1)
    assert broken.has_truth
    assert [f.area_px for f in broken.fragments] != [f.area_px for f in plain.fragments]
