import json
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.relational import RelationalTraining
from puzzleflow.training.state import DAMAGED, PREVIOUS, STATE, load_state, save_state
from puzzleflow.training.stream import Batch, PuzzleStream, StreamConfig
from puzzleflow.training.trainable import batches_of, trainer_of

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
    return trainer_of(
        RelationalTraining(),
        NETWORK,
        settings,
        folder,
        validation=lambda: list(stream.validation(Grid(2, 2), 4)),
    )


def batches(stream: PuzzleStream) -> Callable[[int], Iterable[Batch]]:
    return batches_of(stream, RelationalTraining(), NETWORK, SETTINGS)


@pytest.fixture
def stream(pictures: PictureBank, masks: MaskBank) -> PuzzleStream:
    return PuzzleStream(pictures, masks, STREAM, seed=0)


def test_resumed_training_equals_uninterrupted_training(
    stream: PuzzleStream, tmp_path: Path
) -> None:
    whole = trainer_in(tmp_path / "whole", stream)
    whole.fit(batches(stream))
    losses: list[float] = []
    for stop in (2, 3, 6):
        parts = trainer_in(tmp_path / "parts", stream)
        torch.rand(stop)  # whatever else draws numbers must not matter
        parts.fit(batches(stream), until=stop, report=lambda row: losses.append(row["loss"]))
    assert len(losses) == parts.step == whole.step == 6
    assert parts.puzzles_seen == whole.puzzles_seen
    for name, tensor in whole.plain.state_dict().items():
        assert torch.equal(tensor, parts.plain.state_dict()[name]), name
        assert torch.equal(whole.weights[name], parts.weights[name]), name
    assert (tmp_path / "parts" / "best.safetensors").exists()
    assert list((tmp_path / "parts" / "events").iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_step_and_saves(
    stream: PuzzleStream, tmp_path: Path, number: signal.Signals
) -> None:
    def interrupt(row: dict[str, object]) -> None:
        if row["step"] == 2:
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        trainer_in(tmp_path, stream).fit(batches(stream), report=interrupt)
    assert trainer_in(tmp_path, stream).step == 2
    assert signal.getsignal(number) is not None


def test_a_step_that_was_cut_short_is_not_saved(
    stream: PuzzleStream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_in(tmp_path, stream, replace(SETTINGS, save_every=2))
    step = trainer.optimizer.step

    def cut() -> None:
        step()
        if trainer.step == 3:
            raise KeyboardInterrupt  # after the weights moved, before the step was counted

    monkeypatch.setattr(trainer.optimizer, "step", cut)
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(batches(stream))
    assert trainer_in(tmp_path, stream, replace(SETTINGS, save_every=2)).step == 3  # validated


def test_a_run_goes_on_with_its_own_settings_only(stream: PuzzleStream, tmp_path: Path) -> None:
    trainer_in(tmp_path, stream).save()
    for name, value in {"steps": 7, "learning_rate": 0.5, "seed": 1}.items():
        with pytest.raises(InputError, match=f"this run has {name} .*, not {value}"):
            trainer_in(tmp_path, stream, replace(SETTINGS, **{name: value}))  # type: ignore[arg-type]
    assert trainer_in(tmp_path, stream, replace(SETTINGS, save_every=9)).step == 0


def test_a_damaged_newest_state_is_set_aside(stream: PuzzleStream, tmp_path: Path) -> None:
    whole = trainer_in(tmp_path / "whole", stream)
    whole.fit(batches(stream))
    folder = tmp_path / "run"
    often = replace(SETTINGS, save_every=1)
    trainer_in(folder, stream, often).fit(batches(stream), until=4)
    content = bytearray((folder / STATE).read_bytes())
    content[-5] ^= 1  # one bit of one weight
    (folder / STATE).write_bytes(content)
    again = trainer_in(folder, stream, often)
    assert again.step == 3
    assert "checksum" in again.note
    assert f"goes on from {PREVIOUS}, step 3" in again.note
    assert (folder / DAMAGED).exists()
    again.fit(batches(stream))
    for name, tensor in whole.plain.state_dict().items():
        assert torch.equal(tensor, again.plain.state_dict()[name]), name
    for name in (STATE, PREVIOUS):
        (folder / name).write_bytes(b"damaged")
    with pytest.raises(FormatError, match=PREVIOUS):
        trainer_in(folder, stream, often)


def test_weights_that_are_not_finite_are_neither_saved_nor_resumed(
    stream: PuzzleStream, tmp_path: Path
) -> None:
    trainer = trainer_in(tmp_path, stream)
    trainer.save()
    with torch.no_grad():
        next(trainer.plain.parameters()).fill_(float("nan"))
    with pytest.raises(InputError, match=r"at step 0 .* is not finite"):
        trainer.save()
    tensors, values = load_state(tmp_path / STATE)
    name = next(name for name in tensors if name.startswith("network."))
    save_state(tmp_path / STATE, {**tensors, name: tensors[name] * torch.inf}, values)
    with pytest.raises(FormatError, match="is not finite"):
        trainer_in(tmp_path, stream)


def test_rows_of_validation_hold_the_mean_losses_before_it(
    stream: PuzzleStream, tmp_path: Path
) -> None:
    rows: list[dict] = []  # type: ignore[type-arg]
    for stop in (2, 6):
        trainer_in(tmp_path, stream).fit(batches(stream), until=stop, report=rows.append)
    sizes = [row["puzzles"] for row in rows]
    weights = [b - a for a, b in zip([0, *sizes], sizes, strict=False)]
    assert [row["step"] for row in rows if "val" in row] == [2, 3, 6]
    mean = sum(w * row["loss"] for w, row in zip(weights[3:], rows[3:], strict=True))
    assert rows[5]["train"]["loss"] == pytest.approx(mean / sum(weights[3:]), abs=2e-5)
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert logged == rows


def test_training_learns(stream: PuzzleStream, tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=40, warmup=0.1, learning_rate=3e-3, validate_every=1000)
    stream = PuzzleStream(
        stream.pictures, stream.masks, replace(STREAM, grids={"2x2": 1.0}), seed=0
    )
    losses: list[float] = []
    trainer = trainer_in(tmp_path, stream, settings)
    trainer.fit(batches(stream), report=lambda row: losses.append(row["loss"]))
    assert len(losses) == 40
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])


