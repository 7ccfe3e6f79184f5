import numpy as np
import pytest

from puzzleflow.core.grid import Grid
from puzzleflow.search import posterior
from puzzleflow.solvers.relational_energy import EnergyWeights, Terms
from puzzleflow.training.energy_fit import Example, expected, fit_weights, observed, trusted

GRID = Grid(2, 3)


def random_terms(rng: np.random.Generator) -> Terms:
    N = GRID.num_pieces
    return Terms(
        position=rng.gamma(1.0, 2.0, (N, N)),
        right=rng.gamma(1.0, 2.0, (N, N)),
        down=rng.gamma(1.0, 2.0, (N, N)),
        border=rng.gamma(1.0, 1.0, (N, 4)),
        colour_right=rng.gamma(1.0, 2.0, (N, N)),
        colour_down=rng.gamma(1.0, 2.0, (N, N)),
        alone_right=rng.gamma(1.0, 2.0, (N, N)),
        alone_down=rng.gamma(1.0, 2.0, (N, N)),
        absent=rng.gamma(1.0, 1.0, (N, 4)),
        stray=rng.normal(size=N),
    )


def drawn(terms: Terms, weights: EnergyWeights, rng: np.random.Generator) -> np.ndarray:
    """A layout drawn from exp(-E) itself, by enumeration."""
    from itertools import permutations

    energy = terms.energy(GRID, weights)
    layouts = [np.array(p) for p in permutations(range(GRID.num_pieces))]
    cost = np.array([energy.of_layout(layout) for layout in layouts])
    prob = np.exp(cost.min() - cost)
    return layouts[rng.choice(len(layouts), p=prob / prob.sum())]


def test_observed_terms_add_up_to_the_energy() -> None:
    rng = np.random.default_rng(1)
    weights = EnergyWeights(0.4, 0.7, 1.3, 0.2, 0.9, 0.1, 0.6, -0.3, 0.8)
    for num_empty in (None, 2):
        parts = random_terms(rng).parts(GRID, num_empty)
        at = rng.permutation(parts.unary.shape[1])[: GRID.num_pieces]
        position_of = np.full(parts.unary.shape[1], -1)
        position_of[at] = np.arange(GRID.num_pieces)
        total = observed(Example(parts, at)) @ weights.vector
        assert total == pytest.approx(parts.energy(weights).of_layout(position_of))


def test_expected_terms_of_a_sure_posterior_are_the_observed_ones() -> None:
    parts = random_terms(np.random.default_rng(2)).parts(GRID)
    belief = posterior(parts.energy(EnergyWeights(50, 50, 50, 50)))
    layout = belief.position_prob.argmax(axis=1)
    assert belief.position_prob.max(axis=1).min() > 0.99
    shown = observed(Example(parts, np.argsort(layout)))
    assert expected(parts, belief) == pytest.approx(shown, abs=0.2)


def test_the_weights_that_made_the_data_are_found() -> None:
    rng = np.random.default_rng(3)
    true = EnergyWeights(position=0.25, pair=0.6, border=0.4, colour=0.3)
    terms = [random_terms(rng) for _ in range(80)]
    examples = [Example(t.parts(GRID), np.argsort(drawn(t, true, rng))) for t in terms]
    fitted = fit_weights(examples, initial=EnergyWeights(1.0, 1.0, 1.0, 1.0))
    for name in ("position", "pair", "border", "colour"):
        assert getattr(fitted, name) == pytest.approx(getattr(true, name), abs=0.15), name
    assert fitted.absent == EnergyWeights().absent  # closed puzzles say nothing of it


TRUE = EnergyWeights(position=0.25, pair=0.4, border=0.3, colour=0.2)


@pytest.fixture(scope="module")
def others() -> list[Example]:
    """Puzzles whose truths were drawn under the energy of ``TRUE``."""
    rng = np.random.default_rng(4)
    every = [random_terms(rng) for _ in range(60)]
    return [Example(terms.parts(GRID), np.argsort(drawn(terms, TRUE, rng))) for terms in every]


@pytest.mark.parametrize(("off", "factors"), [(2.0, (0.4, 0.5, 0.6)), (0.8, (1.15, 1.3))])
def test_a_fit_that_is_too_sure_or_not_sure_enough_is_mended(
    others: list[Example], off: float, factors: tuple[float, ...]
) -> None:
    fitted = EnergyWeights.of(off * TRUE.vector)
    found, share, factor = trusted(others, fitted, fitted)
    assert share == 1.0
    assert factor in factors
    assert found.vector == pytest.approx(factor * fitted.vector)


def test_a_fit_is_trusted_as_far_as_other_puzzles_bear_it_out(others: list[Example]) -> None:
    wild = EnergyWeights(position=0.0, pair=0.2, border=0.0, colour=1.5)  # knows few by heart
    assert trusted(others, TRUE, wild)[1] == 0.0
    assert trusted(others, wild, TRUE)[1] == 1.0
    _, halfway, _ = trusted(
        others, EnergyWeights.of(0.4 * TRUE.vector), EnergyWeights.of(2 * TRUE.vector)
    )
    assert 0 < halfway < 1
