from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import reduce
from operator import and_, or_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.rng import child_rng, child_seed

paths = st.lists(st.one_of(st.integers(-9, 9), st.text(max_size=4)), max_size=3).map(tuple)


def test_another_process_gives_the_same_children():
    code = (
        "from puzzleflow.core.rng import child_seed;"
        "print([child_seed(3, 'a', n) for n in range(9)])"
    )
    hashed_otherwise = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=hashed_otherwise,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [child_seed(3, "a", number) for number in range(9)]


def test_children_fill_64_bits():
    children = [child_seed(0, number) for number in range(200)]
    assert reduce(or_, children) == 2**64 - 1  # every bit is set in some, and no other
    assert reduce(and_, children) == 0


@given(paths, paths)
def test_different_paths_give_different_children(one, other):
    assert (child_seed(0, *one) == child_seed(0, *other)) == (
        one == other and [type(p) for p in one] == [type(p) for p in other]
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a/b",), ("a", "b")),
        ((1,), ("1",)),
        (("a/s1:b",), ("a", "b")),
        ((1, 2), (12,)),
        ((), ("",)),
    ],
)
def test_paths_that_look_alike_stay_apart(one, other):
    assert child_seed(0, *one) != child_seed(0, *other)


def test_numpy_numbers_are_numbers():
    assert child_seed(0, np.int64(7), "x") == child_seed(0, 7, "x")


def test_what_is_neither_number_nor_text_is_refused():
    with pytest.raises(TypeError):
        child_seed(0, 1.5)  # type: ignore[arg-type]


def test_the_children_never_change():
    """Data sets are named by their seeds: another scheme would silently be another data set."""
    assert child_seed(0) == 8493733112532773764
    assert child_seed(7, "train", 3) == 1025165196552960544


def test_generators_draw_apart():
    one, other = child_rng(0, 1), child_rng(0, 2)
    assert one.integers(0, 1 << 30, 4).tolist() != other.integers(0, 1 << 30, 4).tolist()
