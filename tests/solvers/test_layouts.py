"""The layout functions over pairwise costs, without any picture."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_costs import everything, planted

from puzzleflow.core.assignment import as_permutation
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.genetic import Evolution, genetic_layout
from puzzleflow.solvers.greedy import best_buddies_metric, greedy_layout
from puzzleflow.solvers.linear import linear_layout
from puzzleflow.solvers.mgc_tree import Components, rival_ratio, seams_by_ratio, tree_layout
from puzzleflow.solvers.placer import EMPTY, Fits, Partial, complete
from puzzleflow.solvers.tabu import tabu_layout


def kernel_layout(costs, grid, allowed, seed=0):
    return genetic_layout(costs, grid, allowed, seed, evolution=Evolution(crossover="kernel"))


LAYOUTS = {
    "greedy": greedy_layout,
    "tree": tree_layout,
    "linear": linear_layout,
    "tabu": tabu_layout,
    "genetic": genetic_layout,
    "kernel": kernel_layout,
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(
    "grid", [Grid(1, 1), Grid(1, 5), Grid(4, 1), Grid(2, 3), Grid(3, 3)], ids=str
)
def test_finds_the_planted_layout(name, grid):
    costs, truth = planted(grid)
    found = LAYOUTS[name](costs, grid, everything(grid), 0)
    if name == "genetic":  # partially mapped crossover is weak, as its paper's figures are
        energy, rng = costs.energy(grid), child_rng(0, "chance")
        chance = [energy.of_layout(rng.permutation(grid.num_pieces)) for _ in range(500)]
        assert energy.of_layout(found.position_of) <= np.quantile(chance, 0.02)
    else:
        assert np.array_equal(found.position_of, truth)


@pytest.mark.parametrize("name", ["greedy", "tree", "linear", "kernel"])
@pytest.mark.parametrize("grid", [Grid(5, 5), Grid(4, 7)], ids=str)
def test_finds_larger_planted_layouts(name, grid):
    costs, truth = planted(grid, seed=1)
    assert np.array_equal(LAYOUTS[name](costs, grid, everything(grid), 0).position_of, truth)


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_costs_and_pins_give_a_permutation_that_honours_them(name, data):
    grid = data.draw(st.sampled_from([Grid(1, 1), Grid(1, 4), Grid(3, 2), Grid(3, 3)]))
    num = grid.num_pieces
    rng = child_rng(data.draw(st.integers(0, 99)), "any costs")
    matrices = rng.choice([-7.0, 0.0, 1.0, 2.5, 1e9, np.inf], size=(2, num, num))
    allowed = everything(grid)
    pins = rng.permutation(num)[: data.draw(st.integers(0, num))]
    for piece in pins:
        position = int(rng.choice(np.flatnonzero(allowed[piece])))
        allowed[piece], allowed[:, position] = False, False
        allowed[piece, position] = True
    found = LAYOUTS[name](SeamCosts(*matrices), grid, allowed, 3)
    as_permutation(found.position_of, len(found.position_of))
    assert allowed[np.arange(num), found.position_of].all()


@pytest.mark.parametrize("name", ["tabu", "genetic", "kernel"])
def test_traces_improve_and_end_in_the_answer(name):
    grid = Grid(3, 3)
    costs, _ = planted(grid, seed=4, noise=0.8)
    energy = costs.energy(grid)
    found = LAYOUTS[name](costs, grid, everything(grid), 5)
    energies = [energy.of_layout(step) for step in found.trace]
    assert (np.diff(energies) < 0).all()
    assert np.array_equal(found.trace[-1], found.position_of)


def test_tabu_reaches_the_optimum_of_a_noisy_puzzle():
    from itertools import permutations

    grid = Grid(2, 3)
    costs, _ = planted(grid, seed=2, noise=3.0)
    energy = costs.energy(grid)
    least = min(energy.of_layout(np.array(p)) for p in permutations(range(6)))
    found = tabu_layout(costs, grid, everything(grid), 1)
    assert energy.of_layout(found.position_of) == pytest.approx(least)


def test_best_buddies_by_hand():
    inf = np.inf
    right = np.array([[inf, 1.0, 5.0], [4.0, inf, 2.0], [1.5, 6.0, inf]])
    fits = Fits.of(SeamCosts(right, np.ones((3, 3))))
    # 0→1 and 1→2 are each other's best; 2's best is 0, whose best on the left is 2
    assert fits.buddy[Direction.RIGHT].tolist() == [1, 2, 0]
    assert fits.buddy[Direction.LEFT].tolist() == [2, 0, 1]
    assert best_buddies_metric(fits, Grid(1, 3), np.array([0, 1, 2])) == 1
    assert best_buddies_metric(fits, Grid(1, 3), np.array([2, 1, 0])) == 0
    # compatibility of 0→1, seen from both ends: exp(−1/p) with p the 25th percentile
    ahead, back = np.exp(-1 / 2.0), np.exp(-1 / 2.25)
    assert fits.mutual[Direction.RIGHT, 0, 1] == pytest.approx((ahead + back) / 2)


def test_no_best_buddy_where_the_wish_is_one_sided():
    right = np.array([[0, 1.0, 9.0], [9.0, 0, 9.0], [9.0, 0.5, 0]])
    fits = Fits.of(SeamCosts(right, np.ones((3, 3))))
    assert fits.buddy[Direction.RIGHT, 0] == EMPTY  # 1 prefers 2 on its left
    assert fits.buddy[Direction.RIGHT, 2] == 1


def test_trimming_keeps_the_fullest_window():
    cells = np.array([[0, 0], [0, 1], [0, 2], [0, 3], [1, 3]])
    kept = Partial(np.arange(5), cells).trimmed(Grid(2, 2))
    assert kept.pieces.tolist() == [2, 3, 4]


def test_completion_grows_to_the_side_that_fits():
    """The middle piece is given; the frame floats until both ends are laid."""
    costs, truth = planted(Grid(1, 5), seed=3)
    middle = int(np.flatnonzero(truth == 2)[0])
    start = Partial(np.array([middle]), np.zeros((1, 2), dtype=np.int64))
    grid = Grid(1, 5)
    assert np.array_equal(complete(grid, Fits.of(costs), start, everything(grid)), truth)


def test_components_refuse_collisions_and_overgrown_frames():
    grid = Grid(1, 3)
    single = Components.single(grid, everything(grid))
    collision = np.array([[Direction.RIGHT, 0, 1], [Direction.RIGHT, 0, 2]])
    joined = single.joined(collision, grid, everything(grid), fit_frame=True)
    assert len(set(joined.label[[0, 1]])) == 1
    assert joined.label[2] not in joined.label[:2]
    tall = np.array([[Direction.DOWN, 0, 1]])
    assert len(set(single.joined(tall, grid, everything(grid), fit_frame=True).label)) == 3
    assert len(set(single.joined(tall, grid, everything(grid), fit_frame=False).label)) == 2


def test_an_anchored_component_stays_inside_the_grid():
    grid = Grid(1, 3)
    allowed = everything(grid)
    allowed[0], allowed[:, 0], allowed[0, 0] = False, False, True
    pinned = Components.single(grid, allowed)
    outside = np.array([[Direction.LEFT, 0, 1], [Direction.RIGHT, 0, 2]])
    joined = pinned.joined(outside, grid, allowed, fit_frame=False)
    assert joined.label[1] != joined.label[0]
    assert joined.label[2] == joined.label[0]
    assert joined.cells[2].tolist() == [0, 1]


def test_rival_ratio_by_hand():
    inf = np.inf
    costs = np.array([[inf, 1.0, 4.0], [3.0, inf, 2.0], [6.0, 8.0, inf]])
    ratio = rival_ratio(costs)
    assert ratio[0, 1] == pytest.approx(1 / 4)  # rivals 4 (row) and 8 (column)
    assert ratio[1, 0] == pytest.approx(3 / 2)
    assert ratio[2, 0] == pytest.approx(6 / 3)
    assert np.isinf(np.diag(ratio)).all()
    assert seams_by_ratio(SeamCosts(costs, costs))[0].tolist() == [Direction.RIGHT, 0, 1]
