"""Weights from strangers: of another solver, damaged, absurd. Always one error, always named."""

from __future__ import annotations

import functools
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from official_checkpoint import save_official, their_state_dict

from puzzleflow.core.errors import CannotSolve, FormatError, InputError, PuzzleFlowError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.generation.outline_model import load_outline_model
from puzzleflow.models.checkpoint import (
    build_network,
    bundled_weights,
    load_weights,
    save_weights,
)
from puzzleflow.models.edge_embedding import EdgeConfig, EdgeEmbedding
from puzzleflow.models.flow_engine import read_flow
from puzzleflow.models.fragment_vae import load_decoder
from puzzleflow.models.official import read_official
from puzzleflow.models.puzzleflow import build_puzzleflow
from puzzleflow.solvers.relational import RelationalSolver
from puzzleflow.solvers.relational_energy import check_fitted
from puzzleflow.solvers.rg_lns import RgLnsSolver

LOADERS: dict[str, Callable[[Path], Any]] = {
    "flow_seams": read_flow,
    "relational": RelationalSolver,
    "rg_lns": RgLnsSolver,
    "fragment_vae": load_decoder,
    "fragment_outline": load_outline_model,
}
TINY = EdgeConfig(
    piece_px=24, widths=(2, 2, 2), blocks=(0, 0, 0), side_hidden=2, side_dim=2, embedding_dim=2
)


@pytest.mark.parametrize("wanted", LOADERS)
@pytest.mark.parametrize("given_", LOADERS)
def test_weights_of_another_model_are_one_clear_error(wanted: str, given_: str) -> None:
    path = bundled_weights(f"{given_}.safetensors")
    if given_ == wanted:
        LOADERS[wanted](path)
        return
    with pytest.raises(FormatError, match=rf"{given_}\.safetensors: expected weights of kind"):
        LOADERS[wanted](path)


@pytest.fixture(scope="module")
def tiny() -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    torch.manual_seed(0)
    network = EdgeEmbedding(TINY)
    return network.state_dict(), {"kind": "edges", "network": network.config.to_dict()}


def tampered(path: Path, tensors: dict[str, torch.Tensor], config: Any) -> Path:
    save_weights(path, tensors, config)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": 7}, "kind edges, not 7"),
        ({"network": None}, "describes no network"),
        ({"network": {"depth": "deep"}}, "depth: expected a number"),
        ({"network": {"colour": 1}}, "unknown 'colour'"),
        ({"network": {"embedding_dim": 10**12}}, "up to 8192"),
        ({"network": {"embedding_dim": 8192}}, "another model"),
        ({"network": {"blocks": [0, 0, 8192]}}, "larger network"),
        ({"network": {"blocks": [0, 0]}}, "describes no network"),
        ({"network": {"piece_px": 25}}, "piece_px: expected a multiple of 8"),
        ({"network": {"piece_px": 8192}}, "piece_px"),
        ({"network": {"widths": [2, 2, -1]}}, "widths"),
        ({"network": {"depth": float("inf")}}, "depth"),
    ],
)
def test_configs_are_checked(
    tiny: tuple[dict[str, torch.Tensor], dict[str, Any]],
    tmp_path: Path,
    change: dict[str, Any],
    message: str,
) -> None:
    tensors, config = tiny
    if isinstance(change.get("network"), dict):
        change = {"network": config["network"] | change["network"]}
    path = tampered(tmp_path / "w.safetensors", tensors, config | change)
    with pytest.raises(InputError, match=rf"w\.safetensors: .*{message}"):
        RgLnsSolver(path)


def test_a_deep_config(tiny: Any, tmp_path: Path) -> None:
    tensors, config = tiny
    path = tampered(tmp_path / "w.safetensors", tensors, config | {"training": nested(40)})
    with pytest.raises(FormatError, match=r"w\.safetensors: .*nested too deeply"):
        load_weights(path)
    text = '{"kind": "edges", "network": ' + "[" * 100_000 + "]" * 100_000 + "}"
    header = json.dumps({"__metadata__": {"puzzleflow": text}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(FormatError, match=r"w\.safetensors: its config is no JSON"):
        load_weights(path)
    path.write_bytes(struct.pack("<Q", 1 << 40) + header)
    with pytest.raises(FormatError, match=r"w\.safetensors: .*header is too large"):
        load_weights(path)


def nested(depth: int) -> Any:
    return functools.reduce(lambda inner, _: [inner], range(depth), [])


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "not finite"), (np.inf, "not finite"), (3e38, "beyond"), (-1.0, "variance")],
)
def test_numbers_are_checked(tiny: Any, tmp_path: Path, value: float, message: str) -> None:
    tensors, config = tiny
    name = next(name for name in tensors if name.endswith("running_var"))
    broken = tensors[name].clone()
    broken[0] = value
    path = tampered(tmp_path / "w.safetensors", tensors | {name: broken}, config)
    with pytest.raises(FormatError, match=rf"w\.safetensors: {name}: holds .*{message}"):
        RgLnsSolver(path)


def test_types_names_and_shapes_are_checked(tiny: Any, tmp_path: Path) -> None:
    tensors, config = tiny
    name = "project.0.weight"
    for change in (
        {name: tensors[name].long()},
        {name: tensors[name][:-1]},
        {name: tensors[name][None]},
        {"more": torch.zeros(1)},
    ):
        path = tampered(tmp_path / "w.safetensors", tensors | change, config)
        with pytest.raises(FormatError, match=r"w\.safetensors: weights of another model \("):
            RgLnsSolver(path)
    path = tampered(
        tmp_path / "w.safetensors", tensors | {name: torch.ones(2, dtype=torch.int8)}, config
    )
    with pytest.raises(FormatError, match=r"w\.safetensors: .*expected numbers, found torch\.int8"):
        RgLnsSolver(path)


