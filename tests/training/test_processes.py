"""Two processes train the same model as one with the same batches, and one goes on after two."""

import json
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from puzzleflow.core.grid import Grid
from puzzleflow.models.puzzleflow import build_puzzleflow, flow_preset
from puzzleflow.training.state import load_state, under

TINY_VIT = {
    "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 32, "image_size": 32, "patch_size": 16,
}  # fmt: skip

SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from puzzleflow.cli._training import fabric_for
from puzzleflow.models.puzzleflow import flow_preset
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.flow import FlowTraining
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import PuzzleStream, StreamConfig
from puzzleflow.training.trainable import batches_of, trainer_of


def train(fabric, pictures, folder, until):
    vit = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
               image_size=32, patch_size=16)  # no BatchNorm: its statistics are per process
    config = replace(flow_preset("tiny"), encoder="vit", vit=vit, dim=24, num_heads=2)
    discs = np.hypot(*np.mgrid[-64:64, -64:64])[None] < 60
    bank = PictureBank(sorted(Path(pictures).glob("*.png")), Path(folder) / "cache", size_px=96)
    cutting = StreamConfig(piece_px=32, pieces_per_batch=28, grids={"2x2": 1.0})
    stream = PuzzleStream(bank, MaskBank([(1.0, discs)]), cutting, seed=0)
    settings = LoopSettings(steps=4, warmup=0.3, learning_rate=1e-2, log_every=1)
    training = FlowTraining(vit="none", states=1, neighbours=0.0)
    trainer = trainer_of(training, config, settings, folder, fabric=fabric)
    trainer.fit(batches_of(stream, training, config, settings), until=until)


if __name__ == "__main__":
    fabric = fabric_for("cpu")
    fabric.launch()
    assert fabric.world_size == 2
    with fabric.rank_zero_first():
        pictures = sorted(Path(sys.argv[1]).glob("*.png"))
        PictureBank(pictures, Path(sys.argv[2]) / "cache", size_px=96)
    train(fabric, *sys.argv[1:], until=2)
"""


def losses(folder: Path) -> list[tuple[int, float]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [(line["step"], line["loss"]) for line in lines if "loss" in line]


def test_two_processes_train_what_one_does(picture_folder: Path, tmp_path: Path) -> None:
    """Seven puzzles a batch: four rows for one process, three for the other."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    train = runpy.run_path(str(script))["train"]
    alone = Fabric(accelerator="cpu", devices=1)
    train(alone, str(picture_folder), str(tmp_path / "one"), until=4)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", script, picture_folder, tmp_path / "two"]
    subprocess.run(command, check=True, env=environment, capture_output=True, timeout=500)
    assert [step for step, _ in losses(tmp_path / "two")] == [1, 2]  # one of them writes
    train(alone, str(picture_folder), str(tmp_path / "two"), until=4)
    curves = [dict(losses(tmp_path / name)) for name in ("one", "two")]
    assert list(curves[0]) == [1, 2, 3, 4]
    assert curves[1] == pytest.approx(curves[0], abs=2e-4)
    states = [load_state(tmp_path / name / "state.safetensors") for name in ("one", "two")]
    assert [values["puzzles_seen"] for _, values in states] == [28, 28]

    # weights that no loss depends on drift with rounding, so predictions are compared
    vit = replace(flow_preset("tiny"), encoder="vit", vit=TINY_VIT, dim=24, num_heads=2)
    pixels = torch.rand(2, 4, 4, 32, 32, generator=torch.Generator().manual_seed(0))
    predictions = []
    for tensors, _ in states:
        network = build_puzzleflow(vit).eval()
        network.load_state_dict(under("network", tensors))
        with torch.no_grad():
            logits = network(
                pixels, torch.arange(4).expand(2, 4), torch.full((2,), 0.4), Grid(2, 2)
            )
        predictions.append(logits.log_softmax(dim=2))
    torch.testing.assert_close(*predictions, atol=1e-4, rtol=1e-3)
