"""Energies with more candidates than cells: pieces aside, empty places, turns."""

from itertools import permutations, product

import numpy as np
import pytest

from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.grid import Grid
from puzzleflow.search import minimise, posterior
from puzzleflow.search.energy import Energy
from puzzleflow.search.exact import ExactSearch, can_be_exact
from puzzleflow.search.local import sample_posterior, search


def random_energy(grid: Grid, piece_of: list[int], seed: int, scale: float = 1.0) -> Energy:
    rng = np.random.default_rng(seed)
    n = len(piece_of)
    unary = scale * rng.normal(size=(n, grid.num_pieces))
    right, down = scale * rng.normal(size=(2, n, n))
    return Energy(grid, unary, right, down, np.array(piece_of))


def every_layout(energy: Energy) -> tuple[np.ndarray, np.ndarray]:
    """(L, N) positions of candidates of every layout, and their energies."""
    cells = energy.grid.num_pieces
    of_piece = [np.flatnonzero(energy.pieces == k) for k in range(energy.num_pieces)]
    layouts = []
    for pieces in permutations(range(energy.num_pieces), cells):
        for chosen in product(*(of_piece[piece] for piece in pieces)):
            position_of = np.full(energy.num_candidates, -1)
            position_of[list(chosen)] = np.arange(cells)
            layouts.append(position_of)
    return np.array(layouts), np.array([energy.of_layout(p) for p in layouts])


def marginals(layouts: np.ndarray, energies: np.ndarray, cells: int) -> np.ndarray:
    """(N, P) probability of candidate at position."""
    weights = np.exp(energies.min() - energies)
    weights /= weights.sum()
    return np.stack([(layouts == p).T @ weights for p in range(cells)], axis=1)


WORLDS = {
    "two aside": (Grid(2, 2), [0, 1, 2, 3, 4, 5]),
    "one aside, flat": (Grid(1, 3), [0, 1, 2, 3]),
    "two turns each": (Grid(2, 2), [0, 0, 1, 1, 2, 2, 3, 3]),
    "turns, and one aside": (Grid(1, 3), [0, 0, 0, 1, 2, 2, 3]),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", range(2))
def test_search_finds_the_best_of_every_layout(world: str, seed: int) -> None:
    energy = random_energy(*WORLDS[world], seed)
    layouts, energies = every_layout(energy)
    best = layouts[energies.argmin()]
    (found,) = minimise(energy, seed=0)
    assert found.energy == pytest.approx(energies.min())
    assert found.position_of.tolist() == best.tolist()
    (searched,) = search(energy, seed=1)
    assert searched.energy == pytest.approx(energies.min())


@pytest.mark.parametrize("world", WORLDS)
def test_sampled_marginals_are_those_of_every_layout(world: str) -> None:
    energy = random_energy(*WORLDS[world], seed=5)
    truth = marginals(*every_layout(energy), energy.grid.num_pieces)
    sampled = sample_posterior(energy, seed=0, effort=8.0).position_prob
    assert np.abs(sampled - truth).max() < 0.05


def test_exact_marginals_and_order_with_pieces_aside() -> None:
    energy = random_energy(Grid(2, 2), [0, 1, 2, 3, 4, 5], seed=3)
    layouts, energies = every_layout(energy)
    assert can_be_exact(energy)
    belief = posterior(energy)
    assert np.allclose(belief.position_prob, marginals(layouts, energies, 4))
    assert belief.position_prob.sum(axis=0) == pytest.approx(np.ones(4))
    told = [layout.energy for layout in ExactSearch(energy).layouts()]
    assert np.allclose(told, np.sort(energies))


def test_turns_of_one_piece_never_lie_together() -> None:
    energy = random_energy(Grid(2, 3), np.repeat(np.arange(6), 4).tolist(), seed=1, scale=3.0)
    assert not can_be_exact(energy)
    for layout in search(energy, seed=0, num_layouts=5):
        laid = energy.pieces[layout.position_of >= 0]
        assert sorted(laid.tolist()) == list(range(6))


def test_forbidden_placements_are_never_used_and_impossible_ones_refused() -> None:
    energy = random_energy(Grid(1, 3), [0, 0, 0, 1, 2, 2, 3], seed=2)
    unary = energy.unary.copy()
    unary[:3] = np.inf  # no turn of piece 0 lies anywhere
    (found,) = search(energy.changed(unary), seed=0)
    assert (found.position_of[:3] == -1).all()
    unary[3] = np.inf  # and piece 1 neither: two pieces for three cells
    with pytest.raises(CannotSolve, match="no layout"):
        search(energy.changed(unary), seed=0)


def test_too_few_pieces_are_refused() -> None:
    with pytest.raises(ValueError, match="2 pieces do not fill a 1x3 grid"):
        random_energy(Grid(1, 3), [0, 0, 1, 1], seed=0)
