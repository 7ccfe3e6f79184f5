from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from published_lite0 import write_published

from puzzleflow.core.grid import Grid
from puzzleflow.models.lite0 import read_lite0
from puzzleflow.models.second_look import SecondLookConfig
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.second_look import (
    DOUBT,
    SecondLookTraining,
    compared,
    doubt_loss,
    doubtful,
)
from puzzleflow.training.stream import PuzzleStream, StreamConfig
from puzzleflow.training.trainable import batches_of, trainer_of

CONFIG = SecondLookConfig(size_px=64, width=8)


def test_the_truth_is_compared_with_its_turns_shifts_and_a_swap() -> None:
    pieces = torch.rand(4, 4, 32, 32)
    pieces[:, 3] = 1.0
    truth = torch.tensor([2, 0, 3, 1])
    drawn = compared(pieces, truth, Grid(2, 2), 64, np.random.default_rng(0))
    assert drawn.shape == (7, 4, 64, 64)
    assert torch.allclose(drawn[0, :, :32, :32], pieces[1])
    assert torch.allclose(drawn[2], drawn[0].rot90(2, (1, 2)))
    for other in drawn[1:]:
        assert not torch.allclose(other, drawn[0])
        assert torch.allclose(other.sum(), drawn[0].sum())


def test_doubt_is_the_share_of_the_truth_under_energy_and_score() -> None:
    truth = torch.tensor([1.0, 0.0, 5.0], requires_grad=True)
    doubts, of = torch.tensor([1.0, 3.0, 0.0]), torch.tensor([0, 0, 1])
    excess = torch.tensor([0.0, 2.0, -1.0])  # the energy prefers a wrong layout of the second
    loss = doubt_loss(truth, doubts, of, excess)
    expected = (np.log(3) + np.log(1 + np.e)) / 2  # the third puzzle leaves no doubt
    assert loss.item() == pytest.approx(expected, abs=1e-5)
    loss.backward()
    assert truth.grad is not None
    assert truth.grad[2] == 0
    nothing = doubt_loss(truth, doubts[:0], of[:0], excess[:0])
    assert nothing.item() == 0
    nothing.backward()


def test_what_the_energy_doubts_are_wrong_layouts_near_the_truth(
    pictures: PictureBank, masks: MaskBank
) -> None:
    wanted = replace(
        SecondLookTraining().wants(CONFIG), pieces_per_batch=90, grids={"3x3": 1.0}, wide_share=1.0
    )
    batch = PuzzleStream(pictures, masks, wanted, seed=1).batch(0)
    found = doubtful(batch)
    assert len(found) == len(batch) == 10
    assert any(len(layouts) for layouts, _ in found)
    for truth, (layouts, excess) in zip(batch.position_of, found, strict=True):
        assert len(layouts) == len(excess)
        assert all(abs(more) <= DOUBT for more in excess)
        assert not (layouts == truth).all(dim=1).any()
        assert (layouts.sort(dim=1).values == torch.arange(9)).all()
    nothing = doubtful(replace(batch, prior=None))
    assert [layouts.shape for layouts, _ in nothing] == [(0, 9)] * 10


def test_one_step_and_a_validation(pictures: PictureBank, masks: MaskBank) -> None:
    training = SecondLookTraining(lite0="none")
    wanted = replace(training.wants(CONFIG), pieces_per_batch=18, grids={"3x3": 1.0})
    stream = PuzzleStream(pictures, masks, wanted, seed=1)
    torch.manual_seed(0)
    network = training.network(CONFIG)
    batch = training.prepared(stream.batch(0), CONFIG, training.settings)
    terms = training.objective(network, batch)
    assert terms["loss"] == terms["turn"] + terms["place"] + terms["doubt"]
    assert len(batch.doubts) == len(batch.of) == len(batch.excess)
    terms["loss"].backward()
    assert network.score.weight.grad is not None
    assert network.trunk.stem.weight.grad is None  # early stages stay as they are
    figures = training.validate(network.eval(), list(stream.validation(Grid(3, 3), 2)))
    assert 0 <= figures["score"] <= 1


def test_it_trains_from_published_weights_and_leaves_frozen_stages(
    pictures: PictureBank, masks: MaskBank, tmp_path: Path
) -> None:
    weights = write_published(tmp_path / "lite0.pth")
    training = SecondLookTraining(lite0=str(weights), frozen_stages=2)
    settings = LoopSettings(steps=2, trunk_rate=0.1, warmup=0, clip=0)
    trainer = trainer_of(training, CONFIG, settings, tmp_path / "run")
    before = {name: p.clone() for name, p in trainer.plain.named_parameters()}
    published = read_lite0(weights)
    trunk = trainer.plain.trunk.state_dict()  # type: ignore[union-attr]
    assert all(torch.equal(tensor, published[name]) for name, tensor in trunk.items())
    stream = PuzzleStream(
        pictures, masks, StreamConfig(piece_px=32, pieces_per_batch=8, grids={"2x2": 1.0}), seed=1
    )
    trainer.fit(batches_of(stream, training, CONFIG, settings))
    moved = {n for n, p in trainer.plain.named_parameters() if not torch.equal(p, before[n])}
    assert not {
        n for n in moved if n.startswith(("trunk.stem", "trunk.stages.0", "trunk.stages.1"))
    }
    assert any(name.startswith("trunk.stages.2") for name in moved)
