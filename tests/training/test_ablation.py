import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.models.checkpoint import load_weights, save_weights
from puzzleflow.models.puzzleflow import FlowConfig, build_puzzleflow, flow_preset
from puzzleflow.solvers.flow import FlowSolver
from puzzleflow.training.ablation import (
    FULL,
    VARIANTS,
    Ablation,
    agree_on,
    agreed_steps,
    chosen_variants,
    due,
    finished,
    without_alpha,
)
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.flow import FlowTraining
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.stream import PuzzleStream, StreamConfig
from puzzleflow.training.trainable import trainer_of

TINY = replace(flow_preset("tiny"), dropout=0.1)
KEY = {"split": "test", "puzzles": 6}
STEPS = 4
SETTINGS = LoopSettings(steps=STEPS, schedule="one-cycle", warmup=0.3, save_every=1, clip=0)


@pytest.fixture
def ablation(pictures: PictureBank, masks: MaskBank, tmp_path: Path) -> Ablation:
    config = StreamConfig(piece_px=32, pieces_per_batch=8, grids={"2x2": 1.0})
    stream = PuzzleStream(pictures, masks, config, seed=0)
    held_out = list(stream.validation(Grid(2, 2), 6, batch_size=4))
    return Ablation(tmp_path / "out", TINY, SETTINGS, stream, held_out, KEY)


def test_variants_are_those_of_the_paper() -> None:
    small = chosen_variants(VARIANTS, flow_preset("small"))
    # L = 4 is the full model, which trains once
    assert "layers-4" not in small
    assert small[FULL].label == "Full model (L = 4, 20 steps)"
    trained = {name: variant for name, variant in small.items() if variant.trains}
    assert list(trained) == [
        "direct", "frozen", "layers-0", "layers-2", "layers-6", FULL, "no-seams"
    ]  # fmt: skip
    configs = {n: replace(flow_preset("small"), **v.changes) for n, v in trained.items()}
    assert not configs["direct"].flow
    assert [configs[f"layers-{L}"].num_layers for L in (0, 2, 6)] == [0, 2, 6]
    assert [n for n, v in trained.items() if v.frozen_encoder] == ["frozen"]
    assert {small[name].sampler.steps for name in small} == {1, 20}
    # the tiny model has two layers of its own
    assert "layers-2" not in chosen_variants(VARIANTS, TINY)
    assert "no-seams" not in chosen_variants(VARIANTS, TINY)  # it has none anyway
    assert "layers-4" in chosen_variants(VARIANTS, TINY)
    assert list(chosen_variants(["rgb"], TINY)) == ["rgb", FULL]
    with pytest.raises(UnknownName, match=r"unknown variant 'mirror'; known: before, direct"):
        chosen_variants(["direct", "mirror"], TINY)


def test_a_variant_leaves_layouts_and_weights_that_a_solver_loads(ablation: Ablation) -> None:
    chosen = chosen_variants(["rgb", "one-step"], TINY)
    assert due(ablation.folder, chosen, KEY) == [FULL]
    ablation.run(FULL, chosen)
    for name in chosen:
        kept = finished(ablation.folder, name, KEY)
        assert kept is not None
        assert kept["grid"] == "2x2"
        assert len(kept["position_of"]) == len(kept["truth"]) == 6
        assert all(sorted(layout) == [0, 1, 2, 3] for layout in kept["position_of"])
        assert kept["steps"] == STEPS
    assert due(ablation.folder, chosen, KEY) == []
    assert due(ablation.folder, chosen, {**KEY, "puzzles": 5}) == [FULL]
    weights = ablation.folder / FULL / "flow.safetensors"
    described = load_weights(weights)[1]
    assert described["ablation"] == FULL
    assert FlowConfig.from_dict(described["network"]) == TINY
    FlowSolver(weights=weights)