def test_patience_ends_the_run(stream: PuzzleStream, tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=50, learning_rate=0.0, validate_every=1, patience=2)
    trainer = trainer_in(tmp_path, stream, settings)
    trainer.fit(batches(stream))
    assert trainer.step < 50


def test_training_starts_from_given_weights(stream: PuzzleStream, tmp_path: Path) -> None:
    first = trainer_in(tmp_path / "first", stream)
    save_weights(
        tmp_path / "w.safetensors", first.plain.state_dict(), {"network": NETWORK.to_dict()}
    )
    second = trainer_of(
        RelationalTraining(),
        RelationalConfig(),
        replace(SETTINGS, seed=9),
        tmp_path / "second",
        initial=tmp_path / "w.safetensors",
    )
    for name, tensor in first.plain.state_dict().items():
        assert torch.equal(tensor, second.plain.state_dict()[name]), name


def test_further_layers_begin_by_changing_nothing(stream: PuzzleStream, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    small = RelationalNet(NETWORK).eval()
    save_weights(path, small.state_dict(), {"network": NETWORK.to_dict()})
    deeper = replace(NETWORK, num_layers=NETWORK.num_layers + 2)
    large = RelationalTraining().started_from(deeper, path).eval()
    assert len(large.layers) == NETWORK.num_layers + 2
    batch = stream.batch(0)
    with torch.no_grad():
        one, other = (net(batch.pixels(), batch.prior, batch.world)[0] for net in (small, large))
    assert torch.equal(one.right, other.right)
    assert torch.equal(one.place, other.place)


def test_a_state_of_another_network_is_refused(stream: PuzzleStream, tmp_path: Path) -> None:
    trainer_in(tmp_path, stream).save()
    with pytest.raises(InputError, match="another network"):
        trainer_of(RelationalTraining(), replace(NETWORK, dim=12), SETTINGS, tmp_path)


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
    ours = LoopSettings(
        steps=50, schedule="one-cycle", warmup=0.1, learning_rate=1e-5, cycle_momentum=True
    )
    assert replace(ours, cycle_momentum=False).momentum_at(20) == 0.9
    for step in range(50):
        group = optimizer.param_groups[0]
        assert ours.rate_at(step) == pytest.approx(group["lr"]), step
        assert ours.momentum_at(step) == pytest.approx(group["betas"][0]), step
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
