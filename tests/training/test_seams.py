"""Examples for the seam scorer, and a few steps of its training."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.generation.free_form import FreeForm, break_picture
from puzzleflow.models.seam_scorer import SeamScorer
from puzzleflow.solvers.free_form.candidates import Prepared, Search
from puzzleflow.solvers.free_form.measures import (
    CHANNELS,
    COLOURS,
    GAPS,
    INPUTS,
    LENGTH,
    SEEN,
    JoinPose,
    measured,
    placed,
)
from puzzleflow.solvers.free_form.seams import load_scorer
from puzzleflow.training.seam_examples import (
    Arrays,
    _across,
    _error,
    _true,
    examples_of,
    joined,
)
from puzzleflow.training.seams import (
    SETTINGS,
    SeamRun,
    area_under_curve,
    gap_shares,
    rightness,
    varied,
)

SEARCH = Search(peaks=4, fine_px=40)


@pytest.fixture(scope="module")
def broken() -> FragmentSet:
    rng = np.random.default_rng(0)
    picture = np.repeat(np.repeat(rng.integers(0, 256, (14, 14, 3)), 12, 0), 12, 1)
    return break_picture(picture.astype(np.uint8), FreeForm((4, 4)), 3)


@pytest.fixture(scope="module")
def examples(broken: FragmentSet) -> Arrays:
    return examples_of(broken, SEARCH, np.random.default_rng(0), None)


def test_examples_hold_right_and_wrong_joins(broken: FragmentSet, examples: Arrays) -> None:
    pairs = int(np.triu(broken.true_neighbours, 1).sum())
    error = examples["error"]
    assert (error < 0.01).sum() >= pairs  # the true poses at least
    assert (error > 2.5).any()
    assert np.isfinite(examples["gap"][np.isfinite(error)]).all()
    assert examples["inputs"].shape == (len(error), INPUTS)
    assert np.isfinite(examples["inputs"]).all()
    assert not examples["inputs"][:, -3:].any()  # the gap of the set is not told yet
    assert examples["strips"].shape == (len(error), 2, CHANNELS, LENGTH)
    assert np.isfinite(examples["strips"]).all()


def test_joins_drawn_apart_have_so_much_wider_a_gap(broken: FragmentSet) -> None:
    prepared = Prepared.of(broken.fragments, SEARCH)
    exact = [
        (i, j, _true(broken, i, j))
        for i, j in zip(*np.triu(broken.true_neighbours, 1).nonzero(), strict=True)
    ]
    widths = np.full(len(exact), 0.05)

    def gaps(joins: list[JoinPose]) -> np.ndarray:
        return measured(prepared.contours, *placed(joins, prepared.scale)).gaps

    wider = gaps(_across(prepared, exact, widths)) - gaps(exact)
    np.testing.assert_allclose(wider, 0.05, atol=0.02)
    assert _across(prepared, [], np.zeros(0)) == []


def test_strips_vary_in_colour_but_not_in_what_fits(examples: Arrays) -> None:
    strips = examples["strips"][:40]
    seen = varied(strips, np.random.default_rng(1))
    assert seen.shape == strips.shape
    assert seen.dtype == np.float32
    own, other = (seen[:, :, at : at + 9] for at in (COLOURS, COLOURS + 9))
    assert not np.allclose(own, strips[:, :, COLOURS : COLOURS + 9])
    # what is alike stays alike: differences are turned and stretched, nothing else
    near = (seen[:, :, SEEN] > 0) & (strips[:, :, SEEN] > 0)
    away = np.square(own - other).sum(axis=2)
    before = np.square(
        strips[:, :, COLOURS : COLOURS + 9].astype(np.float32) - strips[:, :, COLOURS + 9 : -3]
    ).sum(axis=2)
    ratio = away.sum(axis=(1, 2)) / np.maximum(before.sum(axis=(1, 2)), 1e-6)
    assert near.any()
    stretched = np.sqrt(ratio[before.sum(axis=(1, 2)) > 1])
    assert len(stretched)
    # parts whose other edge is not seen also move with the light: a little more than the stretch
    assert (stretched > 0.75).all()
    same = varied(strips, np.random.default_rng(1))
    np.testing.assert_array_equal(seen, same)


def test_a_scorer_moves_the_examples(broken: FragmentSet, examples: Arrays) -> None:
    network = SeamScorer().eval()
    moved = examples_of(broken, SEARCH, np.random.default_rng(0), network)
    assert joined([examples, moved])["error"].shape == (
        len(examples["error"]) + len(moved["error"]),
    )
    assert moved["set_gap"][0] == examples["set_gap"][0]


def test_errors_count_in_tolerances(broken: FragmentSet) -> None:
    i, j = map(int, np.argwhere(np.triu(broken.true_neighbours, 1))[0])
    true = _true(broken, i, j)
    root = min(broken.fragments[i].root_area, broken.fragments[j].root_area)
    assert _error(broken, i, j, true) == pytest.approx(0, abs=1e-6)
    off = Pose(true.x + 0.2 * root, true.y, true.angle)
    assert _error(broken, i, j, off) == pytest.approx(2, abs=0.01)
    apart = replace(broken, adjacency=np.zeros((len(broken),) * 2, dtype=np.bool_))
    assert _error(apart, i, j, true) == np.inf
    errors = np.array([0.0, 0.5, 1.5, 2.5, np.inf])
    np.testing.assert_allclose(rightness(errors), [1, 1, 0.5, 0, 0])


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
    held_out = (run.held_out[name][:2].astype(np.float32) for name in ("strips", "inputs"))
    assert network(*map(torch.from_numpy, held_out)).shape == (2, 2)
    with pytest.raises(InputError):
        SeamRun(tmp_path / "other", files[:1])


def test_a_run_may_start_from_earlier_weights(examples: Arrays, tmp_path: Path) -> None:
    files = [tmp_path / f"seams_{number}.npz" for number in range(2)]
    for path in files:
        np.savez(path, **examples)
    few = replace(SETTINGS, steps=2, validate_every=2)
    run = SeamRun(tmp_path / "one", files, few)
    run.trainer.fit(run.batches)
    run.save()
    path = tmp_path / "one" / "seams.safetensors"
    again = SeamRun(tmp_path / "two", files, few, initial=path)
    for name, tensor in load_scorer(path).state_dict().items():
        assert torch.equal(tensor, again.network.state_dict()[name]) or name == "usual"


def test_a_gap_is_shared_by_the_two_it_lies_between() -> None:
    gap = np.array([-0.01, 0.0, 0.025, 0.08, 0.155, 0.3])
    shares = gap_shares(gap)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(shares @ np.array(GAPS), np.clip(gap, 0, 0.2), atol=1e-6)
    assert (np.count_nonzero(shares, axis=1) <= 2).all()


def test_batches_ask_for_the_gap_of_a_set_where_it_is_not_told(
    examples: Arrays, tmp_path: Path
) -> None:
    files = [tmp_path / f"seams_{number}.npz" for number in range(2)]
    for path in files:
        np.savez(path, **examples)
    batch = next(iter(SeamRun(tmp_path / "run", files, SETTINGS).batches(0)))
    told = batch.inputs[:, -3] > 0
    assert 0 < int(told.sum()) < len(batch)
    assert not batch.of_set[told].any()
    np.testing.assert_allclose(batch.of_set[~told].sum(dim=1), 1, rtol=1e-6)
