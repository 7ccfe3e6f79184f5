from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.assembly import Assembly, Candidate, truth_assembly
from puzzleflow.core.contact import contact_lengths
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.fragments import Fragment, FragmentSet, neighbours
from puzzleflow.core.pose import Pose


def rectangle(height=40, width=40, name="a", pad=0) -> Fragment:
    pixels = np.zeros((height + 2 * pad, width + 2 * pad, 4), np.uint8)
    pixels[pad : pad + height, pad : pad + width] = (90, 120, 30, 255)
    return Fragment(pixels, name)


def row_of(count=3, step=42.0) -> FragmentSet:
    fragments = tuple(rectangle(name=str(i)) for i in range(count))
    return FragmentSet(fragments, tuple(Pose(step * i, 0) for i in range(count)), name="row")


def test_a_fragment_knows_its_measures():
    pixels = np.zeros((10, 20, 4), np.uint8)
    pixels[2:4, 5:9] = 255
    fragment = Fragment(pixels, "f")
    assert (fragment.area_px, fragment.root_area) == (8, pytest.approx(8**0.5))
    assert fragment.centre.tolist() == [10, 5]
    assert fragment.centroid.tolist() == [7 - 10, 3 - 5]
    assert len(fragment.outline) == 8
    cut, offset = fragment.cropped()
    assert (cut.pixels.shape, offset.tolist()) == ((2, 4, 4), [-3, -2])
    assert cut.centroid.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        fragment.pixels[0] = 1


@pytest.mark.parametrize(
    ("pixels", "words"),
    [
        (np.zeros((4, 4, 4), np.uint8), "without material"),
        (np.full((4, 4, 3), 255, np.uint8), "expected"),
        (np.ones((4, 4, 4)), "expected"),
    ],
)
def test_no_fragment(pixels, words):
    with pytest.raises(FormatError, match=words):
        Fragment(pixels, "bad.png")


def test_sets_refuse_what_does_not_fit():
    one, two = rectangle(name="a"), rectangle(name="b")
    with pytest.raises(InputError, match="no fragments"):
        FragmentSet(())
    with pytest.raises(FormatError, match="one name"):
        FragmentSet((one, one))
    with pytest.raises(FormatError, match="poses"):
        FragmentSet((one, two), (None,))
    with pytest.raises(FormatError, match="foreign"):
        FragmentSet((one, two), foreign=frozenset({2}))
    with pytest.raises(FormatError, match="has a pose"):
        FragmentSet((one, two), (Pose(0, 0), None), frozenset({0}))
    with pytest.raises(FormatError, match="adjacency"):
        FragmentSet((one, two), adjacency=np.zeros((3, 3), bool))
    with pytest.raises(FormatError, match="scales"):
        FragmentSet((Fragment(one.pixels, "a", 2.0), Fragment(two.pixels, "b", 3.0)))


def test_truth_is_whole_only_where_every_fragment_has_some():
    fragments = tuple(rectangle(name=str(i)) for i in range(3))
    assert not FragmentSet(fragments).has_truth
    assert not FragmentSet(fragments, (Pose(0, 0), None, None)).has_truth
    known = FragmentSet(fragments, (Pose(0, 0), None, Pose(1, 1)), frozenset({1}))
    assert known.has_truth
    assert known.placed.tolist() == [True, False, True]
    blind = known.without_truth()
    assert (blind.placed.any(), blind.foreign, blind.names) == (False, frozenset(), known.names)


def test_neighbours_in_a_row():
    expected = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
    assert np.array_equal(row_of().true_neighbours, expected)
    assert np.array_equal(pickle.loads(pickle.dumps(row_of())).true_neighbours, expected)
    assert row_of(step=51).true_neighbours.any()
    assert not row_of(step=52).true_neighbours.any()  # outermost pixels 13 px apart, 12 allowed


