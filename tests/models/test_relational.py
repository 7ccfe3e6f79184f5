import pytest
import torch

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.conv_encoder import void_widths
from puzzleflow.models.pixels import standardised, to_tensor
from puzzleflow.models.relational import (
    PRIOR_FEATURES,
    ContextLayer,
    RelationalConfig,
    RelationalNet,
    World,
    _best_candidates,
)

SMALL = RelationalConfig(
    piece_px=32, widths=(8, 12, 16), blocks=(0, 1, 0), side_hidden=16, side_dim=8, dim=24,
    num_heads=3, num_layers=2,
)  # fmt: skip


def prior_of(num_puzzles: int, N: int) -> torch.Tensor:
    return -torch.rand(num_puzzles, 2, N, N, PRIOR_FEATURES)


@pytest.fixture
def network() -> RelationalNet:
    torch.manual_seed(3)
    network = RelationalNet(SMALL)
    for layer in network.layers:  # type: ignore[union-attr]
        torch.nn.init.normal_(layer.of_type)
        torch.nn.init.normal_(layer.of_same_piece)
    return network.eval()


@pytest.mark.parametrize("text", ["1x1", "1x4", "2x3", "3x3"])
def test_every_grid_gets_relations_of_its_size(network: RelationalNet, text: str) -> None:
    grid = Grid.parse(text)
    N = grid.num_pieces
    in_context, isolated = network(torch.rand(2, N, 4, 32, 32), prior_of(2, N), World(grid))
    for relations in (in_context, isolated):
        assert relations.right.shape == relations.down.shape == (2, N, N)
        assert relations.absent.shape == relations.frame.shape == (2, N, 4)
        assert relations.side_logits(Direction.UP).shape == (2, N, N + 2)
        assert relations.stray.shape == (2, N)
    assert network.positions(in_context, grid).shape == (2, N, N)
    assert network.positions(in_context, Grid(4, 5)).shape == (2, N, 20)


def test_nothing_is_absent_from_a_closed_world(network: RelationalNet) -> None:
    pixels, prior = torch.rand(1, 4, 4, 32, 32), prior_of(1, 4)
    with torch.no_grad():
        closed, _ = network(pixels, prior, World(Grid(2, 2)))
        opened, _ = network(pixels, prior, World(Grid(2, 2), closed=False))
        hidden, _ = network(pixels, prior, World(None))
    assert torch.isneginf(closed.absent).all()
    assert opened.absent.isfinite().all()
    assert not torch.allclose(closed.frame, opened.frame)  # the network is told
    assert not torch.allclose(closed.frame, hidden.frame)


def test_what_the_network_is_told_of_the_world() -> None:
    assert World(Grid(2, 4)).features(8) == [0.2, 0.4, 0.5, 0.25, 0.0, 0.0, 0.0]
    assert World(Grid(2, 4), closed=False).features(6) == [0.2, 0.4, 0.5, 0.25, 1.0, 0.0, 0.75]
    assert World(None, closed=False).features(6) == [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]


def test_shuffling_the_pieces_shuffles_the_relations(network: RelationalNet) -> None:
    grid = Grid(2, 3)
    pixels, prior = torch.rand(1, 6, 4, 32, 32), prior_of(1, 6)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    with torch.no_grad():
        plain, _ = network(pixels, prior, World(grid, closed=False))
        mixed, _ = network(
            pixels[:, order], prior[:, :, order][:, :, :, order], World(grid, closed=False)
        )
    torch.testing.assert_close(mixed.right, plain.right[:, order][:, :, order])
    torch.testing.assert_close(mixed.down, plain.down[:, order][:, :, order])
    for name in ("absent", "frame", "place", "stray"):
        torch.testing.assert_close(getattr(mixed, name), getattr(plain, name)[:, order])


def test_side_logits_face_each_other(network: RelationalNet) -> None:
    with torch.no_grad():
        relations, _ = network(
            torch.rand(1, 4, 4, 32, 32), prior_of(1, 4), World(Grid(2, 2), closed=False)
        )
    right = relations.side_logits(Direction.RIGHT)
    left = relations.side_logits(Direction.LEFT)
    assert right[0, 1, 2] == left[0, 2, 1] == relations.right[0, 1, 2]
    assert right[0, 1, 4] == relations.absent[0, 1, Direction.RIGHT]
    assert right[0, 1, 5] == relations.frame[0, 1, Direction.RIGHT]
    assert torch.isneginf(right[0, 2, 2])  # no piece lies beside itself


