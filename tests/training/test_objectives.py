import torch

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import Relations
from puzzleflow.training.objectives import neighbour_targets, position_loss, side_loss


def test_neighbours_of_a_hand_made_layout() -> None:
    # pieces 0..5 on a 2x3 grid:   2 0 5
    #                              1 4 3
    position_of = torch.tensor([[1, 3, 0, 5, 4, 2]])
    grid, none = Grid(2, 3), 6

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
    relations = Relations(right, down, none, torch.zeros(1, 4, 4))
    assert side_loss(relations, truth, grid) < 1e-6
    assert side_loss(relations, torch.tensor([[1, 0, 2, 3]]), grid) > 10


def test_position_loss_prefers_the_truth() -> None:
    logits = 20 * torch.eye(4)[[2, 0, 3, 1]][None]
    assert position_loss(logits, torch.tensor([[2, 0, 3, 1]])) < 1e-6
    assert position_loss(logits, torch.tensor([[0, 1, 2, 3]])) > 5
