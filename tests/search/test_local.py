import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import all_layouts, constrained, planted, random_energy

from puzzleflow.core.assignment import as_permutation, as_permutations
from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Grid
from puzzleflow.search import Energy, minimise, posterior
from puzzleflow.search.beam import beam_layouts
from puzzleflow.search.exact import ExactSearch
from puzzleflow.search.growth import grow, regrow
from puzzleflow.search.local import sample_posterior, search
from puzzleflow.search.metropolis import anneal, temper
from puzzleflow.search.tables import Tables


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("seam", "place"), [(2.5, 0.0), (2.5, 1.0)])
def test_finds_the_planted_optimum_of_5x5(seed: int, seam: float, place: float) -> None:
    energy, truth = planted(Grid(5, 5), seed, seam=seam, place=place)
    (best,) = minimise(energy, seed=seed)
    assert best.energy <= energy.of_layout(truth) + 1e-9


def test_finds_the_planted_optimum_of_a_large_grid() -> None:
    energy, truth = planted(Grid(11, 12), 0, seam=3.0, place=0.5)
    (best,) = search(energy, seed=0, effort=0.1)
    assert best.energy <= energy.of_layout(truth) + 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("seam", "place"), [(3.0, 0.0), (2.7, 1.0)])
def test_finds_the_planted_optimum_of_10x10(seed: int, seam: float, place: float) -> None:
    energy, truth = planted(Grid(10, 10), seed, seam=seam, place=place)
    (best,) = minimise(energy, seed=seed)
    assert best.energy <= energy.of_layout(truth) + 1e-9
    if not place:
        assert np.array_equal(best.position_of, truth)


@pytest.mark.parametrize("grid", [Grid(4, 4), Grid(3, 7), Grid(9, 2), Grid(1, 18)], ids=str)
def test_other_grids_too(grid: Grid) -> None:
    energy, truth = planted(grid, 1, seam=4, place=1)
    (best,) = search(energy, seed=0)
    assert np.array_equal(best.position_of, truth)


@given(
    st.sampled_from([Grid(2, 2), Grid(2, 3), Grid(3, 3), Grid(1, 4), Grid(4, 1)]),
    st.integers(0, 999),
)
@settings(max_examples=25, deadline=None)
def test_reaches_the_proven_minimum_of_small_grids(grid: Grid, seed: int) -> None:
    energy = random_energy(grid, seed)
    (best,) = search(energy, seed=seed, effort=2)
    assert best.energy == pytest.approx(ExactSearch(energy).minimum)


def test_layouts_are_valid_distinct_sorted_and_deterministic() -> None:
    energy = random_energy(Grid(4, 4), 5)
    first = search(energy, seed=3, num_layouts=6)
    again = search(energy, seed=3, num_layouts=6)
    assert [tuple(a.position_of) for a in first] == [tuple(b.position_of) for b in again]
    assert len({tuple(a.position_of) for a in first}) == 6
    energies = [layout.energy for layout in first]
    assert energies == sorted(energies)
    for layout in first:
        as_permutation(layout.position_of, len(layout.position_of))
        assert energy.of_layout(layout.position_of) == pytest.approx(layout.energy)


def test_second_best_is_found_when_one_swap_away() -> None:
    energy = random_energy(Grid(3, 3), 11)
    exact = minimise(energy, num_layouts=4)
    found = search(energy, seed=0, num_layouts=4)
    assert found[0].energy == pytest.approx(exact[0].energy)
    assert found[1].energy <= exact[3].energy + 1.0


def test_pins_and_forbidden_placements_are_honoured() -> None:
    energy, truth = planted(Grid(5, 5), 7, seam=4)
    pins = {0: int(truth[1]), 1: int(truth[0]), 2: int(truth[2])}
    forbidden = [(piece, int(truth[piece])) for piece in range(3, 9)]
    limited = constrained(energy, pins, forbidden)
    for layout in search(limited, seed=1, num_layouts=3):
        assert {piece: int(layout.position_of[piece]) for piece in pins} == pins
        assert all(layout.position_of[piece] != position for piece, position in forbidden)


