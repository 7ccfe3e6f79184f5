from dataclasses import replace

import pytest
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.outline_strips import DEPTH, OutlineDescriptor, outline_pixels
from puzzleflow.models.relational import RelationalConfig, RelationalNet, World

SMALL = RelationalConfig(
    piece_px=32, widths=(8, 12, 16), blocks=(0, 1, 0), side_hidden=16, side_dim=8, dim=24,
    num_heads=3, num_layers=2, outline_px=64, outline_dim=4,
)  # fmt: skip


def pieces(count: int, side: int, seed: int = 0) -> torch.Tensor:
    """(1, N, 4, S, S) premultiplied, with void of another width before every line."""
    draw = torch.Generator().manual_seed(seed)
    pixels = torch.rand(1, count, 4, side, side, generator=draw)
    void = torch.randint(0, side // 4, (4, count, side), generator=draw)
    at = torch.arange(side)
    alpha = torch.ones(count, side, side)
    alpha *= (at >= void[0, :, :, None]) & (at < side - void[1, :, :, None])
    alpha *= (at[:, None] >= void[2, :, None]) & (at[:, None] < side - void[3, :, None])
    pixels[:, :, 3] = alpha
    pixels[:, :, :3] *= alpha[:, None]
    return pixels


def test_the_outermost_pixels_of_a_piece_of_sixteen() -> None:
    alpha = torch.tensor([[[0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0]]]).float()
    index, void, solid = outline_pixels(alpha)
    assert index.shape == (1, 4, DEPTH, 4)
    assert solid[0].tolist() == [[0, 1, 1, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 1, 0]]
    assert (4 * void[0]).tolist() == [[0, 1, 1, 1], [1, 1, 0, 0], [0, 1, 0, 2], [2, 1, 1, 0]]
    outermost = index[0, :, 0]
    assert outermost[Direction.RIGHT, 1:].tolist() == [4 + 2, 8 + 2, 12 + 2]
    assert outermost[Direction.DOWN, :3].tolist() == [8, 8 + 1, 12 + 2]
    assert outermost[Direction.LEFT, 1:].tolist() == [4 + 1, 8, 12 + 2]
    assert outermost[Direction.UP, :3].tolist() == [8, 4 + 1, 4 + 2]
    assert index[0, Direction.RIGHT, :, 2].tolist() == [10, 9, 8, 8, 8, 8]  # no further than there is


def test_a_turned_piece_has_the_same_outlines_on_other_sides() -> None:
    pixels = pieces(3, 24)[0]
    turned = pixels.rot90(1, (2, 3))  # against the clock: what was right is up

    def strips(shown: torch.Tensor) -> torch.Tensor:  # (N, 4 channels, 4, DEPTH, S)
        index, _, _ = outline_pixels(shown[:, 3])
        chosen = index.flatten(1)[:, None].expand(-1, 4, -1)
        return shown.flatten(2).gather(2, chosen).view(len(shown), 4, 4, DEPTH, -1)

    before, after = strips(pixels), strips(turned)
    assert torch.equal(after[:, :, Direction.UP], before[:, :, Direction.RIGHT])
    assert torch.equal(after[:, :, Direction.DOWN], before[:, :, Direction.LEFT])
    assert torch.equal(after[:, :, Direction.LEFT], before[:, :, Direction.UP].flip(-1))


def test_what_lies_deeper_is_not_seen() -> None:
    descriptor = OutlineDescriptor(4).eval()
    pixels = torch.cat([torch.rand(1, 4, 3, 32, 32), torch.ones(1, 4, 1, 32, 32)], dim=2)
    changed = pixels.clone()
    changed[..., DEPTH:-DEPTH, DEPTH:-DEPTH] = 0.5
    with torch.no_grad():
        assert torch.allclose(descriptor(pixels), descriptor(changed))
        changed[..., 1, 9] = 0.0
        assert not torch.allclose(descriptor(pixels), descriptor(changed))


def test_pieces_without_material_are_described_by_numbers() -> None:
    with torch.no_grad():
        assert OutlineDescriptor(4)(torch.zeros(1, 2, 4, 32, 32)).isfinite().all()


def test_a_network_that_sees_outlines_relates_any_grid() -> None:
    torch.manual_seed(0)
    network = RelationalNet(SMALL).eval()
    assert SMALL.input_px == 64
    shown = pieces(6, 64)
    prior = -torch.rand(1, 2, 6, 6, 3)
    with torch.no_grad():
        relations, _ = network(shown, prior, World(Grid(2, 3)))
        sharper = shown.clone()
        sharper[:, :, :3, ::2] *= 0.9  # what the encoder's half of the size hardly tells
        other, _ = network(sharper, prior, World(Grid(2, 3)))
    assert relations.right.shape == (1, 6, 6)
    assert not torch.allclose(relations.right, other.right)


@pytest.mark.parametrize("px", [48, 100, 4096])
def test_sizes_that_do_not_fit(px: int) -> None:
    with pytest.raises(InputError, match="outline_px"):
        replace(SMALL, outline_px=px)
