"""Outlines as rings, seams as strips, and what the scorer is shown."""

import numpy as np
import pytest
import torch

from puzzleflow.core.assembly import Candidate
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose
from puzzleflow.models.seam_scorer import SeamScorer
from puzzleflow.solvers.free_form.candidates import Prepared, Search
from puzzleflow.solvers.free_form.contour import SIGHT, contours
from puzzleflow.solvers.free_form.palette import Palette
from puzzleflow.solvers.free_form.ranking import expected_gap, ranked, refitted
from puzzleflow.solvers.free_form.scaled import GAP, ScaledSet
from puzzleflow.solvers.free_form.seams import Seams
from puzzleflow.solvers.free_form.strips import LENGTH, strips

SIDE = 80


def square(colour: tuple[int, int, int], name: str) -> Fragment:
    pixels = np.zeros((SIDE, SIDE, 4), dtype=np.uint8)
    pixels[..., :3], pixels[..., 3] = colour, 255
    return Fragment(pixels, name)


@pytest.fixture(scope="module")
def squares() -> list[Fragment]:
    """Left one red, right one blue."""
    return [square((200, 0, 0), "red"), square((0, 0, 200), "blue")]


def test_a_square_is_a_ring_with_normals_outward(squares: list[Fragment]) -> None:
    ring = contours(ScaledSet.of(squares, Palette.of(squares), SIDE))[0]
    assert len(ring) == pytest.approx(4 * SIDE / (0.033 * SIDE), rel=0.05)
    right = ring.points[:, 0] > SIDE / 2 - 1
    middle = right & (np.abs(ring.points[:, 1]) < SIDE / 4)
    assert middle.sum() > 10
    np.testing.assert_allclose(ring.normals[middle], [[1, 0]] * int(middle.sum()), atol=0.05)
    assert (np.diff(ring.points[middle, 1]) > 0).all()  # clockwise: down on the right
    height, width = ring.distance.shape
    assert ring.distance[height // 2, width // 2] == pytest.approx(-SIDE / 2, abs=1)
    assert ring.distance[height // 2, width // 2 + SIDE // 2 + 9] == pytest.approx(9, abs=1)


def test_a_strip_tells_the_gap_and_both_colours(squares: list[Fragment]) -> None:
    rings = contours(ScaledSet.of(squares, Palette.of(squares), SIDE))
    gap = 5
    seen = strips(rings, [(0, 1, Pose(SIDE + gap, 0))], 1.0)
    for side in (0, 1):
        faces = seen.geometry[0, side, :, 1] > 0
        assert 20 <= faces.sum() <= 36  # one side of the square
        middle = slice(LENGTH // 2 - 5, LENGTH // 2 + 5)
        assert faces[middle].all()
        np.testing.assert_allclose(
            seen.geometry[0, side, middle, 0], gap / (SIGHT * SIDE), atol=1 / (SIGHT * SIDE)
        )
        np.testing.assert_allclose(seen.geometry[0, side, middle, 2], -1, atol=0.02)
    red = rings[0].profile[seen.own[0, 0, LENGTH // 2]]
    blue = rings[1].profile[seen.other[0, 0, LENGTH // 2]]
    np.testing.assert_allclose(red, rings[0].profile.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(blue, rings[1].profile.mean(axis=0), atol=0.01)


def test_overlap_is_a_negative_gap_and_far_is_nothing(squares: list[Fragment]) -> None:
    rings = contours(ScaledSet.of(squares, Palette.of(squares), SIDE))
    joins = [(0, 1, Pose(SIDE - 8, 0)), (0, 1, Pose(3 * SIDE, 0))]
    seen = strips(rings, joins, 1.0)
    assert seen.geometry[0, 0, LENGTH // 2, 0] < 0
    assert (seen.other[1] == -1).all()
    assert not seen.geometry[1, :, :, 1].any()


def test_a_seam_is_the_same_seen_from_either_fragment(squares: list[Fragment]) -> None:
    prepared = Prepared.of(squares, Search())
    torch.manual_seed(0)
    network = SeamScorer().eval()
    pose = Pose(SIDE + 4.3, 6.1, 7.2)
    one = Seams(prepared, network).scores([(0, 1, pose)])
    two = Seams(prepared, network).scores([(1, 0, pose.inverse())])
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_what_was_said_is_remembered(squares: list[Fragment]) -> None:
    class Counting(SeamScorer):
        asked = 0

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            self.asked += len(inputs)
            return super().forward(inputs)

    network = Counting().eval()
    seams = Seams(Prepared.of(squares, Search()), network)
    join = (0, 1, Pose(SIDE + 4.3, 6.1, 7.2))
    first = seams.scores([join, join])
    again = seams.scores([(1, 0, join[2].inverse()), join])
    assert network.asked == 1
    np.testing.assert_array_equal(first, again)
    assert seams.scores([]).shape == (0, 2)


def test_candidates_are_ranked_and_a_set_without_witnesses_has_the_usual_gap(
    squares: list[Fragment],
) -> None:
    seams = Seams(Prepared.of(squares, Search()), SeamScorer().eval())
    found = [Candidate(0, 1, Pose(SIDE + shift, 0), 1.0) for shift in (2, 8, 14)]
    order = ranked(seams, found)
    scores = [each.score for each in order]
    assert scores == sorted(scores, reverse=True)
    unlikely = [Candidate(0, 1, Pose(SIDE, 0), -1.0)]
    assert expected_gap(seams, unlikely) == GAP
    assert expected_gap(seams, []) == GAP


def test_candidates_are_laid_anew_at_another_gap() -> None:
    """Plain squares of one colour: the more gap is expected, the more is left."""
    alike = [square((200, 90, 0), str(i)) for i in range(2)]
    start = [Candidate(0, 1, Pose(SIDE * 1.05, 0), 1.0)]
    left = []
    for gap in (0.0, 0.08):
        (moved,) = refitted(Prepared.of(alike, Search(gap=gap, reach=0.16)), start)
        left.append(moved.pose.x - SIDE)
    assert left[0] < 2.0
    assert left[1] > left[0] + 1.5
