from dataclasses import replace

import numpy as np
import pytest
import torch

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import PRIOR_FEATURES, Relations
from puzzleflow.search import minimise
from puzzleflow.solvers.relational_energy import WEIGHTS, EnergyWeights, terms_of, weights_for


def silent(N: int) -> list[np.ndarray]:
    """A prior that knows nothing."""
    return [np.zeros((2, N, N, PRIOR_FEATURES), np.float32)]


def related(
    right: torch.Tensor, down: torch.Tensor, frame: torch.Tensor, absent: torch.Tensor | None = None
) -> Relations:
    """Relations that know nothing else; of a closed world where nothing is absent."""
    B, N = right.shape[:2]
    absent = torch.full((B, N, 4), float("-inf")) if absent is None else absent
    nothing = torch.zeros(B, N, 4)
    return Relations(right, down, absent, frame, nothing, torch.zeros(B, N))


def planted(
    truth: list[int], grid: Grid, strength: float
) -> tuple[Relations, Relations, torch.Tensor]:
    """Relations, of all and of pairs alone, and positions that say just what ``truth`` says."""
    N = grid.num_pieces
    piece_at = np.argsort(truth)
    seams = []
    for direction in (Direction.RIGHT, Direction.DOWN):
        seam = torch.zeros(1, N, N)
        for a, b in grid.neighbours(direction):
            seam[0, piece_at[a], piece_at[b]] = strength
        seams.append(seam)
    none = torch.zeros(1, N, 4)
    for direction in Direction:
        none[0, piece_at[grid.on_frame(direction)], direction] = strength
    position = torch.zeros(1, N, N)
    position[0, torch.arange(N), torch.tensor(truth)] = strength
    relations = related(seams[0], seams[1], none)
    return relations, relations, position


@pytest.mark.parametrize(
    "weights",
    [
        EnergyWeights(),
        EnergyWeights(0, 1, 1, 0),
        EnergyWeights(1, 0, 0, 0),
        EnergyWeights(0, 0, 1, 0),
        EnergyWeights(0, 0, 0, 0, alone=1),
    ],
)
def test_the_truth_has_the_lowest_energy(weights: EnergyWeights) -> None:
    grid, truth = Grid(2, 3), [4, 0, 5, 2, 1, 3]
    (terms,) = terms_of(*planted(truth, grid, 6.0), silent(6))
    energy = terms.energy(grid, weights)
    best = minimise(energy)[0]
    assert energy.of_layout(np.array(truth)) == pytest.approx(best.energy)
    if weights.pair or weights.position or weights.alone:
        assert best.position_of.tolist() == truth


def test_relations_alone_cannot_tell_a_shift_but_the_border_can() -> None:
    """A picture that goes round: both seams exist, only the frame says where it begins."""
    grid, N = Grid(1, 3), 3
    ring = torch.zeros(1, N, N)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        ring[0, a, b] = 5.0
    none = torch.zeros(1, N, 4)
    none[0, 0, Direction.LEFT] = none[0, 2, Direction.RIGHT] = 4.0
    relations = related(ring, torch.zeros(1, N, N), none)
    (terms,) = terms_of(relations, relations, torch.zeros(1, N, N), silent(3))
    with_border = minimise(terms.energy(grid, EnergyWeights(0, 1, 1, 0)))[0]
    assert with_border.position_of.tolist() == [0, 1, 2]


def test_a_seam_is_charged_from_both_sides() -> None:
    grid = Grid(1, 2)
    right = torch.tensor([[[0.0, 2.0], [0.0, 0.0]]])
    relations = related(right, torch.zeros(1, 2, 2), torch.zeros(1, 2, 4))
    (terms,) = terms_of(relations, relations, torch.zeros(1, 2, 2), silent(2))
    log_p = 2.0 - np.log(np.exp(2.0) + 1.0)  # against the frame only, on either side
    assert terms.right[0, 1] == pytest.approx(-2 * log_p, abs=1e-5)
    assert terms.border[0, Direction.RIGHT] == pytest.approx(np.log(np.exp(2.0) + 1.0), abs=1e-5)
    assert terms.energy(grid, EnergyWeights(0, 0.5, 0, 0)).right[0, 1] == pytest.approx(-log_p)


