from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.models.checkpoint import bundled_weights, load_weights, restore, save_weights


def test_round_trip_keeps_tensors_and_config(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    tensors = {"a": torch.randn(3, 4), "count": torch.tensor(7)}
    config = {"kind": "thing", "sizes": [1, 2], "note": "naïve"}
    save_weights(path, tensors, config)
    found, said = load_weights(path)
    assert torch.equal(found["a"], tensors["a"])
    assert found["count"].dtype == torch.int64
    assert said == config
    assert [p.name for p in tmp_path.iterdir()] == ["weights.safetensors"]


def test_half_precision_halves_the_file_and_loads_as_float32(tmp_path: Path) -> None:
    tensors = {"a": torch.randn(100, 100), "count": torch.tensor(7)}
    save_weights(tmp_path / "half", tensors, {}, dtype="float16")
    save_weights(tmp_path / "full", tensors, {})
    found, _ = load_weights(tmp_path / "half")
    assert found["a"].dtype == torch.float32
    assert found["count"].item() == 7
    assert torch.allclose(found["a"], tensors["a"], atol=2e-3)
    assert (tmp_path / "half").stat().st_size < 0.6 * (tmp_path / "full").stat().st_size


def test_shared_and_turned_tensors_can_be_stored(tmp_path: Path) -> None:
    base = torch.arange(6.0).reshape(2, 3)
    save_weights(tmp_path / "w", {"a": base, "b": base.T, "c": base}, {})
    found, _ = load_weights(tmp_path / "w")
    assert torch.equal(found["b"], base.T)


def test_faults_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.safetensors: no such"):
        load_weights(tmp_path / "absent.safetensors")
    (tmp_path / "text").write_text("not weights")
    with pytest.raises(FormatError, match="text: expected a safetensors"):
        load_weights(tmp_path / "text")
    save_file({"a": torch.zeros(1)}, tmp_path / "foreign")
    with pytest.raises(FormatError, match="not one of puzzleflow"):
        load_weights(tmp_path / "foreign")
    save_file({"a": torch.zeros(1)}, tmp_path / "listed", metadata={"puzzleflow": "[1]"})
    with pytest.raises(FormatError, match="no JSON object"):
        load_weights(tmp_path / "listed")
    save_file({"a": torch.zeros(1)}, tmp_path / "torn", metadata={"puzzleflow": "{"})
    with pytest.raises(FormatError, match="no JSON"):
        load_weights(tmp_path / "torn")
    with pytest.raises(InputError, match="float64"):
        save_weights(tmp_path / "w", {}, {}, dtype="float64")
    with pytest.raises(InputError, match="do not ship"):
        bundled_weights("nothing.safetensors")


def test_a_cut_file_is_a_format_error(tmp_path: Path) -> None:
    path = tmp_path / "w"
    save_weights(path, {"a": torch.randn(50, 50)}, {})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FormatError):
        load_weights(path)


def test_restore_refuses_another_model() -> None:
    with pytest.raises(FormatError, match=r"my\.file: weights of another model"):
        restore(torch.nn.Linear(2, 3), {"weight": torch.zeros(2, 2)}, "my.file")
