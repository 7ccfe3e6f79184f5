from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from puzzleflow.core.errors import InputError
from puzzleflow.core.pose import (
    IDENTITY,
    Pose,
    angle_between,
    as_table,
    best_motion,
    of_table,
    wrapped,
)

numbers = st.floats(-500, 500, allow_nan=False)
poses = st.builds(Pose, numbers, numbers, st.floats(-900, 900))


def near(first: Pose, second: Pose) -> bool:
    return (
        math.hypot(first.x - second.x, first.y - second.y) < 1e-6
        and angle_between(first.angle, second.angle) < 1e-6
    )


def test_a_quarter_turn_counter_clockwise_takes_right_to_up():
    assert Pose(10, 20, 90).apply([1, 0]) == pytest.approx([10, 19])  # y points down
    assert Pose(10, 20, 90).apply([0, 1]) == pytest.approx([11, 20])


def test_positive_angles_turn_as_pictures_are_turned():
    picture = np.zeros((41, 41), np.uint8)
    picture[18:23, 33:38] = 255  # to the right of the centre: offset (15, 0)
    turned = np.array(Image.fromarray(picture).rotate(30))
    rows, cols = np.nonzero(turned)
    found = np.array([cols.mean() - 20, rows.mean() - 20])
    assert Pose(0, 0, 30).apply([15, 0]) == pytest.approx(found, abs=0.2)


@pytest.mark.parametrize(
    ("angle", "expected"),
    [(0, 0), (180, 180), (-180, 180), (540, 180), (190, -170), (-339.841, 20.159), (720, 0)],
)
def test_angles_are_wrapped(angle, expected):
    assert wrapped(angle) == pytest.approx(expected)
    assert Pose(0, 0, angle).angle == pytest.approx(expected)


def test_angles_differ_by_the_shorter_way():
    assert angle_between(179, -179) == pytest.approx(2)
    assert angle_between(10, 190) == pytest.approx(180)


@given(poses, poses, poses)
def test_motions_are_a_group(a, b, c):
    assert near((a @ b) @ c, a @ (b @ c))
    assert near(a @ a.inverse(), IDENTITY)
    assert near(a.inverse() @ a, IDENTITY)
    assert near(a @ IDENTITY, a)
    point = np.array([3.0, -7.0])
    assert (a @ b).apply(point) == pytest.approx(a.apply(b.apply(point)), abs=1e-6)


@given(poses, poses, poses)
def test_relative_poses_do_not_change_with_the_frame(a, b, motion):
    assert near(b.relative_to(a), (motion @ b).relative_to(motion @ a))
    assert near(a @ b.relative_to(a), b)


@given(poses)
def test_matrix_and_table(pose):
    table = np.eye(3)
    table[:2, 2] = pose.xy
    table[:2, :2] = np.stack([pose.apply([1, 0]) - pose.xy, pose.apply([0, 1]) - pose.xy], axis=1)
    assert near(Pose.of_matrix(table), pose)
    assert of_table(as_table([pose, None])) == (pose, None)


def test_a_turn_of_the_plane_about_a_point():
    assert near(Pose(12, 5, 10).about(10, 5, 90), Pose(10, 3, 100))


@given(poses, st.lists(poses, min_size=1, max_size=6), st.integers(0, 99))
def test_a_common_motion_is_found(motion, where, seed):
    weights = np.random.default_rng(seed).uniform(0.1, 1, len(where))
    found = best_motion(where, [motion @ pose for pose in where], weights)
    for pose in where:
        assert math.dist((found @ pose).xy, (motion @ pose).xy) < 1e-5


def test_the_best_motion_is_least_in_squares():
    rng = np.random.default_rng(1)
    where = [Pose(*rng.uniform(-50, 50, 2), rng.uniform(-9, 9)) for _ in range(5)]
    target = [Pose(p.x + rng.normal(), p.y + rng.normal(), p.angle + rng.normal()) for p in where]
    weights = rng.uniform(0.5, 2, 5)
    middle = weights @ as_table(target)[:, :2] / weights.sum()
    spread = weights @ ((as_table(target)[:, :2] - middle) ** 2).sum(axis=1) / weights.sum()

    def cost(motion):
        moved = as_table([motion @ pose for pose in where])
        away = ((moved - as_table(target))[:, :2] ** 2).sum(axis=1)
        turn = np.radians(moved[:, 2] - as_table(target)[:, 2])
        return weights @ (away + spread * 4 * np.sin(turn / 2) ** 2)

    best = best_motion(where, target, weights)
    for dx, dy, turn in [(0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.2), (0, 0, -0.2), (-0.1, 0, 0.1)]:
        assert cost(Pose(best.x + dx, best.y + dy, best.angle + turn)) > cost(best)


@pytest.mark.parametrize("bad", [(math.nan, 0, 0), (0, math.inf, 0), (0, 0, math.inf)])
def test_poses_are_finite(bad):
    with pytest.raises(InputError, match="finite"):
        Pose(*bad)


def test_a_motion_needs_poses():
    with pytest.raises(InputError):
        best_motion([], [], [])
