import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.files import write_json
from puzzleflow.formats.open import open_puzzles
from puzzleflow.models.checkpoint import load_weights, save_weights
from puzzleflow.models.puzzleflow import FlowConfig, build_puzzleflow, flow_preset
from puzzleflow.solvers.registry import load_solver
from puzzleflow.training.ablation import (
    FULL,
    PLAN,
    VARIANTS,
    Ablation,
    agreed_steps,
    chosen_variants,
    due,
    weights_of,
)
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.data import StoredBatches, store_puzzles
from puzzleflow.training.flow import FlowTraining
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.stream import PuzzleStream, StreamConfig
from puzzleflow.training.trainable import trainer_of

TINY = replace(flow_preset("tiny"), dropout=0.1)
STEPS = 4
SETTINGS = LoopSettings(steps=STEPS, schedule="one-cycle", warmup=0.3, save_every=1, clip=0)


@pytest.fixture
def ablation(pictures: PictureBank, masks: MaskBank, tmp_path: Path) -> Ablation:
    config = StreamConfig(piece_px=32, pieces_per_batch=8, grids={"2x2": 1.0})
    stream = PuzzleStream(pictures, masks, config, seed=0)
    return Ablation(tmp_path / "out", TINY, SETTINGS, stream)


def test_variants_are_those_of_the_paper() -> None:
    small = chosen_variants(VARIANTS, flow_preset("compact"))
    # L = 4 is the full model, which trains once
    assert "layers-4" not in small
    assert small[FULL].label == "Full model (L = 4, 20 steps)"
    trained = {name: variant for name, variant in small.items() if variant.trains}
    assert list(trained) == [
        "direct", "frozen", "layers-0", "layers-2", "layers-6", "rgb-trained", FULL, "no-time"
    ]  # fmt: skip
    assert not replace(flow_preset("compact"), **trained["no-time"].changes).timed
    assert not replace(flow_preset("compact"), **trained["rgb-trained"].changes).alpha
    assert "no-seams" in chosen_variants(VARIANTS, flow_preset("small-seams"))
    configs = {n: replace(flow_preset("compact"), **v.changes) for n, v in trained.items()}
    assert not configs["direct"].flow
    assert [configs[f"layers-{L}"].num_layers for L in (0, 2, 6)] == [0, 2, 6]
    assert [n for n, v in trained.items() if v.frozen_encoder] == ["frozen"]
    assert {v.options.get("steps") for v in small.values()} == {None, 1}
    # the tiny model has two layers of its own
    assert "layers-2" not in chosen_variants(VARIANTS, TINY)
    assert "no-seams" not in chosen_variants(VARIANTS, TINY)  # it has none anyway
    assert "layers-4" in chosen_variants(VARIANTS, TINY)
    assert list(chosen_variants(["rgb"], TINY)) == ["rgb", FULL]
    with pytest.raises(UnknownName, match=r"unknown variant 'mirror'; known: before, direct"):
        chosen_variants(["direct", "mirror"], TINY)


def test_a_variant_leaves_weights_that_a_solver_loads(ablation: Ablation) -> None:
    chosen = chosen_variants(["rgb", "one-step", "direct"], TINY)
    assert due(ablation.folder, chosen) == [FULL, "direct"]
    ablation.run(FULL, chosen[FULL])
    assert due(ablation.folder, chosen) == ["direct"]
    weights = weights_of(ablation.folder, "rgb")
    assert weights == weights_of(ablation.folder, FULL)
    described = load_weights(weights)[1]
    assert FlowConfig.from_dict(described["network"]) == TINY
    for name in ("rgb", "one-step", FULL):
        load_solver("flow", weights=weights, **chosen[name].options)


