from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError
from puzzleflow.generation.plan import assign_splits, parse_shares, split_sizes


def test_parse() -> None:
    assert parse_shares("70/15/15") == pytest.approx((0.7, 0.15, 0.15))
    assert parse_shares("2,1,1") == pytest.approx((0.5, 0.25, 0.25))
    assert parse_shares("1/0/0") == (1, 0, 0)


@pytest.mark.parametrize("text", ["", "70/30", "a/b/c", "0/0/0", "1/2/-1", "nan/1/1", "1/1/1/1"])
def test_parse_refuses(text: str) -> None:
    with pytest.raises(InputError, match="TRAIN/VAL/TEST"):
        parse_shares(text)


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(20000, [14000, 3000, 3000]), (10, [7, 2, 1]), (1, [1, 0, 0]), (3, [2, 1, 0])],
)
def test_sizes(count: int, sizes: list[int]) -> None:
    assert split_sizes(count, parse_shares("70/15/15")) == sizes


@given(
    groups=st.lists(st.integers(0, 30), min_size=1, max_size=120),
    shares=st.sampled_from(["70/15/15", "1/1/1", "0/1/0", "90/5/5"]),
    seed=st.integers(0, 1000),
)
def test_every_picture_once_and_groups_whole(groups: list[int], shares: str, seed: int) -> None:
    numbers = np.array(groups)
    splits = assign_splits(numbers, parse_shares(shares), seed)
    assert list(splits) == ["train", "val", "test"]
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(len(groups)))
    owners = [set(numbers[indices].tolist()) for indices in splits.values()]
    assert sum(map(len, owners)) == len(set(groups))  # no group in two splits
    again = assign_splits(numbers, parse_shares(shares), seed)
    assert all(np.array_equal(splits[name], again[name]) for name in splits)


@given(count=st.integers(1, 400), seed=st.integers(0, 100))
def test_single_pictures_fill_every_split_exactly(count: int, seed: int) -> None:
    shares = parse_shares("70/15/15")
    splits = assign_splits(np.arange(count), shares, seed)
    assert [len(indices) for indices in splits.values()] == split_sizes(count, shares)


def test_groups_do_not_all_go_to_train() -> None:
    pairs = np.repeat(np.arange(200), 2)
    splits = assign_splits(pairs, parse_shares("70/15/15"), seed=0)
    assert [len(indices) for indices in splits.values()] == [280, 60, 60]


def test_another_seed_gives_other_splits() -> None:
    first = assign_splits(np.arange(100), parse_shares("70/15/15"), seed=0)
    second = assign_splits(np.arange(100), parse_shares("70/15/15"), seed=1)
    assert set(first["test"].tolist()) != set(second["test"].tolist())
