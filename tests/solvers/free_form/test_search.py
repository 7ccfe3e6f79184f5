"""Sweeps, fits and candidates of a picture cut in two."""

import math

import numpy as np
import pytest

from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose, angle_between
from puzzleflow.solvers.free_form.candidates import (
    Prepared,
    Search,
    all_candidates,
    row_candidates,
)
from puzzleflow.solvers.free_form.contact import fit, refined
from puzzleflow.solvers.free_form.sweep import peaks


def picture(size: int, seed: int = 1) -> np.ndarray:
    """A smooth picture with much colour."""
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    noise = ndimage.gaussian_filter(rng.standard_normal((size, size, 3)), (size / 14,) * 2 + (0,))
    noise /= noise.std()
    return np.clip(128 + 60 * noise, 0, 255).astype(np.uint8)


def cut(image: np.ndarray, mask: np.ndarray, name: str) -> tuple[Fragment, Pose]:
    pixels = np.concatenate([image, np.where(mask, 255, 0)[..., None]], axis=2).astype(np.uint8)
    whole = Fragment(pixels, name)
    part, offset = whole.cropped()
    return part, Pose(*(whole.centre + offset))


def torn(size: int = 96, gap: int = 4, seed: int = 1) -> tuple[list[Fragment], list[Pose]]:
    """Two halves of a picture along a bent line, some of it lost."""
    image = picture(size, seed)
    rows, cols = np.indices((size, size))
    line = size / 2 + 7 * np.sin(rows / 9) + 4 * np.sin(rows / 3.7)
    both = [
        cut(image, cols < line - gap / 2, "left.png"),
        cut(image, cols > line + gap / 2, "right.png"),
    ]
    return [part for part, _ in both], [pose for _, pose in both]


@pytest.mark.parametrize("limit", [0.0, 10.0, 180.0])
def test_a_sweep_finds_the_true_place_and_turns_no_farther_than_allowed(limit: float) -> None:
    parts, poses = torn()
    prepared = Prepared.of(parts, Search())
    true = poses[1].relative_to(poses[0])
    found = peaks(*prepared.edges, prepared.scale, 20, limit)
    assert 0 < len(found) <= 20
    assert all(abs(each.pose.angle) <= limit + 1e-9 for each in found)
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    away = [math.hypot(each.pose.x - true.x, each.pose.y - true.y) for each in found]
    turn = [angle_between(each.pose.angle, 0) for each in found]
    assert any(a < 10 and t < 12 for a, t in zip(away, turn, strict=True))


def test_the_true_pose_fits_best() -> None:
    parts, poses = torn()
    prepared = Prepared.of(parts, Search(rotation="none"))
    true = poses[1].relative_to(poses[0])
    first, second = prepared.rims
    right = fit(first, second, true, prepared.scale)
    assert right.score > 0.5
    assert right.overlap_share < 0.005
    for wrong in (Pose(true.x, true.y + 20), Pose(true.x + 30, true.y), Pose(0, 0)):
        assert fit(first, second, wrong, prepared.scale).score < right.score
    assert fit(first, second, Pose(500, 0), prepared.scale).contact == 0
    assert fit(first, second, Pose(0, 0), prepared.scale).overlap_share > 0.2


def test_a_fit_is_the_same_seen_from_the_other_side() -> None:
    parts, poses = torn()
    prepared = Prepared.of(parts, Search())
    first, second = prepared.rims
    pose = Pose(3, 2, 20) @ poses[1].relative_to(poses[0])
    one = fit(first, second, pose, prepared.scale)
    other = fit(second, first, pose.inverse(), prepared.scale)
    assert one.score == pytest.approx(other.score, abs=1e-3)


def test_refining_finds_back_from_a_small_error() -> None:
    parts, poses = torn()
    prepared = Prepared.of(parts, Search())
    true = poses[1].relative_to(poses[0])
    start = Pose(true.x + 3, true.y - 3, 4)
    end, score = refined(*prepared.rims, start, prepared.scale, turn=4, shift_px=3, levels=5)
    assert math.hypot(end.x - true.x, end.y - true.y) < 3
    assert abs(end.angle) < 2.5
    assert score > fit(*prepared.rims, start, prepared.scale).score


@pytest.mark.parametrize("rotation", ["none", "free"])
def test_the_first_candidate_of_a_torn_picture_is_right(rotation: str) -> None:
    parts, poses = torn()
    prepared = Prepared.of(parts, Search(rotation=rotation))
    best = row_candidates(prepared, 1)[0]
    true = poses[1].relative_to(poses[0])
    assert math.hypot(best.pose.x - true.x, best.pose.y - true.y) < 4
    assert abs(best.pose.angle) < 4


def test_a_journal_is_gone_on_with(tmp_path, monkeypatch) -> None:
    parts = torn()[0] + torn(seed=2)[0]
    prepared = Prepared.of(parts, Search(rotation="none"))
    journal = tmp_path / "candidates.jsonl"
    whole = all_candidates(parts, prepared)
    assert all_candidates(parts, prepared, journal=journal) == whole
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:2]) + lines[2][:20])  # killed while it wrote a row
    asked: list[int] = []

    def counted(ready: Prepared, row: int) -> list:
        asked.append(row)
        return row_candidates(ready, row)

    monkeypatch.setattr("puzzleflow.solvers.free_form.candidates.row_candidates", counted)
    assert all_candidates(parts, prepared, journal=journal) == whole
    assert asked == [2, 3]


def test_a_journal_of_other_fragments_is_refused(tmp_path) -> None:
    from puzzleflow.core.errors import InputError

    journal = tmp_path / "candidates.jsonl"
    parts = torn()[0]
    all_candidates(parts, Prepared.of(parts, Search(rotation="none")), journal=journal)
    others = torn(seed=3)[0]
    with pytest.raises(InputError, match="begun with fragments"):
        all_candidates(others, Prepared.of(others, Search(rotation="none")), journal=journal)
