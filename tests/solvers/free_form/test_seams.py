"""Outlines as rings, what seams show, and joins moved by what speaks for them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from puzzleflow.core.assembly import Candidate
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose
from puzzleflow.models.seam_scorer import SeamScorer
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.candidates import Prepared, Search
from puzzleflow.solvers.free_form.contour import SIGHT, contours
from puzzleflow.solvers.free_form.measures import (
    CHANNELS,
    COLOURS,
    GAPS,
    INPUTS,
    LENGTH,
    SEEN,
    expecting,
    measured,
    placed,
)
from puzzleflow.solvers.free_form.palette import Palette
from puzzleflow.solvers.free_form.ranking import expected_gap, ranked
from puzzleflow.solvers.free_form.scaled import GAP, ScaledSet
from puzzleflow.solvers.free_form.seams import Seams

SIDE = 80
RED_AND_BLUE = ((200, 0, 0), (0, 0, 200))


def square(colour: tuple[int, int, int], name: str) -> Fragment:
    pixels = np.zeros((SIDE, SIDE, 4), dtype=np.uint8)
    pixels[..., :3], pixels[..., 3] = colour, 255
    return Fragment(pixels, name)


@pytest.fixture(scope="module")
def squares() -> list[Fragment]:
    """Left one red, right one blue."""
    return [square(RED_AND_BLUE[0], "red"), square(RED_AND_BLUE[1], "blue")]


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


def test_a_seam_shows_its_gap_its_length_and_where_it_runs(squares: list[Fragment]) -> None:
    rings = contours(ScaledSet.of(squares, Palette.of(squares), SIDE))
    gap = 6
    joins = [(0, 1, Pose(SIDE + gap, 0)), (0, 1, Pose(SIDE - 8, 0)), (0, 1, Pose(3 * SIDE, 0))]
    seen = measured(rings, *placed(joins, 1.0))
    assert seen.inputs.shape == (3, INPUTS)
    assert np.isfinite(seen.inputs).all()
    assert seen.gaps[0] == pytest.approx(gap / SIDE, abs=0.02)
    assert seen.contacts[0] == pytest.approx(1.0, abs=0.15)  # one side of the square
    np.testing.assert_allclose(seen.frames[0], [SIDE / 2, 0, 1, 0], atol=1.5)
    assert seen.gaps[1] < 0  # they overlap
    assert seen.contacts[2] == 0  # too far apart
    assert not seen.frames[2].any()


def test_strips_show_how_both_edges_lie_and_their_colours(squares: list[Fragment]) -> None:
    scaled = ScaledSet.of(squares, Palette.of(squares), SIDE)
    seen = measured(contours(scaled), *placed([(0, 1, Pose(SIDE + 6, 0))], 1.0))
    assert seen.strips.shape == (1, 2, CHANNELS, LENGTH)
    red, blue = (scaled.palette.normalised(np.float32([c]) / 255)[0] for c in RED_AND_BLUE)
    facing = seen.strips[0, :, 4].astype(bool)  # (2, L)
    assert facing.sum(axis=1).min() > 20
    for edge, own, other in ((0, red, blue), (1, blue, red)):
        strip = seen.strips[0, edge][:, facing[edge]]  # (C, points)
        middle = strip[:, strip.shape[1] // 2]
        assert middle[0] == pytest.approx(6 / SIDE / SIGHT, abs=0.05)  # distance over the sight
        assert middle[1] == pytest.approx(-1, abs=0.01)  # normals against each other
        assert middle[2:4] == pytest.approx(0, abs=0.06)  # sine, slide: less than a pixel
        for kind in range(3):
            at = COLOURS + 3 * kind
            np.testing.assert_allclose(middle[at : at + 3], own, atol=0.05)
            np.testing.assert_allclose(middle[at + 9 : at + 12], other, atol=0.05)
        alike = np.exp(-3 * np.square(red - blue).sum())
        assert middle[27:] == pytest.approx(alike, abs=0.02)
    nothing = seen.strips[0][:, SEEN] == 0
    assert not np.moveaxis(seen.strips[0], 1, 2)[nothing][:, COLOURS + 9 :].any()


def test_like_colours_show_and_a_known_gap_is_told(squares: list[Fragment]) -> None:
    alike = [squares[0], square((200, 0, 0), "red again")]
    both = []
    for parts in (squares, alike):
        rings = contours(ScaledSet.of(parts, Palette.of(squares), SIDE))
        both.append(measured(rings, *placed([(0, 1, Pose(SIDE + 6, 0))], 1.0)))
    assert both[1].inputs[0, 10] > 0.9 > 0.5 > both[0].inputs[0, 10]  # likeness at the edge
    told = expecting(both[0].inputs, 0.05)
    np.testing.assert_array_equal(told[:, :-3], both[0].inputs[:, :-3])
    away = (float(both[0].gaps[0]) - 0.05) / 0.1
    np.testing.assert_allclose(told[0, -3:], [1, away, abs(away)], atol=1e-5)


def test_a_seam_is_the_same_seen_from_either_fragment(squares: list[Fragment]) -> None:
    prepared = Prepared.of(squares, Search())
    torch.manual_seed(0)
    network = SeamScorer().eval()
    pose = Pose(SIDE + 4.3, 6.1, 7.2)
    one = Seams(prepared, network).scores([(0, 1, pose)])
    two = Seams(prepared, network).scores([(1, 0, pose.inverse())])
    np.testing.assert_allclose(one, two, atol=1e-4)


class Counting(SeamScorer):
    """Counts the joins that it is asked about."""

    asked = 0

    def forward(self, strips: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        self.asked += len(inputs)
        return super().forward(strips, inputs)


def test_what_was_said_is_remembered(squares: list[Fragment]) -> None:
    network = Counting().eval()
    seams = Seams(Prepared.of(squares, Search()), network)
    join = (0, 1, Pose(SIDE + 4.3, 6.1, 7.2))
    first = seams.scores([join, join])
    again = seams.scores([(1, 0, join[2].inverse()), join])
    assert network.asked == 1
    np.testing.assert_array_equal(first, again)
    assert seams.scores([]).shape == (0, 3)


def test_the_network_is_asked_only_about_joins_with_contact_enough(
    squares: list[Fragment],
) -> None:
    network = Counting().eval()
    seams = Seams(Prepared.of(squares, Search()), network)
    joins = [(0, 1, Pose(SIDE + 4, 0)), (0, 1, Pose(SIDE + 4, SIDE)), (0, 1, Pose(3 * SIDE, 0))]
    found = seams.scores(joins, beyond=0.5)
    assert network.asked == 1
    assert np.isnan(found[1:, :2]).all()
    assert 0 < found[1, 2] < 0.5 < found[0, 2]
    assert seams.scores(joins, beyond=math.inf)[:, 2] == pytest.approx(found[:, 2])
    assert network.asked == 1
    whole = seams.scores(joins)
    assert network.asked == 3
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(whole[0], found[0])


def test_points_far_from_all_that_count_change_nothing() -> None:
    torch.manual_seed(0)
    network = SeamScorer().eval()
    strips, inputs = torch.rand(3, 2, CHANNELS, LENGTH), torch.rand(3, INPUTS)
    strips[:, :, 6] = 0
    strips[:, :, 6, 20:30] = torch.rand(3, 2, 10)
    told = network(strips, inputs)
    changed = strips.clone()
    for far in (slice(0, 12), slice(38, LENGTH)):
        changed[..., far] = torch.rand(changed[..., far].shape)
        changed[:, :, 6, far] = 0
    torch.testing.assert_close(network(changed, inputs), told)
    changed[..., 13] += 1  # seven points from one that counts
    assert not torch.allclose(network(changed, inputs), told)
    changed[:, :, 6] = 0
    assert torch.isfinite(network(changed, inputs)).all()


def test_what_lies_over_another_is_not_judged(squares: list[Fragment]) -> None:
    parts = [*squares, square((0, 200, 0), "green")]
    prepared = Prepared.of(parts, Search())
    network = Counting().eval()
    board = Board(prepared.rims, prepared.scale, (), seams=Seams(prepared, network))
    placed_two = {0: Pose(0, 0), 1: Pose(0, SIDE + 4)}
    over_one, beside = {2: Pose(SIDE + 4, SIDE + 4), 0: Pose(0, SIDE)}, {2: Pose(SIDE + 4, 0)}
    assert board.gains([over_one], {1: placed_two[1]}) == [-math.inf]
    assert board.gain({2: Pose(SIDE / 2, SIDE + 4)}, placed_two) == -math.inf  # half over blue
    assert network.asked == 0
    one, other = board.gains([beside, over_one], placed_two)
    assert math.isfinite(one)
    assert other == -math.inf
    assert network.asked == 2  # red beside green, and blue at its corner
    wished = replace(board, never=frozenset({(0, 2)}))
    assert wished.gain(beside, placed_two) == -math.inf
    both = sum(board.value(i, pose, 2, beside[2]) for i, pose in placed_two.items())
    assert both == pytest.approx(one)


def test_many_joins_are_looked_at_some_at_a_time(
    squares: list[Fragment], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    prepared, network = Prepared.of(squares, Search()), SeamScorer().eval()
    joins = [(0, 1, Pose(SIDE + shift, shift)) for shift in range(7)]
    at_once = Seams(prepared, network).scores(joins)
    monkeypatch.setattr("puzzleflow.solvers.free_form.seams.TOGETHER", 3)
    np.testing.assert_allclose(Seams(prepared, network).scores(joins), at_once, rtol=1e-4)
    assert len(np.unique(at_once[:, 0])) > 3


class Likes(SeamScorer):
    """Speaks for a gap of .08 and for edges that run alike."""

    def forward(self, strips: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        away = (0.26 * inputs[:, 32] - 0.08).abs() / 0.02 + 20 * inputs[:, 26]
        return torch.stack([3 - away, torch.full_like(away, 0.5)], dim=1)

    def judged(
        self, strips: torch.Tensor, inputs: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The gap of the set is .05 or .1."""
        likely = torch.full((len(inputs), len(GAPS)), 1e-9)
        likely[:, [GAPS.index(0.05), GAPS.index(0.1)]] = 0.5
        return self.forward(strips, inputs), likely.log()


