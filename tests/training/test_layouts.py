from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
import torch

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import RelationalConfig, RelationalNet, Relations
from puzzleflow.solvers.relational_energy import terms_of
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.layouts import CLOSED, OPEN, _energies, layout_loss
from puzzleflow.training.relational import RelationalTraining
from puzzleflow.training.stream import PuzzleStream, StreamConfig

NETWORK = RelationalConfig(
    piece_px=32, widths=(8, 12, 16), blocks=(0, 0, 0), side_hidden=16, side_dim=8, dim=24,
    num_heads=3, num_layers=1,
)  # fmt: skip


def relations(
    grid: Grid, num_candidates: int | None = None, *, closed: bool = True, batch: int = 2
) -> tuple[Relations, Relations, torch.Tensor, torch.Tensor]:
    """Of random logits that want gradients, in context and isolated; positions and a prior."""
    torch.manual_seed(0)
    N = num_candidates or grid.num_pieces
    right, down, alone_right, alone_down = (
        torch.randn(batch, N, N, requires_grad=True) for _ in range(4)
    )
    absent, frame = (torch.randn(batch, N, 4, requires_grad=True) for _ in range(2))
    if closed:
        absent = torch.full((batch, N, 4), float("-inf"))
    place, stray = torch.randn(batch, N, 3), torch.randn(batch, N, requires_grad=True)
    positions = torch.randn(batch, N, grid.num_pieces, requires_grad=True)
    told = Relations(right, down, absent, frame, place, stray)
    alone = replace(told, right=alone_right, down=alone_down)
    return told, alone, positions, -torch.rand(batch, 2, N, N, 3)


WORLDS = {  # grid, turns, truths: the candidate at every cell follows from them
    "2x2": (1, [[2, 0, 1, 3], [0, 1, 2, 3]]),
    "1x4": (1, [[3, 2, 1, 0], [0, 2, 1, 3]]),
    "2x3": (1, [[5, 0, 1, 3, 2, 4], [0, 1, 2, 3, 4, 5]]),
    "2x2 missing": (1, [[2, 0], [3, 1]]),
    "2x2 foreign": (1, [[2, 0, -1, 1, 3], [-1, 0, 1, 2, 3]]),
    "2x2 both": (1, [[-1, 0, 1, 3], [0, 1, -1, 2]]),
    "1x3 turned": (4, [[0, 2, 1]]),
    "1x3 turned, both": (4, [[-1, 2, 0]]),
}


@pytest.mark.parametrize("world", WORLDS)
def test_its_gradient_is_that_of_the_likelihood_over_all_layouts(
    world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("puzzleflow.training.layouts.EFFORT", 30.0)
    grid = Grid.parse(world.split()[0])
    num_turns, positions_of = WORLDS[world]
    closed = "missing" not in world and "foreign" not in world and "both" not in world
    upright = torch.tensor(positions_of)
    B, P, M = len(upright), grid.num_pieces, num_turns * upright.shape[1]
    truth = upright.repeat_interleave(num_turns, dim=1)  # only what is upright is asked for
    num_empty = 0 if closed else P - int((upright[0] >= 0).sum())
    told, alone, positions, prior = relations(grid, M, closed=closed, batch=B)
    wanted = [told.right, told.down, told.frame, alone.right, alone.down]
    wanted += [] if closed else [told.absent, told.stray]
    wanted += [positions] if num_turns == 1 else []
    worlds = {"closed": closed, "num_turns": num_turns}
    loss = layout_loss(told, alone, positions, prior, truth, grid, **worlds)
    found = torch.autograd.grad(loss, wanted)

    empties = None if closed else num_empty
    costs = _energies(told, alone, positions, prior, grid, empties, num_turns)

    def energy(b: int, at: torch.Tensor) -> torch.Tensor:
        unary, *seams = (cost[b] for cost in costs)
        total = unary[at, torch.arange(P)].sum()
        for seam, direction in zip(seams, (Direction.RIGHT, Direction.DOWN), strict=True):
            one, other = torch.from_numpy(grid.neighbours(direction).T.copy())
            total = total + seam[at[one], at[other]].sum()
        return total

    pieces = [c // num_turns if c < M else c for c in range(M + num_empty)]
    surprise = torch.zeros(())
    for b in range(B):
        fixed = next(n for n, at in enumerate(upright[b]) if at >= 0)
        layouts = [
            torch.tensor(at)
            for at in permutations(range(M + num_empty), P)
            if len({pieces[c] for c in at}) == P
            and not any(pieces[c] == fixed and c % num_turns for c in at if c < M)
        ]
        true = torch.full((P,), -1)
        for piece, position in enumerate(upright[b]):
            if position >= 0:
                true[position] = num_turns * piece
        true[true < 0] = M + torch.arange(num_empty)
        every = torch.stack([energy(b, at) for at in layouts])
        surprise = surprise + energy(b, true) + torch.logsumexp(-every, 0)
    expected = torch.autograd.grad(surprise / (B * P), wanted)
    for one, other in zip(found, expected, strict=True):
        largest = float(other.abs().max())
        off = float((one - other).abs().max())
        assert off < 1e-6 + largest * (1e-3 if num_turns == 1 else 0.1)
    assert expected[0].abs().max() > 1e-4


@pytest.mark.parametrize("num_empty", [None, 0, 2])
def test_its_energy_is_that_of_the_solver(num_empty: int | None) -> None:
    grid = Grid(2, 3)
    closed = num_empty is None
    told, alone, positions, prior = relations(grid, closed=closed)
    weights = CLOSED if closed else OPEN
    ours = _energies(told, alone, positions, prior, grid, num_empty)
    with torch.no_grad():
        all_terms = terms_of(told, alone, positions, [*prior.numpy()], closed=closed)
    for b, terms in enumerate(all_terms):
        energy = terms.energy(grid, weights, num_empty)
        for one, other in zip(ours, (energy.unary, energy.right, energy.down), strict=True):
            assert one[b].detach().numpy() == pytest.approx(other, abs=1e-4)


def test_it_shows_how_surprising_the_true_pieces_are() -> None:
    grid = Grid(2, 2)
    told, _, positions, prior = relations(grid, batch=1)
    flat = replace(told, right=0 * told.right, down=0 * told.down, frame=0 * told.frame)
    loss = layout_loss(flat, flat, 0 * positions, 0 * prior, torch.tensor([[2, 0, 1, 3]]), grid)
    assert loss.item() == pytest.approx(torch.tensor(4.0).log().item(), abs=1e-3)
    sure = torch.full((1, 4, 4), -60.0)
    sure[0, torch.arange(4), torch.tensor([2, 0, 1, 3])] = 60.0
    loss = layout_loss(flat, flat, sure, 0 * prior, torch.tensor([[2, 0, 1, 3]]), grid)
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
    for world in ({"open_share": 1.0}, {"turned_share": 1.0}):
        other = PuzzleStream(pictures, masks, replace(config, **world), seed=0).batch(0)
        assert training.objective(network, other)["layout"].item() > 0
