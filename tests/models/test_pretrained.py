"""Weights that are passed on: whole, with a card that says what they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml

from puzzleflow import Pretrained
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.models.checkpoint import bundled_weights, load_weights, save_weights

BUNDLED = sorted(bundled_weights("relational.safetensors").parent.glob("*.safetensors"))


@pytest.mark.parametrize("weights", BUNDLED, ids=lambda path: path.stem)
def test_all_weights_of_this_package_can_be_passed_on(weights: Path, tmp_path: Path) -> None:
    model = Pretrained.from_pretrained(weights)
    assert model.card == weights.with_suffix(".md").read_text(encoding="utf-8")
    folder = model.save_pretrained(tmp_path / "ready")
    again = Pretrained.from_pretrained(folder)
    assert again.weights.read_bytes() == weights.read_bytes()
    assert (again.kind, again.config) == (model.kind, model.config)
    assert again.card.count(model.card.strip()) == 1
    again.save_pretrained(tmp_path / "once more")  # a card that is ready stays as it is
    assert (tmp_path / "once more" / "README.md").read_text("utf-8") == again.card


def test_a_card_is_written_from_what_the_weights_say(tmp_path: Path) -> None:
    config = {
        "kind": "mine",
        "network": {"width": 7},
        "validation": {"score": 0.25},
        "puzzles_seen": 1234,
        "training_minutes": 5,
    }
    save_weights(tmp_path / "run" / "mine.safetensors", {"w": torch.ones(2)}, config)
    (tmp_path / "run" / "state.safetensors").write_bytes(b"not for others")
    folder = Pretrained.from_pretrained(tmp_path / "run").save_pretrained(tmp_path / "ready")
    card = (folder / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(card.split("---")[1])
    assert head["library_name"] == "puzzleflow"
    assert "mine" in head["tags"]
    for told in (
        "| width | 7 |",
        "1234 puzzles seen, 5 minutes",
        "- score: 0.25",
        'load_solver("mine"',
    ):
        assert told in card
    assert torch.equal(load_weights(folder / "model.safetensors", "mine")[0]["w"], torch.ones(2))


def test_what_is_no_weights_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such weights file"):
        Pretrained.from_pretrained(tmp_path)
    (tmp_path / "x.safetensors").write_bytes(b"x" * 30)
    with pytest.raises(FormatError, match="expected a safetensors file"):
        Pretrained.from_pretrained(tmp_path)