def test_joins_are_opened_and_polished_to_where_most_speaks_for_them(
    squares: list[Fragment],
) -> None:
    seams = Seams(Prepared.of(squares, Search()), Likes().eval())
    start = (0, 1, Pose(SIDE + 1, 0, 3))
    opened = seams.opened([start], (0.04, 0.08))
    assert opened[0][2].x - SIDE == pytest.approx(1 + 0.08 * SIDE, abs=0.5)
    assert opened[0][2].angle == pytest.approx(3)
    (moved,) = seams.polished(opened, shift=0.04, turn=4.0, levels=4)
    assert abs(moved[2].angle) < 1.5
    scores = seams.scores([start, *opened, moved])[:, 0]
    assert scores[0] < scores[1] < scores[2]
    assert seams.scores([moved])[0, 0] > 2
    (still,) = seams.polished(opened, shift=0.04, turn=0.0, levels=2)
    assert still[2].angle == pytest.approx(3)
    assert seams.polished([], shift=0.04, turn=4.0, levels=2) == []


def test_candidates_are_ranked_by_a_scorer_that_knows_the_gap_of_the_set(
    squares: list[Fragment],
) -> None:
    seams = Seams(Prepared.of(squares, Search()), Likes().eval())
    found = [Candidate(0, 1, Pose(SIDE + shift, 0), 1.0) for shift in (2, 30, 14)]
    knowing, order = ranked(seams, found)
    scores = [each.score for each in order]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 2
    assert knowing.gap == pytest.approx(0.075, abs=1e-3)
    assert ranked(seams.knowing(0.03), found)[0].gap == 0.03


def test_a_set_without_witnesses_has_the_usual_gap(squares: list[Fragment]) -> None:
    seams = Seams(Prepared.of(squares, Search()), Likes().eval())
    assert expected_gap(seams, [(0, 1, Pose(SIDE - 6, 0))]) == GAP
    assert expected_gap(seams, []) == GAP
    assert ranked(seams, [])[1] == []
