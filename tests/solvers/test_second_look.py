"""A second look changes the order of doubtful layouts and what is believed of them."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from puzzleflow import Grid, cut_puzzle, load_sample, load_solver
from puzzleflow.core.conditions import Conditions
from puzzleflow.core.puzzle import Layout, Puzzle
from puzzleflow.core.types import FloatArray
from puzzleflow.generation.builder import opened
from puzzleflow.models.second_look import SecondLook, SecondLookConfig, drawn_layouts, filled
from puzzleflow.search import minimise, posterior
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.energy_session import EnergySession
from puzzleflow.solvers.second_look import Looking

GRID = Grid(2, 2)


class Preferring(Looking):
    """Looks at positions instead of pictures: one layout is much better than all others."""

    def __init__(self, position_of: Sequence[int]) -> None:
        super().__init__(np.zeros((len(position_of), 8, 8, 4), np.uint8))
        self.position_of = list(position_of)

    def costs(self, layouts: Sequence[Layout], grid: Grid) -> FloatArray:
        of_pieces = [layout.position_of[: len(self.pieces)].tolist() for layout in layouts]
        return np.array([0.0 if one == self.position_of else 3.0 for one in of_pieces])


def doubtful() -> Energy:
    """Rows may be either way round, column by column: energies 0, 0.2, 0.2, 0.4."""
    unary = np.full((4, 4), 9.0)
    unary[[0, 1, 2, 3], [0, 1, 2, 3]] = 0.0
    unary[[0, 1, 2, 3], [2, 3, 0, 1]] = 0.1
    return Energy.of(GRID, unary=unary)


def test_a_doubtful_layout_is_looked_at_again() -> None:
    energy = doubtful()
    plain = EnergySession(energy, "test", "layout", 0.0).solve(seed=0)
    assert plain.position_of.tolist() == [0, 1, 2, 3]
    moved = EnergySession(energy, "test", "layout", 0.0, Preferring([2, 3, 0, 1])).solve(seed=0)
    assert moved.position_of.tolist() == [2, 3, 0, 1]
    assert moved.confidence is not None
    weights = np.exp([-0.4, -3.0, -3.2, -3.2])  # it, the first, and two that share a column
    right = (weights[0] + weights[2]) / weights.sum()
    assert moved.confidence == pytest.approx(np.full(4, right), abs=1e-3)
    assert moved.position_prob is not None
    assert moved.position_prob.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-9)


def test_what_is_sure_is_not_looked_at() -> None:
    class Refusing(Looking):
        def costs(self, layouts: Sequence[Layout], grid: Grid) -> FloatArray:
            raise AssertionError("nobody asked")

    sure = doubtful().changed(50 * doubtful().unary)
    looking = Refusing(np.zeros((4, 8, 8, 4), np.uint8))
    assert EnergySession(sure, "test", "layout", 0.0, looking).solve(seed=0) is not None


def test_only_layouts_near_the_best_are_looked_at() -> None:
    energy = doubtful()
    unary = energy.unary.copy()
    unary[[0, 2], [2, 0]] = 3.5  # this column the other way round: 7 dearer
    looked_at: list[float] = []

    class Noting(Preferring):
        def costs(self, layouts: Sequence[Layout], grid: Grid) -> FloatArray:
            looked_at.extend(layout.energy or 0.0 for layout in layouts)
            return super().costs(layouts, grid)

    looking = Noting([2, 3, 0, 1])
    session = EnergySession(energy.changed(unary), "test", "layout", 0.0, looking)
    solution = session.solve(seed=0, num_alternatives=4)
    assert looked_at == pytest.approx([0.0, 0.2])
    assert solution.position_of.tolist() == [0, 1, 2, 3]  # what it likes is out of the question
    assert [a.position_of.tolist() for a in solution.alternatives[2:]] == [
        [2, 1, 0, 3],
        [2, 3, 0, 1],
    ]


def test_beliefs_shared_anew_stay_probabilities() -> None:
    energy = doubtful()
    belief = posterior(energy)
    layouts = [minimise(energy, num_layouts=4)[k].position_of for k in (0, 3)]  # no cell in common
    gained = np.array([-0.3, 0.3])
    after = belief.shared_anew(layouts, gained)
    assert after.position_prob.sum(axis=1) == pytest.approx(np.ones(4))
    assert after.confidence(layouts[1]) == pytest.approx(belief.confidence(layouts[1]) + 0.3)
    assert after.right_prob.sum() == pytest.approx(belief.right_prob.sum())


def test_layouts_are_drawn_where_they_lie() -> None:
    pieces = torch.zeros(3, 4, 16, 16)
    pieces[:, 3] = 1.0
    for piece in range(3):
        pieces[piece, piece] = 1.0  # red, green, blue
    drawn = drawn_layouts(pieces, torch.tensor([[3, 0, -1]]), (2, 2), 32)
    assert drawn[0, :, 24, 24].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert drawn[0, :, 8, 8].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert drawn[0, :, 8, 24].tolist() == [0.0, 0.0, 0.0, 0.0]


def test_layouts_are_drawn_together_as_they_are_alone() -> None:
    pieces = np.random.default_rng(0).integers(0, 256, (4, 12, 12, 4), dtype=np.uint8)
    pieces[..., 3] = 255
    looking = Looking(pieces)
    some = [Layout(np.array(position_of)) for position_of in ([0, 1, 2, 3], [3, 1, 0, 2])]
    turned = Layout(np.array([2, 0, 1, 3]), turns=np.array([0, 1, 2, 3]))
    for layouts in (some, [*some, turned]):
        alone = torch.cat([looking._drawn([layout], GRID, 64) for layout in layouts])
        assert torch.equal(looking._drawn(layouts, GRID, 64), alone)
        assert len(torch.unique(alone, dim=0)) == len(layouts)


def test_void_takes_the_colours_around_it() -> None:
    drawn = torch.zeros(1, 4, 64, 64)
    drawn[:, 0, :, :20] = drawn[:, 3, :, :20] = 1.0  # red on the left
    drawn[:, 2, :, -20:] = drawn[:, 3, :, -20:] = 1.0  # blue on the right
    colour = filled(drawn)
    assert colour[0, 0, :, :20].min() > 0.99
    assert colour[0, 2, :, -20:].min() > 0.99
    assert (colour[0, 0, :, 22] > colour[0, 2, :, 22]).all()
    assert (colour[0, 2, :, 41] > colour[0, 0, :, 41]).all()
    assert torch.isfinite(filled(torch.zeros(1, 4, 64, 64))).all()


def test_a_score_for_every_layout() -> None:
    network = SecondLook(SecondLookConfig(size_px=64)).eval()
    scores = network(torch.rand(3, 4, 64, 64))
    assert scores.shape == (3,)
    assert len(set(scores.tolist())) == 3


def test_it_looks_twice_as_it_is_and_mirrored_and_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Left(SecondLook):
        def forward(self, drawn: torch.Tensor) -> torch.Tensor:
            seen.append(drawn.shape[-1])
            return drawn[:, 0, :, : drawn.shape[-1] // 2].mean(dim=(1, 2))  # red on the left

    monkeypatch.setattr("puzzleflow.solvers.second_look.load_second_look", Left)
    pieces = np.zeros((10, 8, 8, 4), np.uint8)
    pieces[..., 3] = 255
    pieces[0, ..., 0] = 255  # a red one among black ones
    first, last = np.arange(10), np.arange(10)[::-1]
    layouts = [Layout(first), Layout(last)]
    costs = Looking(pieces, weight=10.0).costs(layouts, Grid(1, 10))
    assert seen == [128, 160]
    assert costs == pytest.approx([-1.0, -1.0], abs=0.02)  # each is left once in two looks
    costs = Looking(pieces[:9], weight=9.0).costs([Layout(first[:9]), Layout(last[1:])], Grid(1, 9))
    assert seen == [128, 160, 128]  # few pieces are looked at once
    assert costs == pytest.approx([-2.0, 0.0], abs=0.1)


@pytest.fixture(scope="module")
def picture() -> Puzzle:
    return cut_puzzle(load_sample("harvesters"), Grid(3, 3), "fixed:1", 3, piece_px=96)


def test_a_turned_landscape_is_laid_upright(picture: Puzzle) -> None:
    puzzle = opened(picture, Conditions(turned=True), 1)
    solution = load_solver("relational").prepare(puzzle.without_truth()).solve(seed=0)
    assert solution.turns is not None
    assert solution.turns.tolist() == np.asarray(puzzle.true_turns).tolist()
