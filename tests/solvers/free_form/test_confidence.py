"""What might as well lie elsewhere, or hardly holds, is left out; what is held stays."""

import numpy as np
import pytest
from scipy import ndimage

from puzzleflow.core.fragments import Fragment, FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.confidence import LEARNED, confidences, margin_of, pruned
from puzzleflow.solvers.free_form.session import AssembleSolver

NUM, WIDE, HIGH = 3, 50, 70


def smooth(seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((HIGH, WIDE * NUM, 3))
    noise = ndimage.gaussian_filter(noise, (6, 6, 0))
    return np.clip(128 + 60 * noise / noise.std(), 0, 255).astype(np.uint8)


def strip(image: np.ndarray, number: int, wave: float = 7.0) -> tuple[Fragment, Pose]:
    """One of three strips of a picture, between wavy edges."""
    rows, cols = np.indices(image.shape[:2])
    along = cols + 6 * np.sin(rows / wave)
    mask = (along > WIDE * number + 1.5) & (along < WIDE * (number + 1) - 1.5)
    pixels = np.concatenate([image, np.where(mask, 255, 0)[..., None]], axis=2)
    whole = Fragment(pixels.astype(np.uint8), f"{number}.png")
    part, offset = whole.cropped()
    return part, Pose(*(whole.centre + offset))


@pytest.fixture(scope="module")
def laid() -> tuple[Board, dict[int, Pose]]:
    """Two strips of a picture side by side, and a stranger where the third one would lie."""
    own = [strip(smooth(1), number) for number in range(NUM - 1)]
    other, place = strip(smooth(2), NUM - 1, wave=4.0)
    solver = AssembleSolver(rotation="none", gap=0.05)
    fragments = FragmentSet((*(part for part, _ in own), other))
    board = solver.prepare(fragments).board
    return board, dict(enumerate([*(pose for _, pose in own), place]))


def test_a_stranger_is_left_out_and_the_rest_stays(laid: tuple[Board, dict[int, Pose]]) -> None:
    board, poses = laid
    stranger = NUM - 1
    assert margin_of(board, poses, stranger) < LEARNED.min_margin
    assert margin_of(board, poses, 0) > LEARNED.min_margin
    (kept,) = pruned(board, [poses], (), LEARNED)
    assert sorted(kept) == [0, 1]
    held = pruned(board, [poses], {stranger}, LEARNED)  # a person has put it there
    assert any(stranger in part for part in held)


class Row:
    """Fragments side by side, each touching the next."""

    def touch(self, i: int, first: Pose, j: int, second: Pose) -> bool:
        return abs(i - j) == 1


def test_what_leaned_on_a_weak_fragment_does_not_fall_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def margin(board: Row, poses: dict[int, Pose], index: int) -> float:
        if index == 4:
            return 0.0
        return 3.0 if index + 1 in poses else 1.0  # each holds by the next

    monkeypatch.setattr("puzzleflow.solvers.free_form.confidence.margin_of", margin)
    poses = {index: Pose(10.0 * index, 0.0) for index in range(5)}
    (kept,) = pruned(Row(), [poses], (), LEARNED)
    assert sorted(kept) == [0, 1, 2, 3]


def test_confidence_grows_with_the_margin(laid: tuple[Board, dict[int, Pose]]) -> None:
    board, poses = laid
    sure = confidences(board, [poses], {1}, LEARNED)
    margins = [margin_of(board, poses, index) for index in poses]
    assert sure[1] == 1.0
    assert (sure[0] > sure[2]) == (margins[0] > margins[2])
    odds = LEARNED.at_no_margin + LEARNED.per_margin * min(margins[0], 12.0)
    assert sure[0] == pytest.approx(1 / (1 + np.exp(-odds)))


def test_limits_may_be_set(laid: tuple[Board, dict[int, Pose]]) -> None:
    board, poses = laid
    lenient = AssembleSolver(min_gain=0.5, min_margin=-20.0).limits
    assert (lenient.min_gain, lenient.per_margin) == (0.5, LEARNED.per_margin)
    (kept,) = pruned(board, [poses], (), lenient)
    assert sorted(kept) == [0, 1, 2]
    assert AssembleSolver().limits == LEARNED
