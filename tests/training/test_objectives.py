import torch

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import Relations
from puzzleflow.training.objectives import (
    neighbour_targets,
    position_loss,
    relational_loss,
    side_loss,
)


def test_neighbours_of_a_hand_made_layout() -> None:
    # pieces 0..5 on a 2x3 grid:   2 0 5
    #                              1 4 3
    position_of = torch.tensor([[1, 3, 0, 5, 4, 2]])
    grid, none = Grid(2, 3), 7

    def beyond(direction: Direction) -> list[int]:
        return neighbour_targets(position_of, grid, direction)[0].tolist()

    assert beyond(Direction.RIGHT) == [5, 4, 0, none, 3, none]
    assert beyond(Direction.LEFT) == [2, none, none, 4, 1, 0]
    assert beyond(Direction.DOWN) == [4, none, 1, none, none, 3]
    assert beyond(Direction.UP) == [none, 2, none, 5, 0, none]


def test_true_relations_cost_nothing_and_wrong_ones_do() -> None:
    grid = Grid(2, 2)
    truth = torch.tensor([[0, 1, 2, 3]])
    right, down, none = torch.zeros(1, 4, 4), torch.zeros(1, 4, 4), torch.zeros(1, 4, 4)
    right[0, 0, 1] = right[0, 2, 3] = down[0, 0, 2] = down[0, 1, 3] = 50.0
    for direction in Direction:
        none[0, torch.from_numpy(grid.on_frame(direction).copy()), direction] = 50.0
    nothing = torch.zeros(1, 4, 4)
    relations = Relations(right, down, nothing, none, nothing, torch.zeros(1, 4), nothing)
    assert side_loss(relations, truth, grid) < 1e-6
    assert side_loss(relations, torch.tensor([[1, 0, 2, 3]]), grid) > 10


def test_position_loss_prefers_the_truth() -> None:
    logits = 20 * torch.eye(4)[[2, 0, 3, 1]][None]
    assert position_loss(logits, torch.tensor([[2, 0, 3, 1]])) < 1e-6
    assert position_loss(logits, torch.tensor([[0, 1, 2, 3]])) > 5


def test_neighbours_where_pieces_are_missing_and_foreign() -> None:
    # 2x2 with two pieces gone; pieces 0, 1, 2 lie at 3, nowhere, 1:   . 2
    #                                                                  . 0
    position_of = torch.tensor([[3, -1, 1]])
    absent, frame = 3, 4

    def beyond(direction: Direction) -> list[int]:
        return neighbour_targets(position_of, Grid(2, 2), direction)[0].tolist()

    assert beyond(Direction.RIGHT) == [frame, absent, frame]
    assert beyond(Direction.LEFT) == [absent, absent, absent]
    assert beyond(Direction.UP) == [2, absent, frame]
    assert beyond(Direction.DOWN) == [frame, absent, 0]


def test_positions_of_strangers_are_not_asked() -> None:
    logits = torch.zeros(1, 3, 4)
    logits[0, 0, 3] = logits[0, 2, 1] = 20.0
    known = position_loss(logits, torch.tensor([[3, -1, 1]]))
    logits[0, 1] = torch.tensor([7.0, 0.0, -3.0, 0.0])  # whatever is said of the stranger
    assert position_loss(logits, torch.tensor([[3, -1, 1]])) == known
    assert position_loss(logits, torch.tensor([[-1, -1, -1]])) == 0.0


def test_strangers_and_turned_puzzles_have_losses_of_their_own() -> None:
    B, N, grid = 2, 4, Grid(2, 2)
    zeros = torch.zeros(B, N, N)
    stray = torch.tensor([[9.0, -9.0, -9.0, -9.0], [-9.0, -9.0, -9.0, -9.0]])
    turn = torch.zeros(B, N, 4)
    turn[1, :, 2] = 30.0
    turn[0, :, 0] = 30.0
    relations = Relations(zeros, zeros, zeros, zeros, zeros, stray, turn)
    truth = torch.tensor([[-1, 1, 2, 3], [0, 1, 2, 3]])
    turned = torch.tensor([0, 2])
    terms = relational_loss(relations, relations, zeros, truth, grid, closed=False, turned=turned)
    assert terms["stray"] < 1e-3
    assert terms["turn"] < 1e-6
    other = relational_loss(
        relations, relations, zeros, truth.flip(1), grid, closed=False, turned=turned.flip(0)
    )
    assert other["stray"] > 1
    assert other["turn"] > 10
    plain = relational_loss(relations, relations, zeros, truth.clamp_min(0), grid)
    assert set(plain) == {"loss", "side", "pair", "position"}
