"""Regrowth and rounded joins: more speaks for the outcome, pins stay, order does not matter."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import IDENTITY, Pose, angle_between
from puzzleflow.solvers.free_form import regrowth
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.regrowth import regrown, worth
from puzzleflow.solvers.free_form.rounded import STEP_ANGLE, key_of, pose_of
from puzzleflow.solvers.free_form.session import AssembleSolver

NUMBERS = st.floats(-500, 500)
POSES = st.builds(Pose, NUMBERS, NUMBERS, st.floats(-180, 180))
LIMIT = 1.0


def strips(count: int = 4) -> tuple[list[Fragment], list[Pose]]:
    """A picture in strips with wavy edges, a little lost between them."""
    from scipy import ndimage

    noise = np.random.default_rng(3).standard_normal((64, 40 * count, 3))
    noise = ndimage.gaussian_filter(noise, (6, 6, 0))
    image = np.clip(128 + 60 * noise / noise.std(), 0, 255).astype(np.uint8)
    rows, cols = np.indices(image.shape[:2])
    along = cols + 5 * np.sin(rows / 6)
    fragments, poses = [], []
    for number in range(count):
        mask = (along > 40 * number + 2) & (along < 40 * number + 38)
        pixels = np.concatenate([image, np.where(mask, 255, 0)[..., None]], axis=2)
        whole = Fragment(pixels.astype(np.uint8), f"{number}.png")
        part, offset = whole.cropped()
        fragments.append(part)
        poses.append(Pose(*(whole.centre + offset)))
    return fragments, poses


@pytest.fixture(scope="module")
def board() -> Board:
    from puzzleflow.core.fragments import FragmentSet

    solver = AssembleSolver(rotation="none", gap=0.06)
    return solver.prepare(FragmentSet(tuple(strips()[0]))).board


def test_a_wrong_beginning_is_left_behind(board: Board) -> None:
    true = strips()[1]
    units = [{index: IDENTITY} for index in range(4)]
    wrong = {0: true[0], 2: true[1]}  # the third lies where the second belongs
    found = regrown(board, units, [wrong], seed=0, pinned=(), min_gain=LIMIT, searches=1)
    assert worth(board, found, LIMIT) >= worth(board, [dict(enumerate(true))], LIMIT) - 1
    (whole,) = found
    for index in range(1, 4):
        apart = whole[index].relative_to(whole[0]).x - true[index].relative_to(true[0]).x
        assert abs(apart) < 5 * index


def test_what_is_pinned_stays_though_the_rest_is_larger(board: Board) -> None:
    true = strips()[1]
    units = [{index: IDENTITY} for index in range(3)] + [{3: Pose(900, 40)}]
    rest = {index: true[index] for index in range(3)}
    begun = [rest, {3: Pose(900, 40)}]
    found = regrown(board, units, begun, seed=1, pinned=(3,), min_gain=LIMIT, searches=2)
    component = next(each for each in found if 3 in each)
    assert component[3] == Pose(900, 40)


@pytest.mark.parametrize("searches", [0, 1])
def test_never_less_speaks_for_the_outcome(board: Board, searches: int) -> None:
    units = [{index: IDENTITY} for index in range(4)]
    begun = [dict(enumerate(strips()[1]))]
    found = regrown(board, units, begun, seed=0, pinned=(), min_gain=LIMIT, searches=searches)
    assert worth(board, found, LIMIT) >= worth(board, begun, LIMIT)
    again = regrown(board, units, begun, seed=0, pinned=(), min_gain=LIMIT, searches=searches)
    assert again == found


def test_where_nothing_is_in_doubt_nothing_is_taken_apart(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = [{index: IDENTITY} for index in range(4)]
    true = dict(enumerate(strips()[1]))
    asked: list[int] = []

    def counted(board: Board, *args: object) -> list[dict[int, Pose]]:
        asked.append(len(board))
        return [true]

    monkeypatch.setattr(regrowth, "_grown", counted)
    given = {"seed": 0, "pinned": (), "min_gain": LIMIT, "searches": 1}
    for sure, rounds in ((-math.inf, 0), (math.inf, 4 * regrowth.ROUNDS)):
        asked.clear()
        monkeypatch.setattr(regrowth, "SURE", sure)
        assert regrown(board, units, [true], **given) == [true]
        assert len(asked) == rounds
    asked.clear()
    monkeypatch.setattr(regrowth, "SURE", -math.inf)
    regrown(board, units, [{0: true[0], 1: true[1]}], **given)  # two lie nowhere
    assert len(asked) == 2 * regrowth.ROUNDS


def test_nothing_is_made_of_nothing(board: Board) -> None:
    lonely = [{0: IDENTITY}]
    assert regrown(board, lonely, [], seed=0, pinned=(), min_gain=LIMIT, searches=1) == []


@given(first=POSES, second=POSES)
def test_a_key_is_the_same_from_both_sides_and_near_the_pose(first: Pose, second: Pose) -> None:
    key = key_of(2, first, 5, second, 0.5)
    assert key == key_of(5, second, 2, first, 0.5)
    near, true = pose_of(key, 0.5), second.relative_to(first)
    assert math.hypot(near.x - true.x, near.y - true.y) <= 0.36
    assert angle_between(near.angle, true.angle) <= STEP_ANGLE / 2 + 1e-9


@given(first=POSES, second=POSES, motion=POSES)
def test_a_common_motion_changes_no_relative_pose(first: Pose, second: Pose, motion: Pose) -> None:
    one = second.relative_to(first)
    two = (motion @ second).relative_to(motion @ first)
    assert math.hypot(one.x - two.x, one.y - two.y) < 1e-6
    assert angle_between(one.angle, two.angle) < 1e-9
    back = first @ one
    assert math.hypot(back.x - second.x, back.y - second.y) < 1e-6
