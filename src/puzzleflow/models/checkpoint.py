"""Weights on disk: one safetensors file that carries its own JSON description.

The description (``config``: what to build and how it was trained) lies in the
metadata block of the file itself, so that weights and config cannot part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.files import write_bytes

CONFIG_KEY = "puzzleflow"
DTYPES = {"float16": torch.float16, "float32": torch.float32}


def save_weights(
    path: str | Path,
    state_dict: Mapping[str, Tensor],
    config: Mapping[str, Any],
    dtype: str = "float32",
) -> None:
    """Write tensors and their JSON ``config`` atomically.

    Floating-point tensors are stored as ``dtype`` ("float16" or "float32"),
    whole-number tensors as they are.
    """
    if dtype not in DTYPES:
        raise InputError(f"weights are stored as {' or '.join(DTYPES)}, not {dtype!r}")
    tensors = {}
    for name, tensor in state_dict.items():
        plain = tensor.detach().cpu()
        if plain.is_floating_point():
            plain = plain.to(DTYPES[dtype])
        tensors[name] = plain.contiguous().clone()
    text = json.dumps(dict(config), ensure_ascii=False)
    write_bytes(path, save(tensors, metadata={CONFIG_KEY: text}))


def load_weights(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """``(state_dict, config)`` of a file that ``save_weights`` wrote.

    Half-precision tensors come back as float32. A damaged or foreign file is a
    ``FormatError``.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such weights file")
    try:
        with safe_open(str(path), framework="pt") as stream:
            metadata = stream.metadata() or {}
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise FormatError(f"{path}: expected a safetensors file ({error})") from error
    if CONFIG_KEY not in metadata:
        raise FormatError(f"{path}: a safetensors file, but not one of puzzleflow")
    try:
        config = json.loads(metadata[CONFIG_KEY])
    except ValueError as error:
        raise FormatError(f"{path}: its config is no JSON ({error})") from error
    if not isinstance(config, dict):
        raise FormatError(f"{path}: its config is no JSON object")
    state_dict = {
        name: tensor.float() if tensor.dtype == torch.float16 else tensor
        for name, tensor in tensors.items()
    }
    return state_dict, config


def restore(
    module: torch.nn.Module, state_dict: Mapping[str, Tensor], name: str | Path
) -> torch.nn.Module:
    """Load ``state_dict`` into ``module`` strictly; a mismatch names the file.

    From then on every part of it looks, before it computes, whether the work is cancelled.
    """
    try:
        module.load_state_dict(dict(state_dict), strict=True)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{name}: weights of another model ({reason})") from error
    for part in module.modules():
        part.register_forward_pre_hook(_look)
    return module


def _look(_module: torch.nn.Module, _inputs: object) -> None:
    check_cancelled()


def bundled_weights(name: str) -> Path:
    """Path of a weights file that ships inside the package."""
    path = Path(str(resources.files("puzzleflow"))) / "weights" / name
    if not path.is_file():
        raise InputError(f"{path}: these weights do not ship with this installation")
    return path
