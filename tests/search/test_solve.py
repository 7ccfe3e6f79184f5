import numpy as np
import pytest
from instances import planted, random_energy

from puzzleflow.core.grid import Grid
from puzzleflow.search import minimise, most_pieces_right, posterior
from puzzleflow.search.exact import ExactSearch


def test_small_grids_are_exact_and_large_ones_are_not() -> None:
    small, large = random_energy(Grid(3, 3), 0), random_energy(Grid(4, 4), 0)
    assert minimise(small)[0].energy == pytest.approx(ExactSearch(small).minimum)
    exact = ExactSearch(small).posterior().position_prob
    assert np.array_equal(posterior(small).position_prob, exact)
    assert np.allclose(posterior(large, effort=0.1).position_prob.sum(axis=0), 1)


def test_fewer_layouts_where_there_are_no_more() -> None:
    assert len(minimise(random_energy(Grid(1, 2), 0), num_layouts=9)) == 2
    assert len(minimise(random_energy(Grid(1, 1), 0), num_layouts=9)) == 1
    with pytest.raises(ValueError, match="num_layouts"):
        minimise(random_energy(Grid(1, 1), 0), num_layouts=0)


def test_most_pieces_right_maximises_the_expected_count() -> None:
    prob = np.array([[0.5, 0.4, 0.1], [0.5, 0.1, 0.4], [0.0, 0.5, 0.5]])
    position_of = most_pieces_right(prob)
    assert position_of.dtype == np.int64
    assert prob[np.arange(3), position_of].sum() == pytest.approx(1.4)


def test_decoding_never_uses_what_is_impossible() -> None:
    prob = np.array([[0.9, 0.01], [0.02, 0.0]])  # 0.9 with a forbidden place, 0.03 without
    assert most_pieces_right(prob).tolist() == [1, 0]


def test_decoding_agrees_with_the_minimum_when_the_case_is_clear() -> None:
    energy, truth = planted(Grid(3, 3), 5, seam=9)
    assert np.array_equal(most_pieces_right(posterior(energy).position_prob), truth)
    assert np.array_equal(minimise(energy)[0].position_of, truth)
