import os
from pathlib import Path
from typing import Any

import pytest
import torch
from official_checkpoint import save_official, their_state_dict

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.models.checkpoint import restore
from puzzleflow.models.official import read_official
from puzzleflow.models.puzzleflow import build_puzzleflow


def test_an_official_checkpoint_runs_as_ours(tmp_path: Path) -> None:
    weights, config = read_official(save_official(tmp_path / "best_model.pt"))
    assert (config.num_positions, config.dim, config.num_layers) == (9, 24, 2)
    assert (config.piece_px, config.time_dim, config.feed_forward) == (96, 6, 48)
    network = build_puzzleflow(config)
    restore(network, weights, "x")
    network.eval()
    theirs = their_state_dict()
    assert torch.equal(
        network.encoder.vit.state_dict()["layers.0.attention.k_proj.weight"],  # type: ignore[union-attr]
        theirs["vit.encoder.layer.0.attention.attention.key.weight"],
    )
    logits = network(
        torch.rand(1, 9, 4, 96, 96), torch.arange(9)[None], torch.tensor([0.5]), Grid(3, 3)
    )
    assert logits.shape == (1, 9, 9)


class Malicious:
    def __reduce__(self) -> Any:
        return os.mkdir, (str(Path(os.environ["PUZZLEFLOW_TEST_TRAP"])),)


def test_code_in_a_checkpoint_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = tmp_path / "trap"
    monkeypatch.setenv("PUZZLEFLOW_TEST_TRAP", str(trap))
    path = save_official(tmp_path / "evil.pt", extra=Malicious())
    with pytest.raises(FormatError, match=r"evil\.pt"):
        read_official(path)
    assert not trap.exists()


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"PK\x03\x04 broken"])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.pt"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"foreign\.pt"):
        read_official(path)


def test_other_models_are_refused(tmp_path: Path) -> None:
    torch.save({"weights": 1}, tmp_path / "a.pt")
    torch.save({"model_state_dict": {"conv.weight": torch.ones(1)}}, tmp_path / "b.pt")
    for name in ("a.pt", "b.pt"):
        with pytest.raises(FormatError, match=name):
            read_official(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        read_official(tmp_path / "none.pt")
