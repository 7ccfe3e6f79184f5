"""Training state on disk: everything that an exact resume needs, without a pickle.

Tensors live in one safetensors file; numbers and settings in its metadata.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.files import atomic_path


def save_state(path: str | Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write ``tensors`` and JSON-able ``values`` atomically."""
    whole = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    with atomic_path(path) as temporary:
        save_file(whole, temporary, metadata={"values": json.dumps(values)})


def load_state(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`save_state` wrote."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as archive:
            values = json.loads((archive.metadata() or {})["values"])
            return {name: archive.get_tensor(name) for name in archive.keys()}, values  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise FormatError(f"{path}: expected a training state ({error})") from error


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """AdamW's moments by parameter number and name."""
    return {
        f"optimizer.{number}.{name}": torch.as_tensor(value)
        for number, slots in optimizer.state_dict()["state"].items()
        for name, value in slots.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put the moments of :func:`optimizer_tensors` back."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, number, name = key.split(".", 2)
            state.setdefault(int(number), {})[name] = value
    whole = optimizer.state_dict()
    whole["state"] = state
    optimizer.load_state_dict(whole)


def prefixed(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with ``prefix`` before their names."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors below ``prefix``, their names without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): t for name, t in tensors.items() if name.startswith(start)}


class MovingAverage:
    """Exponential moving average of a network's weights and running statistics."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = {name: t.detach().clone() for name, t in network.state_dict().items()}

    def update(self, network: nn.Module, step: int) -> None:
        """Move towards the network; early steps move faster."""
        decay = min(self.decay, (1 + step) / (10 + step))
        with torch.no_grad():
            for name, tensor in network.state_dict().items():
                if tensor.is_floating_point():
                    self.tensors[name].lerp_(tensor, 1 - decay)
                else:
                    self.tensors[name].copy_(tensor)
