"""Side embeddings: shapes, the canonical attitude, and what it makes equal."""

import pytest
import torch

from puzzleflow.core.grid import Direction
from puzzleflow.models.conv_encoder import void_widths
from puzzleflow.models.edge_embedding import (
    EdgeConfig,
    EdgeEmbedding,
    canonical,
    side_distances,
)

TINY = EdgeConfig(
    piece_px=32, widths=(6, 8, 10), blocks=(0, 0, 0), side_hidden=8, side_dim=4, embedding_dim=8
)


@pytest.fixture
def network():
    torch.manual_seed(0)
    return EdgeEmbedding(TINY).eval()


@pytest.fixture
def pixels():
    """Two puzzles of three pieces with uneven void on all sides."""
    rng = torch.Generator().manual_seed(1)
    pixels = torch.rand(2, 3, 4, 32, 32, generator=rng)
    pixels[:, :, 3] = 0
    pixels[:, :, 3, 2:29, 5:30] = 1
    pixels[:, :, 3, 2:9, 5:12] = 0
    pixels[:, :, :3] *= pixels[:, :, 3:]
    return pixels


def test_one_unit_vector_a_side(network, pixels):
    embedded = network(pixels)
    assert embedded.shape == (2, 3, 4, 8)
    assert torch.allclose(embedded.norm(dim=-1), torch.ones(2, 3, 4), atol=1e-5)


def test_chosen_sides_are_those_of_all(network, pixels):
    some = network(pixels, (Direction.DOWN, Direction.UP))
    assert torch.allclose(some, network(pixels)[:, :, [Direction.DOWN, Direction.UP]], atol=1e-5)


def test_the_side_comes_to_the_right_and_runs_downwards():
    piece = torch.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert canonical(piece, Direction.RIGHT)[:, -1].tolist() == [3, 6, 9]
    assert canonical(piece, Direction.LEFT)[:, -1].tolist() == [1, 4, 7]
    assert canonical(piece, Direction.UP)[:, -1].tolist() == [1, 2, 3]
    assert canonical(piece, Direction.DOWN)[:, -1].tolist() == [7, 8, 9]
    assert canonical(piece, Direction.DOWN)[0].tolist() == [1, 4, 7]  # inwards to the left


def test_void_widths_run_as_the_canonical_side_does(pixels):
    alpha = pixels[0, :, 3]
    for side in Direction:
        turned = canonical(alpha, side)
        assert torch.equal(
            void_widths(turned, 4)[:, Direction.RIGHT], void_widths(alpha, 4)[:, side]
        )


def test_a_quarter_turn_takes_embeddings_to_the_next_side(network, pixels):
    """Clockwise: top becomes right, bottom becomes left, running the same way."""
    embedded = network(pixels)
    turned = network(pixels.rot90(-1, dims=(-2, -1)))
    for before, after in ((Direction.UP, Direction.RIGHT), (Direction.DOWN, Direction.LEFT)):
        assert torch.allclose(embedded[:, :, before], turned[:, :, after], atol=1e-5)
    flipped_then_turned = network(pixels.flip(-2).rot90(-1, dims=(-2, -1)))  # = transposed
    for before, after in (
        (Direction.RIGHT, Direction.DOWN),
        (Direction.DOWN, Direction.RIGHT),
        (Direction.LEFT, Direction.UP),
        (Direction.UP, Direction.LEFT),
    ):
        assert torch.allclose(embedded[:, :, before], flipped_then_turned[:, :, after], atol=1e-5)


def test_a_mirrored_piece_has_the_facing_side(network, pixels):
    """What makes "same embedding" the target of a true seam."""
    mirrored = network(pixels.flip(-1))
    embedded = network(pixels)
    assert torch.allclose(
        mirrored[:, :, Direction.LEFT], embedded[:, :, Direction.RIGHT], atol=1e-5
    )
    assert not torch.allclose(mirrored[:, :, Direction.UP], embedded[:, :, Direction.UP], atol=1e-3)


def test_a_side_does_not_see_the_far_end_of_its_piece(network, pixels):
    changed = pixels.clone()  # three of four tokens are 24 px: columns 8 to 31 for the right side
    changed[0, 0, :3, 10:20, 5:8] = changed[0, 0, :3, 10:20, 5:8].flip(-1)
    assert changed.sum() == pytest.approx(float(pixels.sum()), rel=1e-5)
    before, after = network(pixels), network(changed)
    assert torch.allclose(before[0, 0, Direction.RIGHT], after[0, 0, Direction.RIGHT], atol=1e-5)
    assert not torch.allclose(before[0, 0, Direction.LEFT], after[0, 0, Direction.LEFT], atol=1e-5)


def test_distances_by_hand():
    first = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    distances = side_distances(first, torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8]]))
    assert torch.allclose(
        distances, torch.tensor([[0.0, 2.0, 0.8**0.5], [2**0.5, 2**0.5, 0.4**0.5]]), atol=1e-3
    )


def test_the_slope_at_no_distance_is_finite():
    vector = torch.tensor([[0.6, 0.8]], requires_grad=True)
    side_distances(vector, vector).sum().backward()
    assert torch.isfinite(vector.grad).all()


def test_config_survives_json():
    assert EdgeConfig.from_dict({**TINY.to_dict(), "widths": list(TINY.widths)}) == TINY