def test_what_two_pieces_tell_by_themselves_is_a_term_of_its_own() -> None:
    right, none = torch.tensor([[[0.0, 2.0], [0.0, 0.0]]]), torch.zeros(1, 2, 2)
    flat, alone = (related(seam, none, torch.zeros(1, 2, 4)) for seam in (none, right))
    (terms,) = terms_of(flat, alone, none, silent(2))
    log_p = 2.0 - np.log(np.exp(2.0) + 1.0)
    assert terms.alone_right[0, 1] == pytest.approx(-2 * log_p, abs=1e-5)
    assert terms.right[0, 1] == pytest.approx(2 * np.log(2), abs=1e-5)
    energy = terms.energy(Grid(1, 2), EnergyWeights(0, 0, 0, 0, alone=0.5))
    assert energy.right[0, 1] == pytest.approx(-log_p, abs=1e-5)


def test_weights_of_the_nearest_grid() -> None:
    fitted = {
        "3x3": {"position": 0.1, "pair": 1.0, "border": 0.2, "colour": 0.3},
        "5x5": {"position": 0.9, "pair": 1.0, "border": 0.2, "colour": 0.3},
    }
    assert weights_for(Grid(2, 2), fitted).position == 0.1
    assert weights_for(Grid(3, 4), fitted).position == 0.1
    assert weights_for(Grid(10, 10), fitted).position == 0.9
    assert weights_for(Grid(3, 3), {}) == EnergyWeights()


def test_the_prior_alone_can_decide() -> None:
    grid = Grid(1, 3)
    (prior,) = silent(3)
    prior[0, 2, 0, :2] = prior[0, 0, 1, :2] = 0.0
    wrong = [(0, 2), (1, 0), (1, 2), (2, 1)]
    for a, b in wrong:
        prior[0, a, b, :2] = -4.0
    zeros = torch.zeros(1, 3, 3)
    nothing = related(zeros, zeros, torch.zeros(1, 3, 4))
    (terms,) = terms_of(nothing, nothing, zeros, [prior])
    best = minimise(terms.energy(grid, EnergyWeights(0, 0, 0, 1)))[0]
    assert best.position_of.tolist() == [1, 2, 0]  # 2, 0, 1 from left to right
    assert best.energy == pytest.approx(0.0)


def test_an_empty_place_and_a_piece_aside_are_charged_as_they_should_be() -> None:
    """Two pieces and one empty place on 1x2: every layout by hand."""
    grid = Grid(1, 2)
    absent = torch.zeros(1, 2, 4)
    absent[0, 0, Direction.RIGHT] = 1.0
    zeros = torch.zeros(1, 2, 2)
    relations = related(zeros, zeros, torch.zeros(1, 2, 4), absent)
    (terms,) = terms_of(relations, relations, zeros, silent(2), closed=False)
    parts = terms.parts(grid, num_empty=1)
    assert parts.unary.shape == (len(WEIGHTS), 3, 2)
    only = {name: EnergyWeights(*(float(n == name) for n in WEIGHTS)) for name in WEIGHTS}
    both, left_alone, right_alone = np.array([[0, 1, -1], [0, -1, 1], [-1, 1, 0]])

    def of(name: str, layout: np.ndarray) -> float:
        return parts.energy(only[name]).of_layout(layout)

    # leaving a piece aside costs what its four sides cost as absent: placing it saves that
    none = terms.absent.sum(axis=1)
    assert of("absent", both) == pytest.approx(-none.sum())
    assert of("absent", left_alone) == pytest.approx(-none[0] + terms.absent[0, Direction.RIGHT])
    assert of("absent", right_alone) == pytest.approx(-none[1] + terms.absent[1, Direction.LEFT])
    assert [of("gap", layout) for layout in (both, left_alone)] == [-8.0, -3.0]
    assert [of("aside", layout) for layout in (both, left_alone)] == [-2.0, -1.0]
    assert terms.absent[0, Direction.RIGHT] == pytest.approx(-1 + np.log(np.e + 2), abs=1e-5)


def test_terms_of_some_pieces_and_of_two_tellings() -> None:
    (terms,) = terms_of(*planted([4, 0, 5, 2, 1, 3], Grid(2, 3), 6.0), silent(6))
    some = terms.among(np.array([3, 1]))
    assert some.right.tolist() == [[terms.right[i, j] for j in (3, 1)] for i in (3, 1)]
    assert some.border.tolist() == terms.border[[3, 1]].tolist()
    assert some.position.tolist() == terms.position[[3, 1]].tolist()
    louder = replace(terms, right=3 * terms.right, position=3 * terms.position)
    mixed = terms.mixed(louder)
    assert mixed.right == pytest.approx(2 * terms.right)
    assert mixed.down == pytest.approx(terms.down)
    assert mixed.position == pytest.approx(terms.position)  # told by the first alone
