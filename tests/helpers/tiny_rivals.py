"""Rivals so small that they cost nothing: for contracts, not for accuracy."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from puzzleflow.models.checkpoint import save_weights
from puzzleflow.solvers.rivals.base import Rival
from puzzleflow.training.registry import TRAINABLES
from puzzleflow.training.rivals import RivalTraining

TINY = {
    "piece_px": 16, "widths": (4, 6, 8), "dim": 16, "layers": 1, "heads": 2, "hidden": 8,
    "picture_px": 32, "steps": 3, "times": 20, "states": 2, "permutations": 30, "drawn": 4,
    "residual": 1, "factor": 4, "words": 16, "depth_px": 4, "population": 12, "generations": 2,
    "state_dim": 8, "starts": 2, "swaps": 1.0,
}  # fmt: skip
MODULE = "puzzleflow.training.rivals:"
RIVALS = sorted(n for n, target in TRAINABLES.builtin.items() if target.startswith(MODULE))


def trainable(name: str) -> RivalTraining:
    made: RivalTraining = TRAINABLES.load(name)()
    return made


def tiny_config(name: str) -> Any:
    small = trainable(name).presets["small"]
    known = {field.name for field in fields(small)}
    return replace(small, **{key: value for key, value in TINY.items() if key in known})


def tiny_network(name: str, config: Any = None) -> Rival:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return trainable(name).network(config or tiny_config(name))


def write_tiny_weights(folder: Path, name: str) -> Path:
    network = tiny_network(name)
    path = folder / f"{name}.safetensors"
    described = {"kind": name, "network": network.config.to_dict()}
    save_weights(path, network.state_dict(), described, dtype="float16")
    return path
