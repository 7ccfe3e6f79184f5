import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.rng import child_rng
from puzzleflow.search.compiling import below, random_state, shuffle, uniform
from puzzleflow.solvers.evolution import (
    cost_of,
    cross_kernel,
    cross_pmx,
    mutate,
    neighbours_in,
    select,
)


@settings(max_examples=60, deadline=None)
@given(num=st.integers(1, 12), seed=st.integers(0, 10_000))
def test_pmx_keeps_permutations_and_what_parents_share(num, seed):
    rng = child_rng(seed, "pmx")
    first, second = rng.permutation(num), rng.permutation(num)
    child = np.empty(num, dtype=np.int64)
    cross_pmx(child, first, second, random_state(seed))
    as_permutation(child, len(child))
    agreed = first == second
    assert np.array_equal(child[agreed], first[agreed])
    assert ((child == first) | (child == second) | ~agreed).all()


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 4),
    cols=st.integers(1, 4),
    num_pins=st.integers(0, 3),
    seed=st.integers(0, 999),
)
def test_kernel_growing_keeps_permutations_and_pins(rows, cols, num_pins, seed):
    num = rows * cols
    rng = child_rng(seed, "kernel")
    first, second = rng.permutation(num), rng.permutation(num)
    pinned = np.sort(rng.permutation(num)[:num_pins])
    for position in pinned:  # both parents agree there
        where = int(np.flatnonzero(second == first[position])[0])
        second[[position, where]] = second[[where, position]]
    movable = np.setdiff1d(np.arange(num), pinned)
    child = np.empty(num, dtype=np.int64)
    costs = rng.random((4, num, num))
    buddy = np.full((4, num), -1)
    shape = np.array([rows, cols])
    cross_kernel(child, first, second, costs, buddy, shape, movable, random_state(seed))
    as_permutation(child, len(child))
    assert np.array_equal(child[pinned], first[pinned])


def test_equal_parents_mostly_have_themselves_as_child():
    parent = child_rng(0, "parent").permutation(9)
    same, num = 0, 200
    state = random_state(1)
    child = np.empty(9, dtype=np.int64)
    for _ in range(num):
        cross_kernel(
            child,
            parent,
            parent,
            np.ones((4, 9, 9)),
            np.full((4, 9), -1),
            np.array([3, 3]),
            np.arange(9),
            state,
        )
        same += np.array_equal(child, parent)
    assert 0.3 * num < same < num  # eight draws at 5 % mutation leave about two in three


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 999))
def test_mutations_move_only_movable_positions(seed):
    rng = child_rng(seed, "mutate")
    piece_at = rng.permutation(10)
    movable = np.array([1, 3, 4, 8])
    before = piece_at.copy()
    mutate(piece_at, movable, 1.0, random_state(seed))
    fixed = np.setdiff1d(np.arange(10), movable)
    assert np.array_equal(piece_at[fixed], before[fixed])
    as_permutation(piece_at, len(piece_at))


def test_cost_and_neighbours_by_hand():
    piece_at = np.array([2, 0, 1, 3])  # 2x2: 2 0 / 1 3
    costs = np.zeros((4, 4, 4))
    costs[0, 2, 0], costs[0, 1, 3], costs[1, 2, 1], costs[1, 0, 3] = 1, 10, 100, 1000
    unary = np.zeros((4, 4))
    unary[3, 3] = 0.5
    assert cost_of(piece_at, costs, unary, 2) == pytest.approx(1111.5)
    beside = neighbours_in(piece_at, 2)
    assert beside[0].tolist() == [-1, 3, 0, -1]
    assert beside[3].tolist() == [-1, 2, -1, 0]


def test_tournaments_prefer_the_fit():
    fitness = np.arange(10.0)
    state = random_state(3)
    chosen = [select(fitness, 3, state) for _ in range(2000)]
    assert abs(np.mean(chosen) - 2.025) < 0.2  # mean of the least of three out of ten


def test_random_numbers_are_even_and_repeatable():
    state, again = random_state(5, "a"), random_state(5, "a")
    numbers = np.array([uniform(state) for _ in range(4000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.03
    assert uniform(again) == numbers[0]
    counts = np.bincount([below(state, 4) for _ in range(4000)], minlength=4)
    assert counts.min() > 850
    values = np.arange(6)
    shuffle(values, 1, 5, state)
    assert values[0] == 0
    assert values[5] == 5
    as_permutation(values, len(values))
