"""DiffAssemble in the open world: nodes that are not there, and turns beside positions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_rivals import tiny_config, tiny_network, trainable

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.rng import child_rng
from puzzleflow.evaluation.worker import checked
from puzzleflow.generation.builder import opened
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.solvers.registry import load_solver
from puzzleflow.solvers.rivals.diffassemble import TURNS, plane, turned
from puzzleflow.training.rivals import DiffAssembleTraining
from puzzleflow.training.stream import Batch

GRID = Grid(3, 3)


def puzzle(conditions):
    rng = child_rng(0, "diffassemble")
    pieces = rng.integers(0, 256, (9, 16, 16, 4), dtype=np.uint8)
    return opened(Puzzle(pieces, GRID, truth=rng.permutation(9)), conditions, 0).without_truth()


def solver(folder, **changes):
    config = replace(tiny_config("diffassemble"), **changes)
    network = tiny_network("diffassemble", config)
    described = {"kind": "diffassemble", "network": config.to_dict()}
    path = folder / "weights.safetensors"
    save_weights(path, network.state_dict(), described, dtype="float16")
    return load_solver("diffassemble", weights=path)


def sloping(num_puzzles, seed, px=16):
    """Puzzles whose colour tells place and turn: red grows downwards, green to the right."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.stack([torch.randperm(9, generator=generator) for _ in range(num_puzzles)])
    y, x = torch.meshgrid(torch.arange(3 * px), torch.arange(3 * px), indexing="ij")
    picture = torch.stack([y / (3 * px), x / (3 * px), 0 * y + 0.5, 0 * y + 1.0])
    cells = picture.unflatten(1, (3, px)).unflatten(3, (3, px)).permute(1, 3, 0, 2, 4)
    return cells.flatten(0, 1)[truth], truth


def test_turning_pieces_by_hand():
    pixels = torch.arange(2 * 3 * 1 * 4).view(2, 3, 1, 2, 2)
    turns = torch.tensor([[0, 1, 2], [3, 0, 1]])
    found = turned(pixels, turns)
    for b in range(2):
        for n in range(3):
            assert (found[b, n, 0].numpy() == np.rot90(pixels[b, n, 0], turns[b, n])).all()
    assert torch.equal(turned(found, -turns), pixels)


def test_missing_pieces_are_nodes_that_are_not_there(tmp_path):
    asked = puzzle(Conditions(missing=2))
    session = solver(tmp_path).prepare(asked)
    solution = checked(session.solve(seed=0, pinned={4: 8}, forbidden=[(0, 1)]), asked)
    assert solution.grid == GRID
    assert solution.turns is None
    assert solution.position_of[4] == 8
    assert solution.position_of[0] != 1
    assert (solution.position_of >= 0).all()
    assert solution.position_prob.shape == (7, 9)


def test_turns_are_told_by_weights_that_know_them(tmp_path):
    both = puzzle(Conditions(turned=True, missing=1))
    solution = checked(solver(tmp_path, turned=True).prepare(both).solve(seed=0), both)
    assert set(solution.turns.tolist()) <= {0, 1, 2, 3}
    closed = solver(tmp_path, turned=True).prepare(puzzle(Conditions())).solve(seed=0)
    assert closed.turns is None
    assert closed.grid is None
    with pytest.raises(CannotSolve, match="train with --turned"):
        solver(tmp_path).prepare(both)


@pytest.mark.parametrize("conditions", [Conditions(hidden=True), Conditions(foreign=1)], ids=str)
def test_other_worlds_are_refused(tmp_path, conditions):
    strange = replace(puzzle(Conditions()), conditions=conditions)
    with pytest.raises(CannotSolve, match="every piece that it is given"):
        solver(tmp_path, turned=True).prepare(strange)


def test_a_walk_that_knows_the_truth_arrives():
    network = tiny_network("diffassemble", replace(tiny_config("diffassemble"), turned=True))
    truth, turns = np.array([3, 0, 8, 5]), np.array([0, 3, 1, 2])  # of nine cells
    values = torch.cat([plane(GRID)[truth], TURNS[turns]], dim=1)
    network.clean_at = lambda features, x_t, t: values[None].clone()
    found = network.layout(torch.zeros(4, 1), GRID, np.ones((4, 9), dtype=bool), 0)
    assert found.position_of.tolist() == truth.tolist()
    assert found.turns.tolist() == turns.tolist()


def test_options_of_the_training_reach_the_weights():
    made = DiffAssembleTraining(turned=True, missing=0.4)
    config = made.fitted(tiny_config("diffassemble"), [GRID])
    assert (config.turned, config.missing, config.values) == (True, 0.4, 4)
    assert type(config).from_dict(config.to_dict()) == config
    network = made.network(config)
    pixels, truth = sloping(2, seed=0)
    terms = network.loss(pixels, truth, GRID)
    terms["loss"].backward()
    assert all(p.grad is not None for p in network.parameters())
    batch = Batch((255 * pixels).byte(), truth, GRID)
    assert made.validate(network, [batch]) == made.validate(network, [batch])
    with pytest.raises(InputError, match="missing"):
        replace(config, missing=1.0)


def test_upright_training_draws_what_it_drew():
    network, (pixels, truth) = tiny_network("diffassemble"), sloping(2, seed=0)
    torch.manual_seed(0)
    network.loss(pixels, truth, GRID)
    after = torch.rand(3)
    torch.manual_seed(0)
    torch.randint(network.config.times, (2 * network.config.states,))
    torch.randn(2 * network.config.states, 9, 2)
    assert torch.equal(torch.rand(3), after)


@pytest.mark.slow
def test_it_learns_turns_where_colour_tells_them():
    config = replace(
        tiny_config("diffassemble+"), turned=True, missing=0.3, dim=32, layers=2, grids=("3x3",)
    )
    network = trainable("diffassemble+").network(config)
    optimizer = torch.optim.AdamW(network.parameters(), lr=4e-3)
    torch.manual_seed(0)
    right = []
    for step in range(400):
        terms = network.loss(*sloping(16, seed=step), GRID)
        optimizer.zero_grad()
        terms["loss"].backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        right.append(float(terms["right"]))
    assert np.mean(right[-20:]) > 0.6  # chance: 0.03
