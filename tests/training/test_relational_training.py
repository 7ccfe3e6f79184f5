from pathlib import Path

import pytest
import torch

from puzzleflow.core.errors import FormatError
from puzzleflow.models.relational import RelationalConfig
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.relational import RelationalTrainer, RelationalTraining
from puzzleflow.training.state import load_state, save_state
from puzzleflow.training.stream import PuzzleStream, StreamConfig

NETWORK = RelationalConfig(
    piece_px=32, widths=(8, 12, 16), blocks=(0, 0, 0), side_hidden=16, side_dim=8, dim=24,
    num_heads=3, num_layers=1, dropout=0.1,
)  # fmt: skip
STREAM = StreamConfig(piece_px=32, pieces_per_batch=18, grids={"2x2": 1.0, "3x3": 1.0})
SETTINGS = RelationalTraining(
    steps=6, warmup=2, num_validation=4, validation_grids=("2x2",), validate_every=3,
    network=NETWORK, stream=STREAM,
)  # fmt: skip


def run(folder: Path, pictures: PictureBank, masks: MaskBank, *stops: int) -> RelationalTrainer:
    """Train in one go, or stopped and started anew at every stop."""
    for stop in stops:
        trainer = RelationalTrainer(SETTINGS, folder)
        stream = PuzzleStream(pictures, masks, STREAM, seed=SETTINGS.seed)
        torch.rand(stop)  # whatever else drew numbers must not matter
        trainer.fit(stream, stream, until=stop)
    return trainer


def test_resumed_training_equals_uninterrupted_training(
    pictures: PictureBank, masks: MaskBank, tmp_path: Path
) -> None:
    whole = run(tmp_path / "whole", pictures, masks, 6)
    parts = run(tmp_path / "parts", pictures, masks, 2, 3, 6)
    assert whole.step == parts.step == 6
    assert whole.puzzles_seen == parts.puzzles_seen
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, parts.network.state_dict()[name]), name
        assert torch.equal(whole.average.tensors[name], parts.average.tensors[name]), name


def test_training_learns(pictures: PictureBank, masks: MaskBank, tmp_path: Path) -> None:
    from dataclasses import replace

    settings = replace(
        SETTINGS, steps=40, warmup=5, learning_rate=3e-3, validate_every=1000,
        stream=replace(STREAM, grids={"2x2": 1.0}),
    )  # fmt: skip
    trainer = RelationalTrainer(settings, tmp_path)
    stream = PuzzleStream(pictures, masks, settings.stream, seed=0)
    losses: list[float] = []
    trainer.fit(stream, report=lambda row: losses.append(row["loss"]))
    assert len(losses) == 40
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])


def test_rate_rises_holds_and_falls() -> None:
    settings = RelationalTraining(steps=100, warmup=10, hold=0.5, learning_rate=1.0)
    assert settings.rate_at(0) == pytest.approx(0.1)
    assert settings.rate_at(10) == settings.rate_at(49) == 1.0
    assert settings.rate_at(100) == pytest.approx(settings.final_rate)


def test_a_damaged_state_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, {"a": torch.ones(2)}, {"step": 3})
    tensors, values = load_state(path)
    assert values == {"step": 3}
    assert torch.equal(tensors["a"], torch.ones(2))
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(FormatError, match=r"state\.safetensors"):
        load_state(path)