def test_puzzles_of_batches_are_stored_as_they_are(ablation: Ablation, tmp_path: Path) -> None:
    batches = list(ablation.train.validation(Grid(2, 2), 6, batch_size=4))
    store_puzzles(tmp_path / "held", batches)
    with open_puzzles(tmp_path / "held") as source:
        stored = StoredBatches(source, piece_px=32, batch_size=1, seed=0)
        for before, after in zip(batches, stored.validation(Grid(2, 2), 6, 4), strict=True):
            solid = before.pieces[:, :, 3] > 127
            assert torch.equal(after.pieces[:, :, 3], 255 * solid.byte())
            whole = (before.pieces[:, :, 3:] == 255).expand_as(before.pieces)
            assert torch.equal(before.pieces[whole], after.pieces[whole])
            assert torch.equal(before.position_of, after.position_of)
    assert not list(tmp_path.glob(".*.part"))


def test_an_interrupted_variant_goes_on_exactly(
    ablation: Ablation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = chosen_variants([], TINY)
    ablation.run(FULL, chosen[FULL])
    interrupted = replace(ablation, folder=tmp_path / "interrupted")
    update = Trainer._update

    def killed(self: Trainer, batch: object) -> dict:  # type: ignore[type-arg]
        if self.step == 2:
            raise KeyboardInterrupt
        return update(self, batch)

    monkeypatch.setattr(Trainer, "_update", killed)
    with pytest.raises(KeyboardInterrupt):
        interrupted.run(FULL, chosen[FULL])
    monkeypatch.undo()
    assert due(interrupted.folder, chosen) == [FULL]
    interrupted.run(FULL, chosen[FULL])
    whole, parts = (
        load_weights(folder / FULL / "flow.safetensors")[0]
        for folder in (ablation.folder, interrupted.folder)
    )
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_all_variants_start_from_the_same_encoder_and_see_the_same_puzzles(
    ablation: Ablation,
) -> None:
    encoders = []
    for name in ("direct", "layers-0", "layers-6"):
        trainer = ablation._trainer(VARIANTS[name], SETTINGS, ablation.folder / name)
        encoders.append(trainer.plain.encoder.state_dict())  # type: ignore[union-attr]
    for other in encoders[1:]:
        assert all(torch.equal(encoders[0][name], other[name]) for name in other)
    first, again = (next(iter(ablation._batches()(1))) for _ in range(2))
    assert torch.equal(first.pieces, again.pieces)
    assert torch.equal(first.x_t, again.x_t)


def test_minutes_become_steps(ablation: Ablation, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.chain([0.0, 100.0], itertools.count(103.0, 3.0))  # slow at first, then 3
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("puzzleflow.training.ablation.time", clock)
    assert ablation.steps_within(2.0) == 40
    assert not ablation.folder.exists()  # nothing of the short run stays


def test_a_folder_keeps_to_its_plan(tmp_path: Path) -> None:
    asked = {"steps": 5, "masks": ["vae"], "rate": 1e-3}
    assert agreed_steps(tmp_path, asked) is None
    write_json(tmp_path / PLAN, {"asked": asked, "steps": 5})
    assert agreed_steps(tmp_path, dict(asked)) == 5
    with pytest.raises(InputError, match=r"plan\.json: .*another masks, steps"):
        agreed_steps(tmp_path, {**asked, "masks": ["outline"], "steps": 6})


def test_a_whole_flow_model_is_no_start_of_an_ablation(ablation: Ablation, tmp_path: Path) -> None:
    network = build_puzzleflow(TINY)
    save_weights(tmp_path / "f.safetensors", network.state_dict(), {"kind": "flow"})
    with pytest.raises(InputError, match="trunk of a relational network"):
        replace(ablation, initial=tmp_path / "f.safetensors")


def test_a_full_model_that_trained_elsewhere_is_refused(ablation: Ablation) -> None:
    """A folder whose state is another network's does not pass for a finished variant."""
    config = replace(TINY, num_layers=1)
    other = trainer_of(FlowTraining(), config, SETTINGS, ablation.folder / FULL)
    ablation.folder.joinpath(FULL).mkdir(parents=True)
    other.save()
    with pytest.raises(InputError, match="another network"):
        ablation.run(FULL, VARIANTS[FULL])