def test_answers_that_are_not_finite_name_the_weights(tiny: Any, tmp_path: Path) -> None:
    tensors, config = tiny
    wild = {
        name: torch.full_like(tensor, 9e5) if tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }
    wild |= {name: tensor * 0 for name, tensor in wild.items() if name.endswith("running_var")}
    solver = RgLnsSolver(tampered(tmp_path / "w.safetensors", wild, config))
    pieces = np.random.default_rng(0).integers(0, 256, (4, 24, 24, 4)).astype(np.uint8)
    with pytest.raises(CannotSolve, match=r"w\.safetensors: .*not finite"):
        solver.prepare(Puzzle(pieces, Grid(2, 2)))


def test_fitted_energies_are_checked(tmp_path: Path) -> None:
    tensors, config = load_weights(bundled_weights("relational.safetensors"))
    for energy in (
        7,
        {"3x3": 1},
        {"nose": {"pair": 1.0}},
        {"3x3": {"pair": "x"}},
        {"3x3": {"q": 1}},
    ):
        path = tampered(tmp_path / "w.safetensors", tensors, config | {"energy": energy})
        with pytest.raises(InputError, match=r"w\.safetensors: "):
            RelationalSolver(path)


def test_fitted_energies_may_be_divided_further() -> None:
    for energy in ({}, {"3x3": {"pair": 1}}, {"closed": {"3x3": {"pair": 1.0}}, "open": {}}):
        assert check_fitted(energy) == energy
    with pytest.raises(InputError, match="energy: "):
        check_fitted({"closed": {"3x3": {"pair": True}}})


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_end_in_one_error_or_load(tiny: Any, tmp_path: Path, data: Any) -> None:
    """Some value of the config replaced by anything, or some bytes of the file changed."""
    tensors, config = tiny
    config = json.loads(json.dumps(config))
    if data.draw(st.booleans()):
        place = data.draw(st.sampled_from([config, config["network"]]))
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(anything)
    path = tampered(tmp_path / "w.safetensors", tensors, config)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, len(content) - 1) | st.integers(0, 600))
        content[start : start + 2] = data.draw(st.binary(min_size=0, max_size=4))
    path.write_bytes(content)
    message = str(path)
    try:
        RgLnsSolver(path)
    except PuzzleFlowError as error:
        message = str(error)
    assert message.startswith(str(path))


def convert(path: Path) -> None:
    weights, config = read_official(path)
    build_network(lambda: build_puzzleflow(config), weights, path)


D = 24
STRANGE: dict[str, dict[str, Any]] = {
    "a layer far away": {"transformer.layers.999999.x": torch.zeros(1)},
    "a layer of ViT far away": {"vit.encoder.layer.999999.output.dense.bias": torch.zeros(1)},
    "a number with zeros": {"transformer.layers.00.x": torch.zeros(1)},
    "a digit that is none": {"transformer.layers.².x": torch.zeros(1)},
    "a huge claim": {"position_embedding.weight": torch.zeros(1).expand(1 << 20, 1 << 20)},
    "a sparse tensor": {"position_embedding.weight": torch.zeros(9, D).to_sparse()},
    "whole numbers": {"position_embedding.weight": torch.zeros(9, D).long()},
    "a complex tensor": {"position_embedding.weight": torch.zeros(9, D).to(torch.complex64)},
    "no axes": {"position_embedding.weight": torch.tensor(1.0)},
    "empty": {"position_embedding.weight": torch.zeros(0, 0)},
    "flat patches": {"vit.embeddings.patch_embeddings.projection.weight": torch.zeros(3)},
    "a NaN": {"time_mlp.0.bias": torch.full((D,), torch.nan)},
    "a name that is none": {7: torch.zeros(1)},
    "no tensor": {"time_mlp.0.bias": [1.0]},
}


@pytest.mark.parametrize("what", STRANGE)
def test_strange_official_tensors(tmp_path: Path, what: str) -> None:
    path = save_official(tmp_path / "m.pt", model_state_dict=their_state_dict() | STRANGE[what])
    with pytest.raises(InputError, match=r"m\.pt: "):
        convert(path)


@pytest.mark.parametrize(
    "config",
    [
        {"n_heads": float("inf")},
        {"n_heads": float("nan")},
        {"n_heads": [1]},
        {"n_heads": 5},
        {"n_heads": 0},
        {"piece_size": []},
        {"piece_size": 10**9},
        {"dim_feedforward": 10**30},
        {"dropout": "much"},
        {"dropout": 2},
    ],
)
def test_strange_official_configs(tmp_path: Path, config: dict[str, Any]) -> None:
    path = save_official(tmp_path / "m.pt", config=config)
    with pytest.raises(InputError, match=r"m\.pt: "):
        convert(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_official_files(tmp_path: Path, data: Any) -> None:
    whole = tmp_path / "whole.pt"
    if not whole.exists():
        save_official(whole)
    content = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content) - 1) | st.integers(0, 12_000))
        content[start : start + 3] = data.draw(st.binary(min_size=0, max_size=4))
    (tmp_path / "m.pt").write_bytes(content)
    message = str(tmp_path / "m.pt")
    try:
        convert(tmp_path / "m.pt")
    except PuzzleFlowError as error:
        message = str(error)
    assert message.startswith(str(tmp_path / "m.pt"))
