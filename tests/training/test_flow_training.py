from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.puzzleflow import build_puzzleflow, flow_preset
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.storage.source import PuzzleSource
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.data import StoredBatches
from puzzleflow.training.flow import (
    FlowTraining,
    flow_loss,
    neighbour_loss,
    take_over,
    validate_flow,
)
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import PuzzleStream, StreamConfig
from puzzleflow.training.trainable import batches_of, trainer_of

CONFIG = replace(flow_preset("tiny"), dropout=0.1)
STREAM = StreamConfig(piece_px=32, pieces_per_batch=16, grids={"2x2": 1.0})
SETTINGS = LoopSettings(steps=6, schedule="one-cycle", warmup=0.3, validate_every=3, clip=0)


@pytest.fixture
def stream(pictures: PictureBank, masks: MaskBank) -> PuzzleStream:
    return PuzzleStream(pictures, masks, STREAM, seed=0)


def test_resumed_training_has_the_losses_of_uninterrupted_training(
    stream: PuzzleStream, tmp_path: Path
) -> None:
    def train(folder: Path, *stops: int) -> list[float]:
        losses: list[float] = []
        for stop in stops:
            trainer = trainer_of(
                FlowTraining(), CONFIG, SETTINGS, folder,
                validation=lambda: list(stream.validation(Grid(2, 2), 4)),
            )  # fmt: skip
            batches = batches_of(stream, FlowTraining(), CONFIG, SETTINGS)
            trainer.fit(batches, until=stop, report=lambda row: losses.append(row["loss"]))
        return losses

    assert train(tmp_path / "whole", 6) == train(tmp_path / "parts", 1, 4, 6)


def test_states_depend_on_the_seed_and_the_number_of_the_batch(stream: PuzzleStream) -> None:
    batch = stream.batch(3)
    drawn = [
        FlowTraining().prepared(b, CONFIG, replace(SETTINGS, seed=seed)).t
        for b, seed in ((batch, 0), (batch, 0), (batch, 1), (replace(batch, number=4), 0))
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], drawn[3])


def test_several_states_of_a_puzzle_share_its_features(stream: PuzzleStream) -> None:
    batch = FlowTraining(states=3).prepared(stream.batch(0), CONFIG, SETTINGS)
    B = len(batch)
    assert batch.t.shape == (B, 3)
    assert batch.x_t.shape == (B, 3, 4)
    assert not torch.equal(batch.x_t[:, 0], batch.x_t[:, 2])
    network = build_puzzleflow(replace(CONFIG, dropout=0.0)).eval()
    together = flow_loss(network, batch)["loss"]
    alone = [
        flow_loss(network, replace(batch, x_t=batch.x_t[:, [k]], t=batch.t[:, [k]]))["loss"]
        for k in range(3)
    ]
    assert together.item() == pytest.approx(torch.stack(alone).mean().item(), rel=1e-5)


def test_a_frozen_encoder_keeps_its_weights(stream: PuzzleStream, tmp_path: Path) -> None:
    trainer = trainer_of(FlowTraining(frozen_encoder=True), CONFIG, SETTINGS, tmp_path)
    before = [p.clone() for p in trainer.plain.encoder.trunk.state_dict().values()]  # type: ignore[union-attr]
    head = trainer.plain.head.mlp[1].weight.clone()  # type: ignore[union-attr, index]
    trainer.fit(batches_of(stream, FlowTraining(), CONFIG, SETTINGS), until=2)
    after = trainer.plain.encoder.trunk.state_dict().values()  # type: ignore[union-attr]
    assert all(torch.equal(b, a) for b, a in zip(before, after, strict=True))
    assert not torch.equal(head, trainer.plain.head.mlp[1].weight)  # type: ignore[union-attr, index]


def test_options_that_are_left_open_are_those_of_the_preset() -> None:
    assert FlowTraining().under("compact").states == 4
    assert FlowTraining(states=2).under("compact").states == 2
    published = FlowTraining().under("paper")
    assert (published.states, published.neighbours) == (1, 0.0)
    assert published.checkpoint_gradients
    assert not FlowTraining(checkpoint_gradients=False).under("paper").checkpoint_gradients


