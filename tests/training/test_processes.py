"""Two processes train the same model as one with the same batches."""

import os
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

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
from lightning_fabric import Fabric

from puzzleflow.models.puzzleflow import flow_preset
from puzzleflow.training.banks import MaskBank, PictureBank
from puzzleflow.training.flow import FlowTraining
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import PuzzleStream, StreamConfig
from puzzleflow.training.trainable import batches_of, trainer_of


def train(fabric, pictures, folder):
    vit = dict(hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
               image_size=32, patch_size=16)  # no BatchNorm: its statistics are per process
    config = replace(flow_preset("tiny"), encoder="vit", vit=vit, dim=24, num_heads=2)
    discs = np.hypot(*np.mgrid[-64:64, -64:64])[None] < 60
    bank = PictureBank(sorted(Path(pictures).glob("*.png")), Path(folder) / "cache", size_px=96)
    cutting = StreamConfig(piece_px=32, pieces_per_batch=32, grids={"2x2": 1.0})
    stream = PuzzleStream(bank, MaskBank([(1.0, discs)]), cutting, seed=0)
    settings = LoopSettings(steps=3, warmup=0.3, learning_rate=1e-2, log_every=1)
    training = FlowTraining(vit="none", states=1, neighbours=0.0)
    trainer = trainer_of(training, config, settings, folder, fabric=fabric)
    trainer.fit(batches_of(stream, training, config, settings))


if __name__ == "__main__":
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn")
    fabric.launch(train, *sys.argv[1:])
"""


def test_two_processes_train_what_one_does(picture_folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    train = runpy.run_path(str(script))["train"]
    train(Fabric(accelerator="cpu", devices=1), str(picture_folder), str(tmp_path / "one"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(script), str(picture_folder), str(tmp_path / "two")]
    subprocess.run(command, check=True, env=environment, capture_output=True, timeout=500)
    states = [load_state(tmp_path / name / "state.safetensors") for name in ("one", "two")]
    assert [values["puzzles_seen"] for _, values in states] == [24, 24]

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
