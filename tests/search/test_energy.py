import numpy as np
import pytest
from instances import constrained, random_energy

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.search import Energy
from puzzleflow.search.tables import Tables


def test_energy_of_a_layout_by_hand() -> None:
    unary = np.arange(16.0).reshape(4, 4)
    right, down = np.zeros((2, 4, 4))
    right[2, 0], right[1, 3], down[2, 1], down[0, 3] = 100, 200, 1000, 2000
    energy = Energy(Grid(2, 2), unary, right, down)
    # 2 0
    # 1 3
    assert energy.of_layout(np.array([1, 2, 0, 3])) == 1 + 6 + 8 + 15 + 3300


def test_border_costs_are_folded_in() -> None:
    border = np.zeros((2, 4))
    border[0, Direction.LEFT], border[1, Direction.UP] = 5, 7
    energy = Energy.of(Grid(1, 2), border=border)
    assert energy.of_layout(np.array([0, 1])) == 12
    assert energy.of_layout(np.array([1, 0])) == 7


def test_wrong_shapes_and_nan_are_refused() -> None:
    with pytest.raises(ValueError, match=r"right must have shape \(4, 4\)"):
        Energy.of(Grid(2, 2), right=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="unary holds NaN"):
        Energy.of(Grid(1, 2), unary=np.full((2, 2), np.nan))


def test_tables_agree_with_the_energy_where_it_is_finite() -> None:
    energy = random_energy(Grid(3, 4), 2, forbidden=0.3)
    tables = Tables.of(energy)
    rng = np.random.default_rng(0)
    layouts = np.stack([rng.permutation(12) for _ in range(300)])  # (R, N) piece_at
    exact = np.array([energy.of_layout(np.argsort(piece_at)) for piece_at in layouts])
    found = tables.energy_of(layouts)
    feasible = np.isfinite(exact)
    assert np.allclose(found[feasible], exact[feasible])
    assert found[~feasible].min() > 1e3 + np.abs(exact[feasible]).max(initial=0.0)


def test_settled_positions_and_relative_costs_by_hand() -> None:
    right = np.array([[0.0, 1, 5], [9, 0, 2], [7, 8, 0]])
    tables = Tables.of(constrained(Energy.of(Grid(1, 3), right=right), {2: 0}))
    assert tables.settled.tolist() == [2, -1, -1]
    assert tables.free.tolist() == [1, 2]
    _, relative, _ = Tables.of(Energy.of(Grid(1, 3), right=right)).relative
    assert relative[0, 1] == 1 - (5 + 8) / 2  # rivals: (0, 2) in its row, (2, 1) in its column
    assert relative[0, 2] == 5 - (1 + 2) / 2
