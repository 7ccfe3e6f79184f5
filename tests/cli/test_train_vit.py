"""Training of the ViT presets: where their weights come from, and on which device they train."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import run

from puzzleflow.cli._training import fabric_for
from puzzleflow.core.errors import InputError
from puzzleflow.models.checkpoint import load_weights
from puzzleflow.models.piece_encoder import IMAGENET_VIT, ViTEncoder
from puzzleflow.models.puzzleflow import flow_preset
from puzzleflow.pictures import write_picture
from puzzleflow.training.flow import FlowTraining
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.state import STATE, load_state

VIT = {
    "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 32, "image_size": 32, "patch_size": 16,
}  # fmt: skip
TINY = replace(
    flow_preset("paper"), dim=24, num_heads=2, num_layers=1, feed_forward=32, piece_px=16, vit=VIT
)
PATCHES = "encoder.vit.embeddings.patch_embeddings.projection.weight"


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A command that trains a ViT of a size for tests for one step."""
    monkeypatch.setattr(FlowTraining, "presets", {"paper": TINY})
    folder, masks = tmp_path / "pictures", tmp_path / "masks"
    rng = np.random.default_rng(0)
    for index in range(30):
        write_picture(folder / f"{index:02}.png", rng.integers(0, 256, (64, 64, 3), dtype=np.uint8))
    write_picture(masks / "whole.png", np.full((128, 128), 255, np.uint8))
    return ["train", "flow", "--preset", "paper", "--data", folder, "--out", tmp_path / "run",
            "--masks", masks, "--grids", "2x2", "--pieces-per-batch", 8, "--num-validation", 2,
            "--workers", 0, "--steps", 1]  # fmt: skip


def test_training_starts_from_the_weights_of_a_local_folder(
    words: list[Any], tmp_path: Path
) -> None:
    vit = ViTEncoder.blank(16, **VIT).vit
    vit.save_pretrained(str(tmp_path / "vit"))  # type: ignore[operator]
    run(*words, "--vit", tmp_path / "vit")
    begun = vit.state_dict()["embeddings.patch_embeddings.projection.weight"]
    weights, described = load_weights(tmp_path / "run" / "flow.safetensors")
    torch.testing.assert_close(weights[PATCHES], begun, rtol=0, atol=1e-3)
    assert described["network"]["num_positions"] == 4
    settings = load_state(tmp_path / "run" / STATE)[1]["settings"]
    published = {"learning_rate": 1e-5, "schedule": "one-cycle", "cycle_momentum": True}
    assert published.items() <= settings.items()


def test_random_weights_are_asked_for_by_name(
    words: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, **_: Any) -> None:
        raise OSError(f"cannot reach the hub for {name}\nmore lines")

    monkeypatch.setattr("transformers.ViTModel.from_pretrained", refuse)
    with pytest.raises(InputError, match=r"name a local folder .* or say none") as caught:
        run(*words)
    assert IMAGENET_VIT in str(caught.value)
    assert "\n" not in str(caught.value)
    run(*words, "--vit", "none")
    assert (tmp_path / "run" / "flow.safetensors").exists()


def test_a_vit_of_another_size_is_refused(words: list[Any], tmp_path: Path) -> None:
    sizes = {**VIT, "hidden_size": 32}
    ViTEncoder.blank(16, **sizes).vit.save_pretrained(str(tmp_path / "vit"))  # type: ignore[operator]
    with pytest.raises(InputError, match="vit: gives 32 numbers a piece, expected 24"):
        run(*words, "--vit", tmp_path / "vit")


@pytest.mark.parametrize(
    ("asked", "has_gpu", "device", "precision"),
    [
        ("auto", True, "cuda", "16-mixed"),
        ("auto", False, "cpu", "32-true"),
        ("cuda", True, "cuda", "16-mixed"),
        ("cpu", True, "cpu", "32-true"),
    ],
)
def test_a_gpu_trains_in_half_precision(
    asked: str, has_gpu: bool, device: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr("torch.cuda.is_available", lambda: has_gpu)
    monkeypatch.setattr("torch.cuda.device_count", lambda: int(has_gpu))
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    monkeypatch.setattr("lightning_fabric.Fabric", lambda **options: given.update(options))
    fabric_for(asked)
    assert (given["accelerator"], given["precision"]) == (device, precision)


def test_a_trunk_may_learn_at_a_rate_of_its_own(tmp_path: Path) -> None:
    from puzzleflow.training.trainable import trainer_of

    config = replace(flow_preset("tiny"), dim=24, num_heads=2, num_layers=1)
    settings = LoopSettings(steps=2, trunk_rate=0.25)
    trainer = trainer_of(FlowTraining(), config, settings, tmp_path)
    shares = {
        id(p): group["share"] for group in trainer.optimizer.param_groups for p in group["params"]
    }
    trunk = {id(p) for p in trainer.plain.trunk.parameters() if p.requires_grad}  # type: ignore[union-attr]
    assert {shares[key] for key in trunk} == {0.25}
    assert {share for key, share in shares.items() if key not in trunk} == {1.0}
