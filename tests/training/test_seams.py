"""Examples for the seam scorer, and a few steps of its training."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.generation.free_form import FreeForm, break_picture
from puzzleflow.solvers.free_form.candidates import Search
from puzzleflow.solvers.free_form.seams import load_scorer
from puzzleflow.training.seam_examples import Arrays, _true, _verdict, examples_of, joined
from puzzleflow.training.seams import SETTINGS, SeamRun, area_under_curve, shown


@pytest.fixture(scope="module")
def broken() -> FragmentSet:
    rng = np.random.default_rng(0)
    picture = np.repeat(np.repeat(rng.integers(0, 256, (14, 14, 3)), 12, 0), 12, 1)
    return break_picture(picture.astype(np.uint8), FreeForm((4, 4)), 3)


@pytest.fixture(scope="module")
def examples(broken: FragmentSet) -> Arrays:
    search = Search(angle_step=45.0, peaks=4, coarse_px=24, fine_px=40)
    return examples_of(broken, search, np.random.default_rng(0))


def test_examples_hold_true_and_false_joins(broken: FragmentSet, examples: Arrays) -> None:
    truth = examples["is_true"]
    pairs = int(np.triu(broken.true_neighbours, 1).sum())
    assert truth.sum() >= pairs  # the jittered true poses at least
    assert (~truth).any()
    assert np.isfinite(examples["gap"][truth]).all()
    assert np.isnan(examples["gap"][~truth]).all()
    assert examples["own"].max() < len(examples["table"])
    assert examples["other"].min() >= -1
    assert (examples["other"] >= 0).any(axis=(1, 2)).all()  # something faces every seam


def test_a_true_pose_is_true_a_far_one_false_and_one_between_neither(broken: FragmentSet) -> None:
    i, j = map(int, np.argwhere(np.triu(broken.true_neighbours, 1))[0])
    true = _true(broken, i, j)
    root = min(broken.fragments[i].root_area, broken.fragments[j].root_area)
    assert _verdict(broken, i, j, true) is True
    assert _verdict(broken, i, j, Pose(true.x + 0.2 * root, true.y, true.angle)) is None
    assert _verdict(broken, i, j, Pose(true.x + 0.5 * root, true.y, true.angle)) is False


def test_rows_of_joined_sets_point_into_their_own_tables(examples: Arrays) -> None:
    both = joined([examples, examples])
    half = len(examples["own"])
    first, second = both["own"][:half], both["own"][half:]
    inside = first >= 0
    np.testing.assert_array_equal(second[inside], first[inside] + len(examples["table"]))
    np.testing.assert_array_equal(second[~inside], -1)


def test_the_area_under_the_curve_by_hand() -> None:
    scores = np.array([3.0, 1.0, 2.0, 0.0])
    assert area_under_curve(scores, np.array([True, True, False, False])) == 0.75
    assert area_under_curve(scores, np.array([True, False, True, False])) == 1.0


def test_a_run_writes_weights_that_the_solver_reads(examples: Arrays, tmp_path: Path) -> None:
    files = [tmp_path / f"seams_{number}.npz" for number in range(2)]
    for path in files:
        np.savez(path, **examples)
    run = SeamRun(tmp_path / "run", files, replace(SETTINGS, steps=3, validate_every=3))
    run.trainer.fit(run.batches)
    described = run.save()
    assert 0 <= described["validation"]["beats"] <= 1
    network = load_scorer(tmp_path / "run" / "seams.safetensors")
    assert network(shown(run.held_out)[:2]).shape == (2, 2)
    with pytest.raises(InputError):
        SeamRun(tmp_path / "other", files[:1])
