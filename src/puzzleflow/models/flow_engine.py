"""What runs a PuzzleFlow model: PyTorch, or ONNX Runtime on exported graphs.

Both engines take and give NumPy arrays, so that one solver works with both.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.files import read_json, read_regular
from puzzleflow.models.checkpoint import load_network
from puzzleflow.models.piece_encoder import RGBAProjection, ViTEncoder
from puzzleflow.models.puzzleflow import FlowConfig, PuzzleFlow, build_puzzleflow

ENCODER = "encoder.onnx"
STEP = "step.onnx"
DESCRIPTION = "model.json"
IDENTITY = "puzzleflow"  # key of the identity in a graph's metadata
FORMAT = "puzzleflow flow graphs 1"
# By default ONNX Runtime keeps a database of events in the user's cache and sends them to its
# maker. It reads this variable when its library is loaded, be it by us or by an exporter.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


class FlowEngine(Protocol):
    """A model that is ready to be asked; ``config`` says what it was built as."""

    config: FlowConfig

    def encode(self, pixels: FloatArray, prior: FloatArray | None = None) -> FloatArray:
        """(B, N, 4, px, px) float32 premultiplied in [0, 1] → features (B, N, D) float32.

        prior  (B, 2, N, N, F) float32 seam prior, if the model relates pieces; the
               features are then 4N wider
        """
        ...

    def slice_to_rgb(self) -> None:
        """Replace a learned RGBA → RGB projection, where there is one, by "drop alpha"."""
        ...

    def step(self, features: FloatArray, x_t: IntArray, t: FloatArray, grid: Grid) -> FloatArray:
        """Features (K, N, D), state (K, N), time (K,) float32 → logits (K, N, N) float32."""
        ...


class TorchEngine:
    """The model itself, in evaluation mode."""

    def __init__(self, network: PuzzleFlow) -> None:
        self.network = network.eval()
        self.config = network.config

    def slice_to_rgb(self) -> None:
        if isinstance(self.network.encoder, ViTEncoder):
            self.network.encoder.projection = RGBAProjection()

    @torch.inference_mode()
    def encode(self, pixels: FloatArray, prior: FloatArray | None = None) -> FloatArray:
        known = None if prior is None else torch.from_numpy(prior)
        features: FloatArray = self.network.encode(torch.from_numpy(pixels), known).numpy()
        return features

    @torch.inference_mode()
    def step(self, features: FloatArray, x_t: IntArray, t: FloatArray, grid: Grid) -> FloatArray:
        h, state, now = torch.from_numpy(features), torch.from_numpy(x_t), torch.from_numpy(t)
        logits: FloatArray = self.network.step(h, state, now, grid).numpy()
        return logits


def read_flow(path: str | Path, device: str = "cpu") -> PuzzleFlow:
    """The model of a weights file, in evaluation mode."""
    kinds = ("flow", "flow-seams")  # the solvers that such a model is for
    return load_network(
        path, lambda sizes: build_puzzleflow(FlowConfig.from_dict(sizes)), *kinds, device=device
    )[0]


def open_engine(path: str | Path, device: str = "cpu") -> FlowEngine:
    """A weights file runs in PyTorch, a folder of exported graphs in ONNX Runtime."""
    if Path(path).is_dir():
        return OnnxEngine(path)
    return TorchEngine(read_flow(path, device))


@dataclass(frozen=True)
class GraphsDescription:
    """A folder of two ONNX graphs, and what its ``model.json`` says.

    encoder.onnx   pixels (B, N, 4, px, px) float32 → features (B, N, D) float32
    step.onnx      features (K, N, D) float32, x_t (K, N) int64, t (K,) float32,
                   grid (2,) int64 rows and columns → logits (K, N, N) float32
    model.json     the model's configuration, inputs, opset and precision

    Pixels are premultiplied, in [0, 1]. The encoder of a model that relates pieces
    also takes their seam prior (B, 2, N, N, F) and gives features of width D + 4N.
    ``puzzleflow export`` writes it. Each graph carries the same identity as
    ``model.json``, so that graphs of different models never work together.

    identity   of weights, configuration and precision together
    precision  "float32" or "int8"
    """

    config: dict[str, Any]
    identity: str
    precision: str
    opset: int
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    format: str = FORMAT

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, folder: str | Path) -> GraphsDescription:
        """Of a folder; one that the export did not write is an error."""
        path = Path(folder) / DESCRIPTION
        if not path.is_file():
            raise InputError(f"{path}: no such file; `puzzleflow export` writes it with its graphs")
        content = read_json(path)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FormatError(f"{path}: expected the description of {FORMAT!r}")
        if missing := {field.name for field in fields(cls)} - set(content):
            raise FormatError(f"{path}: {', '.join(sorted(missing))} is missing")
        if not isinstance(content["config"], dict):
            raise FormatError(f"{path}: its config is no JSON object")
        for key in ("inputs", "outputs"):
            names = content[key] if isinstance(content[key], dict) else {}
            if not all(isinstance(names.get(graph), list) for graph in (ENCODER, STEP)):
                raise FormatError(f"{path}: expected the names of {key} of {ENCODER} and {STEP}")
        return cls(**{field.name: content[field.name] for field in fields(cls)})


class OnnxEngine:
    """ONNX Runtime on exported graphs, with as many threads as PyTorch would take."""

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        self.description = GraphsDescription.read(folder)
        with naming(folder / DESCRIPTION):
            self.config = FlowConfig.from_dict(self.description.config)
        self._encoder = _session(folder / ENCODER, self.description)
        self._step = _session(folder / STEP, self.description)

    def slice_to_rgb(self) -> None:
        if self.config.vit is not None:
            raise InputError("exported graphs keep their projection: hide alpha with the weights")

    def encode(self, pixels: FloatArray, prior: FloatArray | None = None) -> FloatArray:
        asked = {"pixels": pixels} if prior is None else {"pixels": pixels, "prior": prior}
        features: FloatArray = self._encoder.run(None, asked)[0]
        return features

    def step(self, features: FloatArray, x_t: IntArray, t: FloatArray, grid: Grid) -> FloatArray:
        shape = np.array(grid.shape, dtype=np.int64)
        asked = {"features": features, "x_t": x_t, "t": t, "grid": shape}
        logits: FloatArray = self._step.run(None, asked)[0]
        return logits


def _session(path: Path, described: GraphsDescription) -> Any:
    """A runtime session of one graph, if it is the one that is described."""
    onnxruntime = onnx_runtime()
    if not path.is_file():
        raise InputError(f"{path}: no such graph; `puzzleflow export` writes the folder anew")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # errors only
    try:
        session = onnxruntime.InferenceSession(
            read_regular(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the runtime's own classes share no base but this one
        reason = " ".join(str(error).split())
        raise FormatError(f"{path}: expected an ONNX graph ({reason})") from error
    if session.get_modelmeta().custom_metadata_map.get(IDENTITY) != described.identity:
        raise FormatError(f"{path}: a graph of another model than {DESCRIPTION} describes")
    expected = described.inputs[path.name]
    if [value.name for value in session.get_inputs()] != expected:
        raise FormatError(f"{path}: expected the inputs {', '.join(map(str, expected))}")
    return session


def onnx_runtime(part: str = "") -> Any:
    """The module ``onnxruntime``, or a part of it such as "quantization"; imported here alone."""
    try:
        whole = importlib.import_module("onnxruntime")
        whole.disable_telemetry_events()  # had somebody else imported it before
        return importlib.import_module(f"onnxruntime.{part}") if part else whole
    except ImportError as error:
        raise needs_export_extra(error) from error


def needs_export_extra(error: ImportError) -> InputError:
    """What to tell a user whose installation lacks a package of the extra."""
    return InputError(f"ONNX graphs need {error.name}: pip install 'puzzleflow[export]'")
