from dataclasses import replace

import torch

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import Relations
from puzzleflow.training.relational import (
    neighbour_targets,
    position_loss,
    relational_loss,
    side_loss,
    turned_targets,
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
    relations = Relations(right, down, nothing, none, nothing, torch.zeros(1, 4))
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


def test_in_all_turns_neighbours_are_turned_alike() -> None:
    # pieces 0 and 1 side by side; turned once against the clock 1 lies above 0
    position_of = torch.tensor([[0, 1, 1, 0, 1, 0, 0, 1]])  # piece 0 in four turns, then piece 1
    grid, frame = Grid(1, 2), 9

    def beyond(direction: Direction) -> list[int]:
        return turned_targets(position_of, grid, direction, 4)[0].tolist()

    assert beyond(Direction.RIGHT) == [4, frame, frame, frame, frame, frame, 2, frame]
    assert beyond(Direction.UP) == [frame, 5, frame, frame, frame, frame, frame, 3]
    assert beyond(Direction.LEFT) == [frame, frame, 6, frame, 0, frame, frame, frame]
    assert beyond(Direction.DOWN) == [frame, frame, frame, 7, frame, 1, frame, frame]
    one = turned_targets(position_of[:, ::4], grid, Direction.RIGHT, 1)
    assert torch.equal(one, neighbour_targets(position_of[:, ::4], grid, Direction.RIGHT))


def test_turns_of_one_piece_never_touch() -> None:
    nothing = torch.zeros(1, 8, 8)
    relations = Relations(
        nothing, nothing, *(nothing[:, :, :4],) * 3, nothing[:, :, 0]
    ).between_pieces(4)
    assert torch.isinf(relations.right[0, :4, :4]).all()
    assert torch.isfinite(relations.down[0, :4, 4:]).all()


def test_strangers_have_a_loss_of_their_own_and_only_upright_pieces_a_position() -> None:
    B, N, grid = 2, 4, Grid(1, 1)
    zeros, places = torch.zeros(B, N, N), torch.zeros(B, N, 1)
    stray = torch.tensor([[9.0] * 4, [-9.0] * 4])
    relations = Relations(zeros, zeros, zeros, zeros, zeros, stray)
    truth = torch.tensor([[-1] * 4, [0] * 4])  # a stranger in all turns; a piece in all turns

    def terms(stray: torch.Tensor, places: torch.Tensor) -> dict[str, torch.Tensor]:
        said = replace(relations, stray=stray)
        return relational_loss(said, said, places, truth, grid, closed=False, num_turns=4)

    assert terms(stray, places)["stray"] < 1e-3
    assert terms(stray.flip(0), places)["stray"] > 1
    upright, upside_down = places.clone(), places.clone()
    upright[1, 0], upside_down[1, 2] = 30.0, 30.0
    assert terms(stray, upright)["position"] < 1e-6
    assert terms(stray, upside_down)["position"] > 10
    plain = relational_loss(relations, relations, zeros, truth.clamp_min(0), Grid(2, 2))
    assert set(plain) == {"loss", "side", "pair", "position"}