def test_paper_presets_are_trained_as_published() -> None:
    recipe = FlowTraining().recipe("paper")
    assert recipe == FlowTraining().recipe("paper-supplement")
    assert (recipe.batch, recipe.validation_batch, recipe.workers, recipe.prefetch) == (8, 2, 8, 2)
    assert recipe.pinned
    assert recipe.settings.learning_rate == 1e-5
    assert recipe.settings.trunk_rate == 1.0


def test_the_neighbour_loss_asks_every_side_for_the_piece_beyond_it() -> None:
    torch.manual_seed(0)
    grid, width = Grid(2, 3), 2
    position_of = torch.stack([torch.randperm(6) for _ in range(2)])
    features = torch.randn(2, 6, 8 * width)
    asked = []
    for vectors, positions in zip(features, position_of, strict=True):
        right, left, down, up, *_ = vectors.split(width, dim=1)
        piece_at = {int(position): piece for piece, position in enumerate(positions)}
        for (r, c), (dr, dc), (out, back) in product(
            product(range(2), range(3)), ((0, 1), (1, 0)), ((right, left), (down, up))
        ):
            if (dr == 0) != (out is right) or r + dr > 1 or c + dc > 2:
                continue
            here, there = piece_at[3 * r + c], piece_at[3 * (r + dr) + c + dc]
            for table, one, other in ((out @ back.T, here, there), (back @ out.T, there, here)):
                row = table[one] / width**0.5
                row[one] = -torch.inf  # no piece lies beside itself
                asked.append(-row.log_softmax(0)[other])
    assert len(asked) == 2 * 2 * 7
    expected = torch.stack(asked).mean()
    assert neighbour_loss(features, position_of, grid).item() == pytest.approx(expected.item())


def test_the_trunk_of_a_relational_network_is_taken_over(tmp_path: Path) -> None:
    relational = RelationalNet(RelationalConfig())
    save_weights(
        tmp_path / "r.safetensors",
        relational.state_dict(),
        {"kind": "relational", "network": relational.config.to_dict()},
    )
    flow = build_puzzleflow(flow_preset("small-seams"))
    take_over(flow, tmp_path / "r.safetensors")
    theirs = relational.state_dict()
    for name, tensor in flow.encoder.tokens.state_dict().items():  # type: ignore[union-attr]
        assert torch.equal(tensor, theirs[name]), name


def test_validation_counts_what_the_sampler_finds(stream: PuzzleStream) -> None:
    torch.manual_seed(0)
    network = build_puzzleflow(CONFIG).eval()
    figures = validate_flow(network, stream.validation(Grid(2, 2), 24), steps=2)
    assert 0 <= figures["2x2"]["PA"] <= figures["2x2"]["AA"] <= 1
    assert figures["score"] == figures["2x2"]["AA"]


class MemorySource(PuzzleSource):
    """Six puzzles whose pieces say which they are."""

    kind = "memory"

    def __init__(self, truth: bool = True) -> None:
        super().__init__(Path("memory"))
        self._truth = truth

    @classmethod
    def recognise(cls, path: Path) -> bool:
        return False

    def truths(self) -> np.ndarray | None:
        return np.tile([3, 1, 2, 0], (6, 1)) if self._truth else None

    @property
    def grid(self) -> Grid:
        return Grid(2, 2)

    @property
    def has_truth(self) -> bool:
        return self._truth

    def __len__(self) -> int:
        return 6

    def read(self, index: int) -> Puzzle:
        pieces = np.full((4, 8, 8, 4), 255, np.uint8)
        pieces[..., 0] = 10 * index
        truth = np.array([3, 1, 2, 0]) if self._truth else None
        return Puzzle(pieces, self.grid, truth)


def test_stored_puzzles_come_once_an_epoch() -> None:
    stored = StoredBatches(MemorySource(), piece_px=8, batch_size=2, seed=3)
    epochs = [
        sorted(int(red) for b in (3 * e, 3 * e + 1, 3 * e + 2)
               for red in stored.batch(b).pieces[:, 0, 0, 0, 0])
        for e in (0, 1)
    ]  # fmt: skip
    assert epochs == [[0, 10, 20, 30, 40, 50]] * 2
    assert stored.batch(1).position_of[0].tolist() == [3, 1, 2, 0]
    with pytest.raises(InputError, match="labels"):
        StoredBatches(MemorySource(truth=False), piece_px=8, batch_size=2, seed=3)
    with pytest.raises(InputError, match="fill no batch"):
        StoredBatches(MemorySource(), piece_px=8, batch_size=7, seed=3)