def test_context_matters(network: RelationalNet) -> None:
    """The same two pieces are judged differently among other pieces."""
    pixels = torch.rand(1, 4, 4, 32, 32)
    other = pixels.clone()
    other[:, 3] = torch.rand(1, 4, 32, 32)
    prior = prior_of(1, 4)
    with torch.no_grad():
        first, second = (network(p, prior, World(Grid(2, 2)))[0] for p in (pixels, other))
    assert not torch.allclose(first.right[0, 0, 1], second.right[0, 0, 1])


def test_a_side_sees_its_cheapest_candidates() -> None:
    prior = torch.zeros(1, 2, 4, 4, PRIOR_FEATURES)
    prior[0, 0, 1, :, 2] = torch.tensor([0.9, 0.0, 0.2, 0.5])  # right of piece 1: 2, then 3, then 0
    prior[0, 0, 1, :, 0] = torch.tensor([-5.0, 0.0, -1.0, -3.0])
    best = _best_candidates(prior)[0, 1, Direction.RIGHT].view(3, PRIOR_FEATURES)
    assert best[:, 2].tolist() == pytest.approx([0.2, 0.5, 0.9])
    assert best[:, 0].tolist() == [-1.0, -3.0, -5.0]
    left = _best_candidates(prior)[0, 2, Direction.LEFT].view(3, PRIOR_FEATURES)
    assert left[:, 2].tolist() == pytest.approx([0.0, 0.0, 0.2])  # piece 1 is its dearest
    alone = _best_candidates(torch.zeros(1, 2, 1, 1, PRIOR_FEATURES))[0, 0, 0]
    assert alone.view(3, PRIOR_FEATURES)[:, 2].tolist() == [3.0, 3.0, 3.0]


def test_void_widths_of_a_hand_made_piece() -> None:
    alpha = torch.zeros(1, 8, 8)
    alpha[:, 2:7, 1:5] = 1.0  # void: 2 rows above, 1 below, 1 column left, 3 right
    widths = void_widths(alpha, 8)[0]
    assert widths[Direction.RIGHT].tolist() == pytest.approx([1, 1] + [3 / 8] * 5 + [1])
    assert widths[Direction.LEFT].tolist() == pytest.approx([1, 1] + [1 / 8] * 5 + [1])
    assert widths[Direction.UP].tolist() == pytest.approx([1] + [2 / 8] * 4 + [1] * 3)
    assert widths[Direction.DOWN].tolist() == pytest.approx([1] + [1 / 8] * 4 + [1] * 3)


def test_to_tensor_keeps_void_out_of_the_average() -> None:
    import numpy as np

    piece = np.zeros((1, 4, 4, 4), np.uint8)
    piece[:, :, :2] = 255  # white material in the left half
    piece[:, :, 2:, :3] = 90  # colour below alpha 0 must not be seen
    pixels = to_tensor(piece, 2)  # (1, 4, 2, 2)
    assert pixels[0, :, 0, 0].tolist() == [1, 1, 1, 1]
    assert pixels[0, :, 0, 1].tolist() == [0, 0, 0, 0]


def test_standardised_ignores_tone() -> None:
    torch.manual_seed(0)
    alpha = (torch.rand(1, 4, 1, 16, 16) > 0.3).float()
    colour = torch.rand(1, 4, 3, 16, 16)
    pale = torch.cat([(0.6 + 0.3 * colour) * alpha, alpha], dim=2)
    full = torch.cat([colour * alpha, alpha], dim=2)
    difference = standardised(pale)[:, :, 4:] - standardised(full)[:, :, 4:]
    assert difference.abs().max() < 0.5 < standardised(full)[:, :, 4:].abs().max()
    assert (standardised(full) * (1 - alpha)).abs().max() == 0  # void stays void


@torch.inference_mode()
def test_attention_in_blocks_is_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = ContextLayer(24, num_heads=3, dropout=0.0).eval()
    for bias in (layer.of_type, layer.of_same_piece, layer.of_seam):
        torch.nn.init.normal_(bias)
    tokens, seams = torch.randn(2, 35, 24), torch.randn(2, 35, 35)  # seven pieces
    whole = layer(tokens, seams)
    monkeypatch.setattr("puzzleflow.models.relational.ATTENDING", 3)
    assert torch.allclose(layer(tokens, seams), whole, atol=1e-5)
