"""Hand-worked: five squares of 40 px in a row, 42 px apart, one of them foreign at times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.alignment import align, shared_share
from puzzleflow.core.assembly import Assembly, Candidate, truth_assembly
from puzzleflow.core.assembly_metrics import (
    fragment_recall,
    overlap_share,
    pair_is_right,
    pair_recall,
    score_assembly,
    summary,
)
from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import IDENTITY, Pose

COUNT, STEP = 5, 42


def square(name="a", side=40, pad=0) -> Fragment:
    pixels = np.zeros((side + 2 * pad, side + 2 * pad, 4), np.uint8)
    pixels[pad : pad + side, pad : pad + side] = 255
    return Fragment(pixels, name)


def row(foreign=()) -> FragmentSet:
    fragments = tuple(square(str(i)) for i in range(COUNT))
    poses = tuple(None if i in foreign else Pose(STEP * i, 7, 0) for i in range(COUNT))
    return FragmentSet(fragments, poses, frozenset(foreign), name="row")


def moved(fragments: FragmentSet, motion=IDENTITY, **change: Pose) -> Assembly:
    """The truth after a common motion, some fragments put elsewhere: ``f2=Pose(…)``."""
    poses = {i: pose for i, pose in enumerate(fragments.poses) if pose is not None}
    poses |= {int(name[1:]): pose for name, pose in change.items()}
    return Assembly(len(fragments), ({i: motion @ pose for i, pose in poses.items()},))


def test_the_truth_is_perfect():
    scores = score_assembly(row(), truth_assembly(row().poses)).as_dict()
    for name, value in scores.items():
        if name in ("position_error", "angle_error", "overlap"):
            assert value == 0
        elif not name.startswith("foreign"):
            assert value == 1
        else:
            assert math.isnan(value)


@settings(max_examples=20, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(-180, 180))
def test_a_motion_of_the_whole_changes_nothing(x, y, angle):
    scores = score_assembly(row(), moved(row(), Pose(x, y, angle)))
    assert scores.q_pos == pytest.approx(1, abs=1e-3)
    assert scores.right == scores.all_right == scores.neighbour_f1 == scores.joined_f1 == 1
    assert scores.position_error < 1e-9
    assert scores.angle_error < 1e-9
    assert scores.overlap < 0.01


@pytest.mark.parametrize("shift", [2, 3, 10])
def test_one_fragment_moved_loses_its_own_share(shift):
    """Moved up by d: it shares (40 - d) / 40 of itself, the others everything."""
    scores = score_assembly(row(), moved(row(), Pose(5, 5, 30), f4=Pose(4 * STEP, 7 - shift)))
    assert scores.q_pos == pytest.approx((4 + (40 - shift) / 40) / 5, abs=2e-3)
    assert scores.right == (1 if shift <= 4 else 0.8)  # 0.1 √area = 4 px
    assert scores.all_right == (shift <= 4)
    assert scores.position_error == pytest.approx(shift / 40 / 5, abs=1e-9)


def test_one_fragment_turned():
    scores = score_assembly(row(), moved(row(), f4=Pose(4 * STEP, 7, 90)))
    assert scores.q_pos == pytest.approx(1, abs=1e-3)  # a square looks the same
    assert scores.right == 0.8
    assert scores.angle_error == pytest.approx(18)  # 90 degrees over 5
    assert scores.neighbour_f1 == 1  # adjacency alone does not see it
    assert scores.joined_f1 == 0.75  # 3 of 4 pairs


def test_what_is_not_in_the_largest_component_counts_as_not_placed():
    fragments = row()
    three = {i: fragments.poses[i] for i in range(3)}
    two = {i: Pose(0, 0, 90) @ fragments.poses[i] for i in (3, 4)}
    scores = score_assembly(fragments, Assembly(5, (two, three)))
    assert scores.q_pos == scores.right == 0.6
    assert (scores.all_right, scores.position_error) == (0, 0)
    # pairs 01, 12 and 34 of four are found, all right
    assert (scores.neighbour_precision, scores.neighbour_recall) == (1, 0.75)
    assert scores.joined_f1 == pytest.approx(2 * 3 / (3 + 4))


def test_nothing_placed():
    scores = score_assembly(row(), Assembly(5))
    assert scores.q_pos == scores.right == scores.all_right == scores.overlap == 0
    assert scores.neighbour_recall == scores.neighbour_f1 == 0
    assert math.isnan(scores.neighbour_precision)
    assert math.isnan(scores.position_error)


def test_a_swap_keeps_the_outline_but_not_the_joins():
    fragments = row()
    swapped = moved(fragments, f1=fragments.poses[2], f2=fragments.poses[1])
    scores = score_assembly(fragments, swapped)
    assert scores.right == scores.q_pos == 0.6
    assert scores.neighbour_f1 == 0.5  # 02, 21, 13, 34 against 01, 12, 23, 34
    assert scores.joined_f1 == 0.25  # 12 touch, but the other way round


def test_foreign_fragments():
    fragments = row(foreign=(0,))
    left_out = score_assembly(fragments, moved(fragments))
    assert (left_out.foreign_precision, left_out.foreign_recall, left_out.foreign_f1) == (1, 1, 1)
    assert left_out.all_right == left_out.q_pos == 1
    joined = score_assembly(fragments, moved(fragments, f0=Pose(-STEP, 7)))
    assert joined.foreign_recall == joined.all_right == 0
    assert joined.q_pos == joined.right == 1
    alone = Assembly(5, (*moved(fragments).components, {0: Pose(0, 0)}))
    assert score_assembly(fragments, alone).foreign_f1 == 1
    two = score_assembly(fragments, Assembly(5, ({i: fragments.poses[i] for i in (1, 2, 3)},)))
    assert (two.foreign_precision, two.foreign_recall) == (0.5, 1)


def test_overlap_is_a_share_of_the_material():
    fragments = [square("0"), square("1")]
    half = Assembly(2, ({0: Pose(0, 0), 1: Pose(20, 0)},))
    assert overlap_share(fragments, half) == pytest.approx(0.25, abs=0.02)  # 800 of 3200
    assert overlap_share(fragments, Assembly(2, ({0: Pose(0, 0)}, {1: Pose(0, 0)}))) == 0
    far = Assembly(2, ({0: Pose(0, 0), 1: Pose(9e5, 9e5)},))
    assert overlap_share(fragments, far) == 0


def test_the_shared_share_is_exact_for_whole_pixels():
    fragment = square(side=40, pad=3)
    assert shared_share(fragment, Pose(0, 0), Pose(0, 0)) == 1
    assert shared_share(fragment, Pose(10, 4), Pose(0, 0)) == pytest.approx(30 * 36 / 1600)
    assert shared_share(fragment, Pose(40, 0), Pose(0, 0)) == 0
    large = square(side=400)
    assert shared_share(large, Pose(100, 0), Pose(0, 0)) == pytest.approx(0.75, abs=0.01)


def test_padding_does_not_matter():
    plain, padded = row(), row()
    wide = tuple(square(str(i), pad=3 * i) for i in range(COUNT))
    padded = FragmentSet(wide, plain.poses, name="wide")
    answer = moved(plain, f4=Pose(4 * STEP, 9, 4))
    assert score_assembly(padded, answer) == score_assembly(plain, answer)


def test_outliers_do_not_drag_the_rest():
    fragments = row()
    answer = moved(fragments, f0=Pose(900, 900, 70))
    motion = align(fragments.fragments, answer.components[0], dict(enumerate(fragments.poses)))
    assert math.hypot(motion.x, motion.y) < 1e-6
    assert score_assembly(fragments, answer).q_pos == pytest.approx(0.8)


def test_small_errors_everywhere_are_shared_out():
    fragments = row()
    shifts = [3, -3, 3, -3, 0]
    change = {f"f{i}": Pose(STEP * i, 7 + shifts[i]) for i in range(5)}
    scores = score_assembly(fragments, moved(fragments, **change))
    assert scores.right == 1
    assert scores.q_pos > 0.93  # an anchor alone at an outer fragment would give 0.89


def test_relative_poses_are_measured_with_the_larger_fragment_held():
    large, small = square("l", 200), square("s", 20)
    true = Pose(112, 0)
    assert pair_is_right(large, small, Pose(116, 0), true)
    assert not pair_is_right(large, small, Pose(117, 0), true)  # 0.2 of 20 px
    assert pair_is_right(small, large, Pose(116, 0).inverse(), true.inverse())
    assert not pair_is_right(large, small, Pose(112, 0, 11), true)


def test_recall_of_candidates():
    fragments = row()
    right = fragments.poses[1].relative_to(fragments.poses[0])
    wrong = Pose(0, STEP)
    candidates = [
        Candidate(0, 1, wrong, 5.0),
        Candidate(1, 0, right.inverse(), 4.0),
        Candidate(2, 3, right, 3.0),
        Candidate(0, 2, right, 9.0),  # no neighbours
    ]
    assert pair_recall(fragments, candidates, 1) == 0.25  # 23 of four pairs
    assert pair_recall(fragments, candidates, 2) == 0.5
    assert fragment_recall(fragments, candidates, 1) == pytest.approx(1 / 5)  # 3
    assert fragment_recall(fragments, candidates, 2) == pytest.approx(3 / 5)  # 1, 2, 3
    assert fragment_recall(fragments, candidates, 3) == pytest.approx(4 / 5)
    assert pair_recall(fragments, [], 5) == 0


def test_means_have_intervals_and_leave_out_what_is_not_defined():
    fragments = row()
    scores = [score_assembly(fragments, moved(fragments)), score_assembly(fragments, Assembly(5))]
    means = summary(scores)
    assert means["q_pos"].value == 0.5
    assert means["q_pos"].low < 0.5 < means["q_pos"].high
    assert means["position_error"].value == 0
    assert "foreign_f1" not in means


def test_what_cannot_be_scored():
    with pytest.raises(InputError, match="assembly of 3"):
        score_assembly(row(), Assembly(3))
    with pytest.raises(InputError, match="known pose"):
        score_assembly(row().without_truth(), Assembly(5))