def test_everything_pinned_and_all_but_one_swap() -> None:
    energy, truth = planted(Grid(4, 5), 3, seam=1)
    pins = {piece: int(position) for piece, position in enumerate(truth)}
    (best,) = search(constrained(energy, pins), seed=0)
    assert np.array_equal(best.position_of, truth)
    del pins[4], pins[9]
    marginals = sample_posterior(constrained(energy, pins), seed=0, effort=0.2)
    assert marginals.position_prob[4, truth[4]] + marginals.position_prob[4, truth[9]] == 1


def test_impossible_constraints_are_refused() -> None:
    energy, _ = planted(Grid(4, 4), 0, seam=2)
    with pytest.raises(CannotSolve):
        search(constrained(energy, forbidden=[(0, position) for position in range(16)]), seed=0)


def test_constant_energy_is_no_obstacle() -> None:
    flat = Energy.of(Grid(4, 4))
    assert search(flat, seed=0)[0].energy == 0
    marginals = sample_posterior(flat, seed=0, effort=0.2)
    assert np.allclose(marginals.position_prob.sum(axis=0), 1)
    assert marginals.position_prob.max() < 0.5


def test_sampled_marginals_agree_with_the_exact_ones() -> None:
    energy = random_energy(Grid(3, 3), 8)
    exact = ExactSearch(energy).posterior(1.0)
    sampled = sample_posterior(energy, seed=0, effort=3)
    for name in ("position_prob", "right_prob", "down_prob"):
        error = np.abs(getattr(sampled, name) - getattr(exact, name))
        assert error.max() < 0.08, name


def test_temperature_scales_the_energy() -> None:
    energy = random_energy(Grid(4, 4), 2)
    double = Energy(energy.grid, 2 * energy.unary, 2 * energy.right, 2 * energy.down)
    warm = sample_posterior(double, seed=5, temperature=2.0)
    assert np.array_equal(warm.position_prob, sample_posterior(energy, seed=5).position_prob)
    with pytest.raises(ValueError, match="temperature"):
        sample_posterior(energy, seed=0, temperature=-1)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_sampled_marginals_of_a_rugged_case_agree_with_the_exact_ones(seed: int) -> None:
    """Seams that leave several quite different layouts possible, and no hint at places."""
    energy, _ = planted(Grid(3, 4), seed, seam=1.7)
    exact = ExactSearch(energy).posterior(1 / 1.7)
    sampled = sample_posterior(energy, seed=0, temperature=1 / 1.7, effort=2)
    assert exact.position_prob.max(axis=1).mean() < 0.95, "not a clear case"
    assert np.abs(sampled.position_prob - exact.position_prob).max() < 0.15
    assert np.abs(sampled.right_prob - exact.right_prob).max() < 0.15


def test_a_known_start_spares_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    energy, truth = planted(Grid(4, 4), 0, seam=12)
    (best,) = minimise(energy)
    monkeypatch.setattr("puzzleflow.search.local.search", None)
    assert posterior(energy, start=best, effort=0.1).confidence(truth).min() > 0.9


def test_posterior_of_a_clear_case_is_sure_and_deterministic() -> None:
    energy, truth = planted(Grid(6, 6), 0, seam=12, place=2)
    marginals = posterior(energy, seed=4)
    assert marginals.confidence(truth).min() > 0.95
    assert np.array_equal(marginals.right_prob, posterior(energy, seed=4).right_prob)


@pytest.mark.parametrize("order", range(8))
@pytest.mark.parametrize("grid", [Grid(2, 3), Grid(3, 2), Grid(1, 4)], ids=str)
def test_a_wide_beam_is_exact_in_every_order(order: int, grid: Grid) -> None:
    energy = random_energy(grid, 6, forbidden=0.2)
    layouts = beam_layouts(energy, width=1000, order=order)
    position_of = np.argsort(layouts[0])
    assert energy.of_layout(position_of) == pytest.approx(ExactSearch(energy).minimum)
    energies = [energy.of_layout(np.argsort(piece_at)) for piece_at in layouts]
    assert np.allclose(energies, np.sort(energies))


