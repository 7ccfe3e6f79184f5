"""``puzzleflow convert`` as a command."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from command_line import run
from official_checkpoint import save_official, their_state_dict

from puzzleflow.core.errors import FormatError
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.models.puzzleflow import FlowConfig, build_puzzleflow


def test_an_official_checkpoint_becomes_weights_that_load(tmp_path: Path) -> None:
    checkpoint, out = save_official(tmp_path / "best_model.pt"), tmp_path / "ours.safetensors"
    told = run("convert", checkpoint, "--out", out)
    assert told == f"{out}: PuzzleFlow for 9 pieces of 96 px\n"
    tensors, config = load_weights(out)
    assert (config["kind"], config["source"]) == ("flow", "best_model.pt")
    network = build_puzzleflow(FlowConfig.from_dict(config["network"]))
    restore(network, tensors, out)
    theirs = their_state_dict()["position_embedding.weight"]
    assert any(
        theirs.shape == ours.shape and torch.equal(theirs, ours) for ours in tensors.values()
    )


def test_half_the_size(tmp_path: Path) -> None:
    checkpoint = save_official(tmp_path / "best_model.pt")
    for name, options in (("whole", ()), ("half", ("--half",))):
        run("convert", checkpoint, "--out", tmp_path / name, *options)
    whole, half = ((tmp_path / name).stat().st_size for name in ("whole", "half"))
    assert half < 0.7 * whole


def test_what_is_no_checkpoint_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(b"no checkpoint")
    with pytest.raises(FormatError, match=r"a\.pt"):
        run("convert", tmp_path / "a.pt", "--out", tmp_path / "out.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]
