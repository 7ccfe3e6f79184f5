"""The exported graphs compute what the network computes, and belong together."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import FloatArray
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.conv_encoder import PRIOR_FEATURES
from puzzleflow.models.export import export_flow, quantise_graphs
from puzzleflow.models.flow_engine import (
    DESCRIPTION,
    ENCODER,
    STEP,
    OnnxEngine,
    TorchEngine,
    open_engine,
    read_flow,
)
from puzzleflow.models.puzzleflow import FlowConfig, PuzzleFlow, build_puzzleflow, flow_preset

TINY_VIT = {
    "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 32, "image_size": 32, "patch_size": 16,
}  # fmt: skip
SIZES = {"dim": 24, "num_heads": 2, "num_layers": 1, "feed_forward": 32, "piece_px": 16}
CONFIGS = {
    "related": replace(flow_preset("small-seams"), **{**SIZES, "piece_px": 32, "head": (32,)}),
    "paper": replace(flow_preset("paper"), vit=TINY_VIT, **SIZES),
    "paper-supplement": replace(flow_preset("paper-supplement"), vit=TINY_VIT, **SIZES),
    "compact": replace(flow_preset("compact"), **{**SIZES, "piece_px": 32, "head": (32,)}),
    "tiny": flow_preset("tiny"),
    "direct": replace(flow_preset("tiny"), flow=False, num_layers=0),
}


def model(name: str) -> PuzzleFlow:
    with torch.random.fork_rng():
        torch.manual_seed(sorted(CONFIGS).index(name))
        network = build_puzzleflow(CONFIGS[name])
        for parameter in network.parameters():  # nothing stays at a telling zero
            parameter.data += 0.02 * torch.randn_like(parameter)
    return network.eval()


@pytest.fixture(scope="session")
def related(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs") / "related"
    export_flow(model("related"), folder)
    return folder


def questions(
    config: FlowConfig, grid: Grid, num: int, seed: int
) -> tuple[FloatArray, FloatArray | None]:
    """Pixels (B, N, 4, px, px) and, for a model that relates, a prior (B, 2, N, N, F)."""
    rng = np.random.default_rng(seed)
    N, px = grid.num_pieces, config.piece_px
    alpha = (rng.random((num, N, 1, px, px)) > 0.3).astype(np.float32)
    pixels = np.concatenate([alpha * rng.random((num, N, 3, px, px)), alpha], axis=2)
    prior = rng.normal(size=(num, 2, N, N, PRIOR_FEATURES)).astype(np.float32)
    return pixels.astype(np.float32), prior if config.relates else None


def check_agreement(network: PuzzleFlow, folder: Path, grid: Grid, num: int, seed: int) -> None:
    """Features of ``num`` puzzles, and logits of a state of each."""
    torch_engine, onnx_engine = TorchEngine(network), OnnxEngine(folder)
    pixels, prior = questions(network.config, grid, num, seed)
    features = torch_engine.encode(pixels, prior)
    np.testing.assert_allclose(onnx_engine.encode(pixels, prior), features, atol=2e-5, rtol=1e-4)
    rng = np.random.default_rng(seed)
    x_t = rng.integers(0, grid.num_pieces, (num, grid.num_pieces))  # states may collide
    t = rng.random(num, dtype=np.float32)
    logits = torch_engine.step(features, x_t, t, grid)
    assert logits.shape == (num, grid.num_pieces, grid.num_pieces)
    np.testing.assert_allclose(
        onnx_engine.step(features, x_t, t, grid), logits, atol=2e-5, rtol=1e-4
    )


@settings(max_examples=15)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
def test_one_pair_of_graphs_serves_any_grid(
    related: Path, rows: int, cols: int, num: int, seed: int
) -> None:
    check_agreement(model("related"), related, Grid(rows, cols), num, seed)


def test_the_graph_sees_the_shape_of_the_grid(related: Path) -> None:
    engine = OnnxEngine(related)
    features = engine.encode(*questions(CONFIGS["related"], Grid(2, 3), 1, 0))
    x_t, t = np.arange(6)[None], np.array([0.5], dtype=np.float32)
    wide = engine.step(features, x_t, t, Grid(2, 3))
    assert not np.allclose(wide, engine.step(features, x_t, t, Grid(3, 2)), atol=1e-4)


@pytest.mark.slow
def test_a_model_for_nine_pieces_takes_any_grid_of_nine(tmp_path: Path) -> None:
    network = model("paper")
    described = export_flow(network, tmp_path)
    assert described.inputs == {ENCODER: ["pixels"], STEP: ["features", "x_t", "t", "grid"]}
    for grid, num in ((Grid(3, 3), 1), (Grid(3, 3), 3), (Grid(1, 9), 2)):
        check_agreement(network, tmp_path, grid, num, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper-supplement", "tiny", "direct"])
def test_other_models_agree_too(name: str, tmp_path: Path) -> None:
    network = model(name)
    export_flow(network, tmp_path)
    grids = [Grid(3, 3), Grid(1, 9)]
    if network.config.num_positions is None:
        grids += [Grid(5, 5), Grid(1, 1)]
    for grid in grids:
        check_agreement(network, tmp_path, grid, 2, 0)


def test_the_folder_describes_itself(related: Path) -> None:
    assert {path.name for path in related.iterdir()} == {ENCODER, STEP, DESCRIPTION}
    content = json.loads((related / DESCRIPTION).read_text())
    assert content["precision"] == "float32"
    assert content["inputs"][ENCODER] == ["pixels", "prior"]
    assert content["outputs"] == {ENCODER: ["features"], STEP: ["logits"]}
    assert FlowConfig.from_dict(content["config"]) == CONFIGS["related"]


def test_graphs_tell_nothing_of_the_machine(related: Path) -> None:
    here = str(Path(torch.__file__).parent).encode()
    for name in (ENCODER, STEP):
        content = (related / name).read_bytes()
        assert here not in content
        assert b"stack_trace" not in content


def test_int8_is_smaller_and_near(related: Path, tmp_path: Path) -> None:
    assert quantise_graphs(related, tmp_path).precision == "int8"
    assert (tmp_path / STEP).stat().st_size < (related / STEP).stat().st_size
    plain, rounded = OnnxEngine(related), OnnxEngine(tmp_path)
    grid = Grid(3, 3)
    features = plain.encode(*questions(plain.config, grid, 1, 0))
    x_t, t = np.arange(9)[None], np.array([0.5], dtype=np.float32)
    exact, near = (engine.step(features, x_t, t, grid) for engine in (plain, rounded))
    assert not np.array_equal(exact, near)
    assert np.abs(exact - near).max() < 0.1 * np.ptp(exact)
    with pytest.raises(InputError, match="its graphs are int8 already"):
        quantise_graphs(tmp_path, tmp_path / "again")
    shutil.copy(related / DESCRIPTION, tmp_path / DESCRIPTION)
    with pytest.raises(FormatError, match=r"encoder\.onnx: a graph of another model"):
        OnnxEngine(tmp_path)  # the same weights in another precision


def test_missing_files_are_named(related: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model\.json: no such file; `puzzleflow export`"):
        open_engine(tmp_path)
    for name in (ENCODER, STEP):
        folder = tmp_path / name
        shutil.copytree(related, folder)
        (folder / name).unlink()
        with pytest.raises(InputError, match=f"{name}: no such graph"):
            open_engine(folder)


@pytest.mark.parametrize("name", [ENCODER, STEP])
def test_a_damaged_graph_is_named(related: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(related, tmp_path, dirs_exist_ok=True)
    content = (related / name).read_bytes()
    for damaged in (b"", b"no graph", content[: len(content) // 2]):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(FormatError, match=name):
            OnnxEngine(tmp_path)


def test_graphs_of_another_model_are_refused(related: Path, tmp_path: Path) -> None:
    shutil.copytree(related, tmp_path, dirs_exist_ok=True)
    described = json.loads((related / DESCRIPTION).read_text())
    (tmp_path / DESCRIPTION).write_text(json.dumps({**described, "identity": "other"}))
    with pytest.raises(FormatError, match="a graph of another model than"):
        OnnxEngine(tmp_path)
    shutil.copy(related / DESCRIPTION, tmp_path / DESCRIPTION)
    shutil.copy(related / ENCODER, tmp_path / STEP)  # of the right model, but the other graph
    with pytest.raises(
        FormatError, match=r"step\.onnx: expected the inputs features, x_t, t, grid"
    ):
        OnnxEngine(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "expected the description of"),
        ({"identity": None}, "identity is missing"),
        ({"config": []}, "its config is no JSON object"),
        ({"config": {"colour": 1}}, "no setting colour"),
        ({"inputs": 3}, "expected the names of inputs"),
    ],
)
def test_a_wrong_description_is_named(
    related: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    shutil.copytree(related, tmp_path, dirs_exist_ok=True)
    described = {**json.loads((related / DESCRIPTION).read_text()), **change}
    described = {key: value for key, value in described.items() if value is not None}
    (tmp_path / DESCRIPTION).write_text(json.dumps(described))
    with pytest.raises(InputError, match=message) as caught:
        OnnxEngine(tmp_path)
    assert DESCRIPTION in str(caught.value)


def test_a_missing_package_is_named(related: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"onnxruntime: pip install 'puzzleflow\[export\]'"):
        OnnxEngine(related)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(InputError, match=r"onnxscript: pip install 'puzzleflow\[export\]'"):
        export_flow(model("tiny"), related)


def test_weights_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_weights(path, {"a": torch.zeros(1)}, {"kind": "relational", "network": {}})
    with pytest.raises(
        FormatError, match="expected weights of kind flow or flow-seams, not relational"
    ):
        read_flow(path)
    save_weights(
        path, {"a": torch.zeros(1)}, {"kind": "flow", "network": CONFIGS["tiny"].to_dict()}
    )
    with pytest.raises(FormatError, match="describes a larger network"):
        open_engine(path)
