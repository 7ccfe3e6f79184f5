"""Triplets by hand, and training of side embeddings that goes on exactly."""

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from puzzleflow.core.grid import Grid
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.models.edge_embedding import EdgeConfig, EdgeEmbedding
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.edge_embedding import (
    SOFTNESS,
    EdgeTraining,
    neighbour_ranks,
    rank_figures,
    triplet_loss,
)
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.stream import Batch, PuzzleStream, StreamConfig
from puzzleflow.training.trainable import batches_of, save_trained, trainer_of

NETWORK = EdgeConfig(
    piece_px=32, widths=(8, 12, 16), blocks=(0, 0, 0), side_hidden=16, side_dim=8, embedding_dim=16
)
STREAM = StreamConfig(piece_px=32, pieces_per_batch=18, grids={"2x2": 1.0, "3x3": 1.0})
SETTINGS = LoopSettings(steps=6, warmup=0.3, validate_every=3, log_every=1)


@pytest.fixture
def stream(pictures: PictureBank, masks: MaskBank) -> PuzzleStream:
    return PuzzleStream(pictures, masks, STREAM, seed=0)


def trainer_in(
    folder: Path, stream: PuzzleStream, settings: LoopSettings = SETTINGS
) -> Trainer[Batch]:
    return trainer_of(
        EdgeTraining(),
        NETWORK,
        settings,
        folder,
        validation=lambda: list(stream.validation(Grid(2, 2), 4)),
    )


def batches(
    stream: PuzzleStream, settings: LoopSettings = SETTINGS
) -> Callable[[int], Iterable[Batch]]:
    return batches_of(stream, EdgeTraining(), NETWORK, settings)


def test_triplets_are_hard_in_the_last_quarter(stream: PuzzleStream) -> None:
    settings = replace(SETTINGS, steps=8)
    drawn = [
        EdgeTraining().prepared(stream.batch(number), NETWORK, settings) for number in range(8)
    ]
    assert [batch.softness for batch in drawn] == [SOFTNESS] * 6 + [0.0] * 2


# three pieces in a row, 0 1 2: seams 0→1 and 1→2; the diagonal must never count
DISTANCES = torch.tensor([[[0.0, 0.5, 0.6], [0.9, 0.0, 0.3], [1.0, 0.4, 0.0]]])
TARGETS = torch.tensor([[1, 2, 3]])


def test_hard_triplets_by_hand() -> None:
    terms = triplet_loss(DISTANCES, TARGETS)
    # 0→1 (0.5): other rights of 0: 0.6; other lefts of 1: 0.4 → 0.1 and 0.3
    # 1→2 (0.3): other rights of 1: 0.9; other lefts of 2: 0.6 → 0 and 0
    assert float(terms["loss"]) == pytest.approx((0.1 + 0.0 + 0.3 + 0.0) / 4)
    assert float(terms["first"]) == pytest.approx(3 / 4)
    assert float(terms["true"]) == pytest.approx(0.4)


def test_smooth_triplets_by_hand() -> None:
    terms = triplet_loss(DISTANCES, TARGETS, softness=0.1)
    excess = [0.1, -0.4, 0.3, -0.1]  # one stranger each, margin added
    by_hand = [0.1 * math.log(1 + math.exp(e / 0.1)) for e in excess]
    assert float(terms["loss"]) == pytest.approx(sum(by_hand) / 4, rel=1e-5)


def test_smooth_triplets_become_hard() -> None:
    distances = torch.rand(4, 9, 9, generator=torch.Generator().manual_seed(0))
    targets = torch.stack([torch.arange(1, 10)] * 4)
    hard = float(triplet_loss(distances, targets)["loss"])
    assert float(triplet_loss(distances, targets, 1e-4)["loss"]) == pytest.approx(hard, abs=1e-3)
    assert float(triplet_loss(distances, targets, SOFTNESS)["loss"]) > hard


def test_resumed_training_equals_uninterrupted_training(
    stream: PuzzleStream, tmp_path: Path
) -> None:
    whole = trainer_in(tmp_path / "whole", stream)
    whole.fit(batches(stream))
    for stop in (2, 5, 6):  # the last quarter is hard
        parts = trainer_in(tmp_path / "parts", stream)
        torch.rand(stop)  # whatever else draws numbers must not matter
        parts.fit(batches(stream), until=stop)
    assert parts.step == whole.step == 6
    for name, tensor in whole.plain.state_dict().items():
        assert torch.equal(tensor, parts.plain.state_dict()[name]), name
        assert torch.equal(whole.weights[name], parts.weights[name]), name


def test_training_learns(stream: PuzzleStream, tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=60, warmup=0.1, learning_rate=3e-3, validate_every=1000)
    stream = PuzzleStream(
        stream.pictures, stream.masks, replace(STREAM, grids={"3x3": 1.0}), seed=0
    )
    firsts: list[float] = []
    trainer_in(tmp_path, stream, settings).fit(
        batches(stream, settings), report=lambda row: firsts.append(row["first"])
    )
    assert sum(firsts[-15:]) > sum(firsts[:15]) + 1.5  # a tenth more sides find their neighbour


def test_weights_come_back_as_they_were_validated(stream: PuzzleStream, tmp_path: Path) -> None:
    trainer = trainer_in(tmp_path, stream)
    trainer.fit(batches(stream))
    held_out = list(stream.validation(Grid(2, 2), 4))
    described = save_trained(EdgeTraining(), trainer, lambda: held_out)
    tensors, config = load_weights(tmp_path / "edges.safetensors")
    assert config == json.loads(json.dumps(described))
    assert config["kind"] == "edges"
    assert config["puzzles_seen"] == trainer.puzzles_seen
    network = EdgeEmbedding(EdgeConfig.from_dict(config["network"]))
    restore(network, tensors, "edges").eval()
    assert set(rank_figures(network, held_out)) == {"2x2", "score"}


class Oracle(torch.nn.Module):
    """Embeds the sides of every piece as the number of their seam."""

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        angle = pixels[:, :, 0, 0, 0, None] + torch.tensor([0.1, 3.1, 0.0, 3.0])
        return torch.stack([angle.cos(), angle.sin()], dim=-1)  # (B, N, 4, 2)


def test_ranks_by_hand() -> None:
    """1×3 in order: every right side is nearest to the left side of the next piece."""
    pieces = torch.zeros(1, 3, 4, 2, 2)
    batch = Batch(pieces, torch.tensor([[0, 1, 2]]), Grid(1, 3))
    pieces[0, :, 0, 0, 0] = 255 * torch.tensor([0.0, 0.1, 0.2])
    assert neighbour_ranks(Oracle(), [batch], Grid(1, 3)) == {"first": 1.0, "mutual": 1.0}
    # piece 2 looks like piece 1 moved back: 0's right side is nearest to piece 2
    pieces[0, :, 0, 0, 0] = 255 * torch.tensor([0.0, 0.15, 0.1])
    figures = neighbour_ranks(Oracle(), [batch], Grid(1, 3))
    assert figures == {"first": 0.5, "mutual": 0.0}
