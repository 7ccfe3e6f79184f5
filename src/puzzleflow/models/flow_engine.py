"""What runs a PuzzleFlow model: PyTorch, or ONNX Runtime on exported graphs.

Both engines take and give NumPy arrays, so that one solver works with both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import torch

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.checkpoint import load_network
from puzzleflow.models.piece_encoder import RGBAProjection, ViTEncoder
from puzzleflow.models.puzzleflow import FlowConfig, PuzzleFlow, build_puzzleflow


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
        from puzzleflow.models.flow_graphs import OnnxEngine

        return OnnxEngine(path)
    return TorchEngine(read_flow(path, device))