def test_beam_that_dies_out_is_empty() -> None:
    energy = Energy.of(Grid(1, 3), unary=np.full((3, 3), np.inf))
    assert beam_layouts(energy, width=5).shape[0] == 0


def test_growth_solves_a_clear_puzzle_from_every_piece() -> None:
    energy, truth = planted(Grid(4, 6), 0, seam=12)
    layouts, energies = grow(Tables.of(energy), np.arange(24), noise=0.0, seed=0)
    assert (np.argsort(layouts, axis=1) == truth).all()
    assert np.allclose(energies, energy.of_layout(truth))


def test_regrowing_and_annealing_never_make_a_layout_worse() -> None:
    tables = Tables.of(random_energy(Grid(4, 5), 3))
    rng = np.random.default_rng(1)
    layouts = np.stack([rng.permutation(20) for _ in range(4)])
    kept = layouts.copy()
    before = tables.energy_of(layouts)
    grown, energies = regrow(tables, layouts, num_turns=40, noise=0.5, seed=1)
    assert (energies <= before).all()
    assert np.allclose(tables.energy_of(grown), energies)
    cooled, energies = anneal(
        tables, layouts, temperatures=np.array([1.0, 0.5, 0.1]), num_proposals=300, seed=1
    )
    assert (energies < before).all()
    assert np.allclose(tables.energy_of(cooled), energies)
    assert np.array_equal(layouts, kept)
    as_permutations([*grown, *cooled], 20)


@pytest.mark.parametrize("seed", range(3))
def test_compiled_loops_agree_with_trying_every_layout(seed: int) -> None:
    energy = random_energy(Grid(2, 3), seed)
    layouts, energies = all_layouts(energy)  # (720, N) position_of
    tables = Tables.of(energy)
    starts = np.tile(np.arange(6), (3, 1))
    for found, value in (
        grow(tables, np.arange(6), noise=1.0, seed=seed),
        regrow(tables, starts, num_turns=300, noise=1.0, seed=seed),
        anneal(tables, starts, temperatures=np.geomspace(3, 0.1, 20), num_proposals=100, seed=seed),
    ):
        assert np.allclose(value, [energy.of_layout(np.argsort(piece_at)) for piece_at in found])
    assert value.min() == pytest.approx(energies.min())  # annealing finds the best
    weights = np.exp(energies.min() - energies)
    weights /= weights.sum()
    position_prob = np.zeros((6, 6))
    for position_of, weight in zip(layouts, weights, strict=True):
        position_prob[np.arange(6), position_of] += weight
    counts, *_ = temper(
        tables,
        starts,
        temperatures=np.array([1.0, 1.5, 2.2]),
        num_rounds=20_000,
        num_proposals=6,
        seed=seed,
    )
    assert np.abs(counts / 20_000 - position_prob).max() < 0.05


@pytest.mark.parametrize(
    ("num_pins", "seed"), [(1, 7), (1, 13), (1, 28), (2, 22), (2, 34), (2, 37), (2, 41), (2, 42)]
)
def test_true_pins_do_not_lead_away_from_the_planted_layout(num_pins: int, seed: int) -> None:
    """Hard cases: with the effort of a search without pins, all of them were missed."""
    energy, truth = planted(Grid(5, 5), seed, seam=2.1, place=0.5)
    pins = {piece: int(truth[piece]) for piece in range(num_pins)}
    (best,) = search(constrained(energy, pins), seed=0)
    assert best.energy <= energy.of_layout(truth) + 1e-9


def test_importing_the_library_loads_neither_numba_nor_scipy() -> None:
    code = (
        "import sys, puzzleflow.search;"
        "print([m for m in ('numba', 'scipy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
