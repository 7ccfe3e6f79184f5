from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
import torch

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import RelationalConfig, RelationalNet, Relations
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.layouts import _energies, layout_loss
from puzzleflow.training.relational import RelationalTraining
from puzzleflow.training.stream import PuzzleStream, StreamConfig

NETWORK = RelationalConfig(
    piece_px=32, widths=(8, 12, 16), blocks=(0, 0, 0), side_hidden=16, side_dim=8, dim=24,
    num_heads=3, num_layers=1,
)  # fmt: skip


def relations(grid: Grid, batch: int = 2) -> tuple[Relations, torch.Tensor, torch.Tensor]:
    """Of random logits that want gradients, with logits of positions and a prior."""
    torch.manual_seed(0)
    N = grid.num_pieces
    right, down = (torch.randn(batch, N, N, requires_grad=True) for _ in range(2))
    absent = torch.full((batch, N, 4), float("-inf"))
    frame = torch.randn(batch, N, 4, requires_grad=True)
    place, stray = torch.randn(batch, N, 3), torch.randn(batch, N)
    positions = torch.randn(batch, N, N, requires_grad=True)
    told = Relations(right, down, absent, frame, place, stray)
    return told, positions, -torch.rand(batch, 2, N, N, 3)


@pytest.mark.parametrize("text", ["2x2", "1x4", "2x3"])
def test_its_gradient_is_that_of_the_likelihood_over_all_layouts(text: str) -> None:
    grid = Grid.parse(text)
    N = grid.num_pieces
    told, positions, prior = relations(grid)
    truth = torch.stack([torch.randperm(N) for _ in range(2)])
    wanted = (told.right, told.down, told.frame, positions)
    found = torch.autograd.grad(layout_loss(told, positions, prior, truth, grid), wanted)

    unary, right, down = _energies(told, positions, prior, grid)

    def energy(b: int, position_of: torch.Tensor) -> torch.Tensor:
        at = position_of.argsort()
        seams = [(right, Direction.RIGHT), (down, Direction.DOWN)]
        total = unary[b, torch.arange(N), position_of].sum()
        for seam, direction in seams:
            pairs = torch.from_numpy(grid.neighbours(direction).copy())
            total = total + seam[b, at[pairs[:, 0]], at[pairs[:, 1]]].sum()
        return total

    layouts = [torch.tensor(order) for order in permutations(range(N))]
    surprise = torch.zeros(())
    for b in range(2):
        every = torch.stack([energy(b, layout) for layout in layouts])
        surprise = surprise + energy(b, truth[b]) + torch.logsumexp(-every, 0)
    expected = torch.autograd.grad(surprise / truth.numel(), wanted)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_it_shows_how_surprising_the_true_pieces_are() -> None:
    grid = Grid(2, 2)
    told, positions, prior = relations(grid, batch=1)
    flat = replace(told, right=0 * told.right, down=0 * told.down, frame=0 * told.frame)
    loss = layout_loss(flat, 0 * positions, 0 * prior, torch.tensor([[2, 0, 1, 3]]), grid)
    assert loss.item() == pytest.approx(torch.tensor(4.0).log().item(), abs=1e-3)
    sure = torch.full((1, 4, 4), -60.0)
    sure[0, torch.arange(4), torch.tensor([2, 0, 1, 3])] = 60.0
    loss = layout_loss(flat, sure, 0 * prior, torch.tensor([[2, 0, 1, 3]]), grid)
    assert loss.item() < 1.3


def test_training_with_it_makes_layouts_likelier(pictures: PictureBank, masks: MaskBank) -> None:
    config = StreamConfig(piece_px=32, pieces_per_batch=18, grids={"2x2": 1.0}, with_prior=True)
    batch = PuzzleStream(pictures, masks, config, seed=0).batch(0)
    torch.manual_seed(0)
    network = RelationalNet(NETWORK).eval()
    training = RelationalTraining(layouts=1.0)
    step = torch.optim.Adam(network.parameters(), 2e-3)
    shown = []
    for _ in range(12):
        terms = training.objective(network, batch)
        step.zero_grad()
        terms["layout"].backward()
        step.step()
        shown.append(terms["layout"].item())
    assert shown[-1] < 0.8 * shown[0]
    assert "layout" not in RelationalTraining().objective(network, batch)
    assert "layout" not in training.objective(network, replace(batch, closed=False))
