"""From a PuzzleFlow network to a folder of two ONNX graphs, in float32 or int8."""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from puzzleflow.core.errors import InputError, OutputError
from puzzleflow.core.grid import Grid
from puzzleflow.files import write_bytes, write_json
from puzzleflow.models.conv_encoder import PRIOR_FEATURES
from puzzleflow.models.flow_engine import (
    DESCRIPTION,
    ENCODER,
    IDENTITY,
    STEP,
    GraphsDescription,
    needs_export_extra,
    onnx_runtime,
)
from puzzleflow.models.puzzleflow import PuzzleFlow

OPSET = 20


class EncoderGraph(nn.Module):
    """Everything that happens once a puzzle."""

    def __init__(self, network: PuzzleFlow) -> None:
        super().__init__()
        self.network = network

    def forward(self, pixels: Tensor, prior: Tensor | None = None) -> Tensor:
        return self.network.encode(pixels, prior)


class StepGraph(nn.Module):
    """Everything that happens at each step."""

    def __init__(self, network: PuzzleFlow) -> None:
        super().__init__()
        self.network = network

    def forward(self, features: Tensor, x_t: Tensor, t: Tensor, grid: Tensor) -> Tensor:
        return self.network.logits(features, x_t, t, grid)


def export_flow(network: PuzzleFlow, folder: str | Path) -> GraphsDescription:
    """Write both graphs and then their description; every file whole or not at all."""
    network = network.eval()
    return _write(
        Path(folder),
        {ENCODER: lambda: _encoder(network), STEP: lambda: _step(network)},
        config=network.config.to_dict(),
        identity=_identity(network),
        precision="float32",
    )


def quantise_graphs(exported: str | Path, folder: str | Path) -> GraphsDescription:
    """Write exported graphs once more, the matrices of their linear layers in 8 bits.

    A convolutional encoder stays as it is: its few linear layers would lose
    precision and gain no time.
    """
    exported = Path(exported)
    described = GraphsDescription.read(exported)
    if described.precision != "float32":
        raise InputError(f"{exported}: its graphs are {described.precision} already")
    is_linear = described.config.get("encoder") == "vit"
    return _write(
        Path(folder),
        {
            ENCODER: partial(_quantised if is_linear else _read, exported / ENCODER),
            STEP: partial(_quantised, exported / STEP),
        },
        config=described.config,
        identity=hashlib.sha256(f"{described.identity} int8".encode()).hexdigest(),
        precision="int8",
    )


def _write(
    folder: Path, graphs: dict[str, Callable[[], Any]], config: dict[str, Any], identity: str,
    precision: str,
) -> GraphsDescription:  # fmt: skip
    if folder.exists() and not folder.is_dir():  # said before the work, not after it
        raise OutputError(f"cannot write {folder}: it is no folder")
    inputs, outputs = {}, {}
    for name, build in graphs.items():
        graph = build()
        inputs[name] = [value.name for value in graph.graph.input]
        outputs[name] = [value.name for value in graph.graph.output]
        _tidy(graph)
        graph.metadata_props.add(key=IDENTITY, value=identity)
        write_bytes(folder / name, graph.SerializeToString())
    described = GraphsDescription(config, identity, precision, OPSET, inputs, outputs)
    write_json(folder / DESCRIPTION, described.to_dict())
    return described


def _encoder(network: PuzzleFlow) -> Any:
    config = network.config
    B, N = torch.export.Dim("puzzles"), torch.export.Dim("pieces")
    asked = {"pixels": torch.rand(2, 6, 4, config.piece_px, config.piece_px)}
    axes: dict[str, dict[int, Any]] = {"pixels": {0: B, 1: N}}
    if config.relates:
        asked["prior"] = torch.rand(2, 2, 6, 6, PRIOR_FEATURES)
        axes["prior"] = {0: B, 2: N, 3: N}
    return _graph(EncoderGraph(network), asked, axes, "features")


def _step(network: PuzzleFlow) -> Any:
    """Any number of states; any grid, unless the model has one output a position."""
    config = network.config
    grid = Grid(2, 3) if config.num_positions is None else Grid(1, config.num_positions)
    pieces = grid.num_pieces
    width = config.dim + (4 * pieces if config.relates else 0)
    asked = {
        "features": torch.rand(2, pieces, width),
        "x_t": torch.arange(pieces).repeat(2, 1),
        "t": torch.tensor([0.25, 0.75]),
        "grid": torch.tensor(grid.shape),
    }
    K, N = torch.export.Dim("states"), torch.export.Dim("pieces")
    axes: dict[str, dict[int, Any]] = {"features": {0: K}, "x_t": {0: K}, "t": {0: K}, "grid": {}}
    if config.num_positions is None:
        axes["features"][1] = axes["x_t"][1] = N
        if config.relates:
            axes["features"][2] = 4 * N + config.dim
    return _graph(StepGraph(network), asked, axes, "logits")


def _graph(
    module: nn.Module, asked: dict[str, Tensor], axes: dict[str, dict[int, Any]], output: str
) -> Any:
    """The ONNX graph of ``module`` for inputs like ``asked`` with ``axes`` of any length."""
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise needs_export_extra(error) from error
    with _quiet(), sdpa_kernel(SDPBackend.MATH):  # fused attention leaves strides that do not last
        program = torch.onnx.export(
            module.eval(),
            tuple(asked.values()),
            dynamo=True,
            opset_version=OPSET,
            input_names=list(asked),
            output_names=[output],
            dynamic_shapes=tuple(axes.values()),
            verbose=False,
        )
    assert program is not None
    graph = program.model_proto
    del graph.graph.value_info[:]  # inner shapes: a runtime infers them, quantisation spoils them
    return graph


def _quantised(path: Path) -> Any:
    """Matrices as int8, activations as uint8 with ranges found at run time."""
    quantization = onnx_runtime("quantization")
    with tempfile.TemporaryDirectory() as folder, _quiet():
        rounded = Path(folder) / path.name
        quantization.quantize_dynamic(
            path,
            rounded,
            op_types_to_quantize=["MatMul", "Gemm"],
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
            reduce_range=True,  # processors without VNNI add pairs of products in 16 bits
        )
        return _read(rounded)


def _read(path: Path) -> Any:
    try:
        import onnx
    except ImportError as error:
        raise needs_export_extra(error) from error
    return onnx.load(path)


def _tidy(graph: Any) -> None:
    """Drop what says only how the exporter worked, down to lines of source files."""
    del graph.metadata_props[:]
    inner = graph.graph
    for part in (inner, *inner.node, *inner.input, *inner.output, *inner.initializer):
        del part.metadata_props[:]
        part.doc_string = ""


def _identity(network: PuzzleFlow) -> str:
    """The same for the same weights and configuration, and for no others."""
    digest = hashlib.sha256(json.dumps(network.config.to_dict()).encode())
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings and log lines of the exporter."""
    before = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(before)
