from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from puzzleflow.core.errors import FormatError, InputError, NotAGrid, NotAPermutation
from puzzleflow.core.grid import Grid
from puzzleflow.storage.predictions import (
    DIRECTIONS,
    Predictions,
    read_predictions,
    write_predictions,
)


def rows(seed: int, count: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).permuted(np.tile(np.arange(n), (count, 1)), axis=1)


@settings(max_examples=30, deadline=None)
@given(
    grid=st.builds(Grid, st.integers(1, 5), st.integers(1, 5)),
    count=st.integers(0, 6),
    seed=st.integers(0, 999),
    suffix=st.sampled_from([".npy", ".npz"]),
    with_targets=st.booleans(),
)
def test_round_trip(tmp_path_factory, grid, count, seed, suffix, with_targets):
    path = tmp_path_factory.getbasetemp() / f"predictions{suffix}"
    predicted = rows(seed, count, grid.num_pieces)
    targets = rows(seed + 1, count, grid.num_pieces) if with_targets else None
    info = {"dataset": "GAP-3", "n_steps": 20}
    write_predictions(path, predicted, targets=targets, grid=grid, info=info)
    read = read_predictions(path)
    assert np.array_equal(read.position_of, predicted)
    if suffix == ".npz":
        assert read.grid == grid
        assert read.info == info
        assert (read.targets is None) == (targets is None)
        assert targets is None or np.array_equal(read.targets, targets)


def test_the_two_directions_are_kept_apart(tmp_path):
    """Piece 0 lies at 2, piece 1 at 0, piece 2 at 1: at 0 lies 1, at 1 lies 2, at 2 lies 0."""
    position_of, grid = np.array([[2, 0, 1]]), Grid(1, 3)
    write_predictions(tmp_path / "a.npz", position_of, grid=grid)
    write_predictions(tmp_path / "a.npy", position_of, grid=grid)
    assert np.load(tmp_path / "a.npz")["predictions"].tolist() == [[2, 0, 1]]
    assert np.load(tmp_path / "a.npy").tolist() == [[1, 2, 0]]
    assert np.load(tmp_path / "a.npy").dtype == np.int64
    for name in ("a.npz", "a.npy"):
        assert read_predictions(tmp_path / name).position_of.tolist() == [[2, 0, 1]]
    (tmp_path / "a.npy").rename(tmp_path / "renamed.npz")
    assert read_predictions(tmp_path / "renamed.npz").position_of.tolist() == [[2, 0, 1]]


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_the_direction_can_be_told_and_floats_may_be_whole(tmp_path, name):
    (np.save if name == "a.npy" else lambda p, a: np.savez(p, predictions=a))(
        tmp_path / name, np.array([[1.0, 2.0, 0.0]])
    )
    read = {d: read_predictions(tmp_path / name, direction=d) for d in DIRECTIONS}
    assert read["piece-to-position"].position_of.tolist() == [[1, 2, 0]]
    assert read["position-to-piece"].position_of.tolist() == [[2, 0, 1]]
    with pytest.raises(InputError, match="unknown direction 'up'"):
        read_predictions(tmp_path / name, direction="up")


def test_the_official_file_and_its_sibling(tmp_path):
    predicted = np.array([[0, 1, 2, 3], [1, 0, 2, 3]])
    targets = np.array([[0, 1, 2, 3], [0, 1, 2, 3]])
    info = {"dataset": "GAP-2", "split": "test", "checkpoint": "c", "model_type": "m", "n_steps": 5}
    write_predictions(tmp_path / "p.npz", predicted, targets=targets, info=info)
    with np.load(tmp_path / "p.npz", allow_pickle=False) as archive:
        assert int(archive["grid_size"]) == 2
        assert str(archive["split"]) == "test"
        assert set(archive) == {"predictions", "targets", "grid_size", *info}
    sibling = json.loads((tmp_path / "p.json").read_text())
    assert sibling["quick_metrics"] == {"position_accuracy": 0.75, "exact_match_accuracy": 0.5}
    assert (sibling["n_samples"], sibling["n_pieces"], sibling["grid_size"]) == (2, 4, 2)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"predictions": np.array([[0, 0]])}, NotAPermutation),
        ({"predictions": np.array([[0, 2]])}, NotAPermutation),
        ({"predictions": np.array([[0, -1]])}, NotAPermutation),
        ({"predictions": np.array([0, 1])}, FormatError),
        ({"predictions": np.array([[0.0, 0.5]])}, InputError),
        ({"predictions": np.array([[0, 1]]), "targets": np.array([[0, 1]] * 2)}, FormatError),
        ({"predictions": np.array([[0, 1]]), "grid_size": 3}, NotAGrid),
        ({"predictions": np.array([[0, 1]]), "grid_size": "x"}, FormatError),
        ({"scores": np.zeros(3), "times": np.zeros(3)}, FormatError),
        ({"predictions": np.array([[None, 1]], dtype=object)}, FormatError),
    ],
)
def test_bad_archives(tmp_path, content, error):
    np.savez(tmp_path / "p.npz", **content)
    with pytest.raises(error, match=r"p\.npz"):
        read_predictions(tmp_path / "p.npz")


def test_bad_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_predictions(tmp_path / "p.npz")
    np.save(tmp_path / "p.npy", np.array([[None]], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match="never loaded"):
        read_predictions(tmp_path / "p.npy")
    (tmp_path / "p.npy").write_bytes(b"")
    with pytest.raises(FormatError, match="expected predictions"):
        read_predictions(tmp_path / "p.npy")
    with pytest.raises(InputError, match=r"\.npz or \.npy"):
        write_predictions(tmp_path / "p.csv", [[0]])


@settings(max_examples=60, deadline=None)
@given(arrays(np.int64, (3, 4), elements=st.integers(-1, 4)))
def test_only_permutations_pass(values):
    fine = (np.sort(values, 1) == np.arange(4)).all()
    if fine:
        assert np.array_equal(Predictions(values).position_of, values)
    else:
        with pytest.raises(NotAPermutation):
            Predictions(values)
