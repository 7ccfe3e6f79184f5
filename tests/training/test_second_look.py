import numpy as np
import torch

from puzzleflow.core.grid import Grid
from puzzleflow.models.second_look import SecondLookConfig
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.second_look import SecondLookTraining, compared
from puzzleflow.training.stream import PuzzleStream, StreamConfig

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


def test_one_step_and_a_validation(pictures: PictureBank, masks: MaskBank) -> None:
    training = SecondLookTraining(lite0="none")
    stream = PuzzleStream(
        pictures, masks, StreamConfig(piece_px=32, pieces_per_batch=18, grids={"3x3": 1.0}), seed=1
    )
    torch.manual_seed(0)
    network = training.network(CONFIG)
    batch = training.prepared(stream.batch(0), CONFIG, training.settings)
    terms = training.objective(network, batch)
    assert terms["loss"] == terms["turn"] + terms["place"]
    terms["loss"].backward()
    assert network.score.weight.grad is not None
    assert network.trunk.stem.weight.grad is None  # early stages stay as they are
    figures = training.validate(network.eval(), list(stream.validation(Grid(3, 3), 2)))
    assert 0 <= figures["score"] <= 1
