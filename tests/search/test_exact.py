import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import all_layouts, constrained, planted, random_energy

from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Grid
from puzzleflow.search import Energy
from puzzleflow.search.exact import ExactSearch, is_exact_size

SMALL = [
    Grid(1, 1),
    Grid(1, 2),
    Grid(2, 1),
    Grid(1, 5),
    Grid(5, 1),
    Grid(2, 2),
    Grid(2, 3),
    Grid(3, 2),
]
grids = st.sampled_from(SMALL)


def marginals_by_hand(energy: Energy, temperature: float):
    layouts, energies = all_layouts(energy)
    weight = np.exp(-(energies - energies.min()) / temperature)
    prob = weight / weight.sum()
    num = energy.grid.num_pieces
    position, right, down = np.zeros((3, num, num))
    for layout, p in zip(layouts, prob, strict=True):
        cells = np.argsort(layout).reshape(energy.grid.shape)
        position[np.arange(num), layout] += p
        right[cells[:, :-1], cells[:, 1:]] += p
        down[cells[:-1], cells[1:]] += p
    return position, right, down


def test_two_pieces_by_hand() -> None:
    right = np.array([[0.0, 3.0], [1.0, 0.0]])  # piece 0 belongs right of piece 1
    search = ExactSearch(Energy.of(Grid(1, 2), right=right))
    assert search.minimum == 1.0
    assert [tuple(layout.position_of) for layout in search.layouts()] == [(1, 0), (0, 1)]
    marginals = search.posterior()
    assert marginals.position_prob[0, 1] == pytest.approx(1 / (1 + np.exp(-2)))
    assert marginals.right_prob[1, 0] == pytest.approx(1 / (1 + np.exp(-2)))
    assert not marginals.down_prob.any()


@given(grids, st.integers(0, 10**6), st.sampled_from([0.0, 0.4]))
@settings(max_examples=60, deadline=None)
def test_every_layout_in_order_as_by_enumeration(grid: Grid, seed: int, forbidden: float) -> None:
    energy = random_energy(grid, seed, forbidden=forbidden)
    layouts, energies = all_layouts(energy)
    told = list(ExactSearch(energy).layouts())
    assert len(told) == np.isfinite(energies).sum()
    assert np.allclose([t.energy for t in told], np.sort(energies)[: len(told)])
    assert len({tuple(t.position_of) for t in told}) == len(told)
    assert tuple(told[0].position_of) == tuple(layouts[energies.argmin()])


@pytest.mark.parametrize("seed", range(3))
def test_minimum_of_3x3_as_by_enumeration(seed: int) -> None:
    energy = random_energy(Grid(3, 3), seed)
    unary, right, down = energy.unary, energy.right, energy.down
    at = np.array(np.meshgrid(*[np.arange(9)] * 3, indexing="ij")).reshape(3, -1).T
    rows = at[(at[:, 0] != at[:, 1]) & (at[:, 1] != at[:, 2]) & (at[:, 0] != at[:, 2])]  # (504, 3)
    inner = right[rows[:, 0], rows[:, 1]] + right[rows[:, 1], rows[:, 2]]
    place = [unary[rows, np.arange(3) + 3 * row].sum(axis=1) + inner for row in range(3)]
    between = down[rows[:, None], rows[None]].sum(axis=-1)  # (504, 504)
    used = (1 << rows).sum(axis=1)
    apart = (used[:, None] & used) == 0
    pair = np.where(apart, place[0][:, None] + between, np.inf)
    lowest = np.inf
    for middle in range(len(rows)):  # all 9! layouts, by their three rows
        total = pair[:, middle, None] + place[1][middle] + between[middle] + place[2]
        total[~(apart & apart[middle])] = np.inf
        lowest = min(lowest, float(total.min()))
    search = ExactSearch(energy)
    assert search.minimum == pytest.approx(lowest)
    best = next(search.layouts())
    assert energy.of_layout(best.position_of) == pytest.approx(lowest)


@given(grids, st.integers(0, 10**6), st.sampled_from([0.0, 0.4]), st.floats(0.05, 20))
@settings(max_examples=60, deadline=None)
def test_marginals_as_by_enumeration(grid, seed, forbidden, temperature) -> None:
    energy = random_energy(grid, seed, forbidden=forbidden)
    marginals = ExactSearch(energy).posterior(temperature)
    position, right, down = marginals_by_hand(energy, temperature)
    assert np.allclose(marginals.position_prob, position)
    assert np.allclose(marginals.right_prob, right)
    assert np.allclose(marginals.down_prob, down)


@pytest.mark.parametrize("grid", [Grid(3, 3), Grid(3, 4), Grid(2, 6)], ids=str)
def test_marginals_of_larger_grids_are_consistent(grid: Grid) -> None:
    marginals = ExactSearch(random_energy(grid, 1, forbidden=0.1)).posterior(0.7)
    assert np.allclose(marginals.position_prob.sum(axis=0), 1)
    assert np.allclose(marginals.position_prob.sum(axis=1), 1)
    assert marginals.right_prob.sum() == pytest.approx(grid.rows * (grid.cols - 1))
    assert marginals.down_prob.sum() == pytest.approx((grid.rows - 1) * grid.cols)
    has_left = np.setdiff1d(np.arange(grid.num_pieces), grid.on_frame(2))
    assert np.allclose(
        marginals.right_prob.sum(axis=0), marginals.position_prob[:, has_left].sum(axis=1)
    )


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_no_scale_is_too_large_or_too_small(scale: float) -> None:
    energy = random_energy(Grid(3, 3), 4)
    scaled = Energy(energy.grid, *(scale * a for a in (energy.unary, energy.right, energy.down)))
    marginals = ExactSearch(scaled).posterior()
    assert np.allclose(marginals.position_prob.sum(axis=1), 1)
    best = next(ExactSearch(energy).layouts()).position_of
    if scale == 1e6:
        assert np.allclose(marginals.confidence(best), 1)
    if scale == 1e-9:
        assert np.allclose(marginals.position_prob, 1 / 9)


def test_pins_are_compulsory_and_bought_at_least_cost() -> None:
    energy, truth = planted(Grid(2, 3), 0, seam=4)
    wrong = int(truth[1])
    search = ExactSearch(constrained(energy, {0: wrong}))
    layouts, energies = all_layouts(energy)
    assert search.minimum == pytest.approx(energies[layouts[:, 0] == wrong].min())
    assert next(search.layouts()).position_of[0] == wrong
    assert search.posterior().position_prob[0, wrong] == pytest.approx(1)


def test_impossible_constraints_are_refused() -> None:
    energy = random_energy(Grid(2, 2), 0)
    forbidden = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3)]
    assert np.isfinite(ExactSearch(constrained(energy, forbidden=forbidden)).minimum)
    with pytest.raises(CannotSolve, match="no layout"):
        ExactSearch(constrained(energy, forbidden=[*forbidden, (2, 0), (2, 1)]))


def test_seam_confidence_follows_the_layout() -> None:
    energy, truth = planted(Grid(2, 3), 3, seam=30)
    right, down = ExactSearch(energy).posterior().seam_confidence(truth)
    assert right.shape == (2, 2)
    assert down.shape == (1, 3)
    assert right.min() > 0.99
    assert down.min() > 0.99


def test_bad_temperature_and_large_grids_are_refused() -> None:
    with pytest.raises(ValueError, match="temperature"):
        ExactSearch(random_energy(Grid(2, 2), 0)).posterior(0.0)
    assert not is_exact_size(Grid(4, 4))
    with pytest.raises(CannotSolve, match="4x4"):
        ExactSearch(random_energy(Grid(4, 4), 0))