def test_an_interrupted_variant_goes_on_exactly(
    ablation: Ablation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = chosen_variants([], TINY)
    ablation.run(FULL, chosen)
    interrupted = replace(ablation, folder=tmp_path / "interrupted")
    update = Trainer._update

    def killed(self: Trainer, batch: object) -> dict:  # type: ignore[type-arg]
        if self.step == 2:
            raise KeyboardInterrupt
        return update(self, batch)

    monkeypatch.setattr(Trainer, "_update", killed)
    with pytest.raises(KeyboardInterrupt):
        interrupted.run(FULL, chosen)
    monkeypatch.undo()
    assert finished(interrupted.folder, FULL, KEY) is None
    assert due(interrupted.folder, chosen, KEY) == [FULL]
    interrupted.run(FULL, chosen)
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


def test_dropping_alpha_hides_shape_from_the_convolutional_encoder(ablation: Ablation) -> None:
    network = build_puzzleflow(TINY).eval()
    same, opaque = without_alpha(network, ablation.held_out)
    assert same is network
    for before, after in zip(ablation.held_out, opaque, strict=True):
        assert (after.pieces[:, :, 3] == 255).all()
        assert torch.equal(after.pieces[:, :, :3], before.pieces[:, :, :3])
        assert (before.pieces[:, :, 3] == 0).any()  # the puzzles themselves are untouched
        with torch.no_grad():
            features = [network.encode(batch.pixels()) for batch in (before, after)]
        assert not torch.allclose(*features)


def test_dropping_alpha_hides_shape_from_the_seams(pictures: PictureBank) -> None:
    y, x = np.mgrid[-64:64, -64:64]
    masks = MaskBank([(1.0, (x**2 + y**2 < 50**2)[None])])
    config = StreamConfig(piece_px=32, grids={"2x2": 1.0}, with_prior=True)
    (batch,) = PuzzleStream(pictures, masks, config, seed=0).validation(Grid(2, 2), 3)
    _, (opaque,) = without_alpha(build_puzzleflow(TINY), [batch])
    assert batch.prior is not None
    assert opaque.prior is not None
    assert opaque.prior.shape == batch.prior.shape
    assert opaque.prior.dtype == batch.prior.dtype
    # these discs touch no border: beside black all pieces fit alike
    off_diagonal = ~torch.eye(4, dtype=torch.bool)
    assert opaque.prior[..., 0][:, :, off_diagonal].std() < 1e-4
    assert batch.prior[..., 0][:, :, off_diagonal].std() > 0.1


def test_dropping_alpha_slices_the_projection_of_a_vit(ablation: Ablation) -> None:
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
             "intermediate_size": 32, "image_size": 32, "patch_size": 16}  # fmt: skip
    config = FlowConfig(
        piece_px=32, dim=24, num_layers=1, num_heads=2, feed_forward=32, head=(32,),
        num_positions=4, vit=sizes,
    )  # fmt: skip
    network = build_puzzleflow(config).eval()
    with torch.no_grad():
        network.encoder.projection.weight[:, 3] = 0.7  # type: ignore[union-attr, index]
    sliced, batches = without_alpha(network, ablation.held_out)
    assert batches is ablation.held_out
    pixels = batches[0].pixels()
    shapeless = pixels.clone()
    shapeless[:, :, 3] = 0.25
    with torch.no_grad():
        assert torch.equal(sliced.encode(pixels), sliced.encode(shapeless))
        assert not torch.allclose(network.encode(pixels), network.encode(shapeless))
        assert not torch.allclose(network.encode(pixels), sliced.encode(pixels))


def test_minutes_become_steps(ablation: Ablation, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.chain([0.0, 100.0], itertools.count(103.0, 3.0))  # slow at first, then 3
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("puzzleflow.training.ablation.time", clock)
    assert ablation.steps_within(2.0) == 40
    assert not ablation.folder.exists()  # nothing of the short run stays


def test_a_folder_keeps_to_its_plan(tmp_path: Path) -> None:
    asked = {"steps": 5, "masks": ["vae"], "rate": 1e-3}
    assert agreed_steps(tmp_path, asked) is None
    agree_on(tmp_path, asked, 5)
    assert agreed_steps(tmp_path, dict(asked)) == 5
    with pytest.raises(InputError, match=r"plan\.json: .*another masks, steps"):
        agreed_steps(tmp_path, {**asked, "masks": ["outline"], "steps": 6})


def test_a_whole_flow_model_is_no_start_of_an_ablation(ablation: Ablation, tmp_path: Path) -> None:
    network = build_puzzleflow(TINY)
    save_weights(tmp_path / "f.safetensors", network.state_dict(), {"kind": "flow"})
    with pytest.raises(InputError, match="trunk of a relational network"):
        replace(ablation, initial=tmp_path / "f.safetensors")
    with pytest.raises(InputError, match="no held-out puzzles"):
        replace(ablation, held_out=[])


def test_a_full_model_that_trained_elsewhere_is_refused(ablation: Ablation) -> None:
    """A folder whose state is another network's does not pass for a finished variant."""
    config = replace(TINY, num_layers=1)
    other = trainer_of(FlowTraining(), config, SETTINGS, ablation.folder / FULL)
    ablation.folder.joinpath(FULL).mkdir(parents=True)
    other.save()
    with pytest.raises(InputError, match="another network"):
        ablation.run(FULL, chosen_variants([], TINY))