def test_contact_is_measured_in_outermost_pixels():
    pair = row_of(2, step=44.0)
    outlines = [pose.apply(f.outline) for f, pose in zip(pair.fragments, pair.poses, strict=True)]
    lengths = contact_lengths(outlines, np.array([40.0, 40.0]))
    # facing columns are 5 px apart and 40 px long; of the seven next columns, up to
    # 12 px away, the two ends are outermost too
    assert lengths.tolist() == [[0, 54 / 40], [54 / 40, 0]]


@pytest.mark.parametrize("gap", [0, 1, 3, 6])
def test_corners_that_meet_are_no_neighbours(gap):
    fragments = [rectangle(name=str(i)) for i in range(4)]
    step = 40 + gap
    poses = [Pose(0, 0), Pose(step, 0), Pose(0, step), Pose(step, step)]
    found = neighbours(fragments, poses)
    assert found.sum() == 8
    assert not found[0, 3]
    assert not found[1, 2]


def test_a_small_fragment_is_measured_by_its_own_size():
    large, small = rectangle(200, 200, "large"), rectangle(20, 20, "small")
    assert neighbours([large, small], [Pose(0, 0), Pose(114, 0)])[0, 1]
    assert not neighbours([large, small], [Pose(0, 0), Pose(117, 0)])[0, 1]


@given(st.floats(-180, 180), st.floats(-300, 300), st.floats(-300, 300))
def test_neighbours_do_not_change_with_the_frame(angle, x, y):
    row, motion = row_of(), Pose(x, y, angle)
    assert np.array_equal(
        neighbours(row.fragments, [motion @ pose for pose in row.poses]), row.true_neighbours
    )


def test_unplaced_fragments_have_no_neighbours():
    row = row_of()
    found = neighbours(row.fragments, (row.poses[0], None, row.poses[2]))
    assert not found.any()


def test_an_assembly_has_components_and_a_rest():
    assembly = Assembly(
        5,
        ({3: Pose(0, 0), 1: Pose(5, 0)}, {0: Pose(1, 1)}),
        candidates=(Candidate(0, 1, Pose(1, 2, 3), 0.5),),
    )
    assert list(assembly.components[0]) == [1, 3]
    assert assembly.unplaced == (2, 4)
    assert np.isnan(assembly.confidence).all()
    assert list(assembly.largest(np.array([9.0, 1, 1, 1, 1]))) == [0]
    assert list(assembly.largest(np.ones(5))) == [1, 3]
    assert assembly.poses(assembly.components[1]) == (Pose(1, 1), None, None, None, None)
    copy = pickle.loads(pickle.dumps(assembly))
    assert copy.components == assembly.components
    assert copy.candidates == assembly.candidates
    assert Assembly(2).largest(np.ones(2)) == {}
    assert truth_assembly((None, Pose(1, 2))).components == ({1: Pose(1, 2)},)


def test_a_candidate_seen_from_the_other_side():
    first, second = Pose(3, 4, 20), Pose(-7, 2, 100)
    candidate = Candidate(0, 1, second.relative_to(first), 1.0)
    other = candidate.swapped()
    assert (other.first, other.second, other.score) == (1, 0, 1.0)
    assert (second @ other.pose).xy == pytest.approx(first.xy)
    assert (second @ other.pose).angle == pytest.approx(first.angle)


@pytest.mark.parametrize(
    "arguments",
    [
        (0,),
        (2, ({0: Pose(0, 0)}, {0: Pose(0, 0)})),
        (2, ({2: Pose(0, 0)},)),
        (2, ({},)),
        (2, (), np.array([0.5])),
        (2, (), np.array([0.5, 1.5])),
        (2, (), np.empty(0), (Candidate(0, 0, Pose(0, 0), 1),)),
        (2, (), np.empty(0), (Candidate(0, 2, Pose(0, 0), 1),)),
    ],
)
def test_no_assembly(arguments):
    with pytest.raises(InputError):
        Assembly(*arguments)
