from dataclasses import replace
from pathlib import Path

import pytest
import torch

from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.relational import RelationalConfig
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.relational import batches_of, relational_trainer
from puzzleflow.training.state import load_state, save_state
from puzzleflow.training.stream import Batch, PuzzleStream, StreamConfig

NETWORK = RelationalConfig(
    piece_px=32, widths=(8, 12, 16), blocks=(0, 0, 0), side_hidden=16, side_dim=8, dim=24,
    num_heads=3, num_layers=1, dropout=0.1,
)  # fmt: skip
STREAM = StreamConfig(
    piece_px=32, pieces_per_batch=18, grids={"2x2": 1.0, "3x3": 1.0}, with_prior=True
)
SETTINGS = LoopSettings(steps=6, warmup=0.3, validate_every=3, log_every=1)


def trainer_in(
    folder: Path, stream: PuzzleStream, settings: LoopSettings = SETTINGS
) -> Trainer[Batch]:
    return relational_trainer(
        settings, folder, config=NETWORK, validation=stream.validation(Grid(2, 2), 4)
    )


@pytest.fixture
def stream(pictures: PictureBank, masks: MaskBank) -> PuzzleStream:
    return PuzzleStream(pictures, masks, STREAM, seed=0)


def test_resumed_training_equals_uninterrupted_training(
    stream: PuzzleStream, tmp_path: Path
) -> None:
    whole = trainer_in(tmp_path / "whole", stream)
    whole.fit(batches_of(stream))
    losses: list[float] = []
    for stop in (2, 3, 6):
        parts = trainer_in(tmp_path / "parts", stream)
        torch.rand(stop)  # whatever else draws numbers must not matter
        parts.fit(batches_of(stream), until=stop, report=lambda row: losses.append(row["loss"]))
    assert len(losses) == parts.step == whole.step == 6
    assert parts.puzzles_seen == whole.puzzles_seen
    for name, tensor in whole.plain.state_dict().items():
        assert torch.equal(tensor, parts.plain.state_dict()[name]), name
        assert torch.equal(whole.weights[name], parts.weights[name]), name
    assert (tmp_path / "parts" / "best.safetensors").exists()
    assert list((tmp_path / "parts" / "events").iterdir())


def test_an_interruption_saves_first(stream: PuzzleStream, tmp_path: Path) -> None:
    def interrupt(row: dict[str, object]) -> None:
        if row["step"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer_in(tmp_path, stream).fit(batches_of(stream), report=interrupt)
    assert trainer_in(tmp_path, stream).step == 2


def test_training_learns(stream: PuzzleStream, tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=40, warmup=0.1, learning_rate=3e-3, validate_every=1000)
    stream = PuzzleStream(
        stream.pictures, stream.masks, replace(STREAM, grids={"2x2": 1.0}), seed=0
    )
    losses: list[float] = []
    trainer = trainer_in(tmp_path, stream, settings)
    trainer.fit(batches_of(stream), report=lambda row: losses.append(row["loss"]))
    assert len(losses) == 40
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])


def test_patience_ends_the_run(stream: PuzzleStream, tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=50, learning_rate=0.0, validate_every=1, patience=2)
    trainer = trainer_in(tmp_path, stream, settings)
    trainer.fit(batches_of(stream))
    assert trainer.step < 50


def test_training_starts_from_given_weights(stream: PuzzleStream, tmp_path: Path) -> None:
    first = trainer_in(tmp_path / "first", stream)
    save_weights(
        tmp_path / "w.safetensors", first.plain.state_dict(), {"network": NETWORK.to_dict()}
    )
    second = relational_trainer(
        replace(SETTINGS, seed=9), tmp_path / "second", initial=tmp_path / "w.safetensors"
    )
    for name, tensor in first.plain.state_dict().items():
        assert torch.equal(tensor, second.plain.state_dict()[name]), name


def test_a_state_of_another_network_is_refused(stream: PuzzleStream, tmp_path: Path) -> None:
    trainer_in(tmp_path, stream).save()
    with pytest.raises(InputError, match="another network"):
        relational_trainer(SETTINGS, tmp_path, config=replace(NETWORK, dim=12))


def test_rates() -> None:
    plateau = LoopSettings(steps=100, warmup=0.1, hold=0.5, learning_rate=1.0)
    assert plateau.rate_at(0) == pytest.approx(0.1)
    assert plateau.rate_at(10) == plateau.rate_at(49) == 1.0
    assert plateau.rate_at(100) == pytest.approx(plateau.final_rate)
    with pytest.raises(UnknownName):
        replace(plateau, schedule="steep").rate_at(0)


def test_one_cycle_is_the_schedule_of_torch() -> None:
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))], lr=1e-5)
    official = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-5, total_steps=50, pct_start=0.1
    )
    ours = LoopSettings(steps=50, schedule="one-cycle", warmup=0.1, learning_rate=1e-5)
    for step in range(50):
        assert ours.rate_at(step) == pytest.approx(optimizer.param_groups[0]["lr"]), step
        optimizer.step()
        if step < 49:
            official.step()


def test_a_damaged_state_is_named(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, {"a": torch.ones(2)}, {"step": 3})
    tensors, values = load_state(path)
    assert values == {"step": 3}
    assert torch.equal(tensors["a"], torch.ones(2))
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(FormatError, match=r"state\.safetensors"):
        load_state(path)
