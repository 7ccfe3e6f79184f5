"""Training state on disk: everything that an exact resume needs, without a pickle.

Tensors live in one safetensors file; numbers, settings and a checksum of it all in
its metadata. Two states of a run are kept: the newest and the one before it, also on a disk
that is full.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.files import atomic_path, write_bytes

STATE = "state.safetensors"
PREVIOUS = "state.previous.safetensors"
DAMAGED = "state.damaged.safetensors"


def save_state(path: str | Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write ``tensors`` and JSON-able ``values`` atomically."""
    write_bytes(path, _content(tensors, values))


def _content(tensors: dict[str, Tensor], values: dict[str, Any]) -> bytes:
    whole = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    text = json.dumps(values)
    return save(whole, metadata={"values": text, "digest": _checksum(whole, text)})


def load_state(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`save_state` wrote; damage and numbers that are not finite are refused."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as archive:
            metadata = archive.metadata() or {}
            values = json.loads(metadata["values"])
            tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
            text = metadata["values"]
            if "checksum" in metadata:  # of states before 2026-11-18, without types and shapes
                whole = metadata["checksum"] == _checksum(tensors, text, shapes=False)
            else:
                whole = metadata["digest"] == _checksum(tensors, text)
            if not whole:
                raise ValueError("its checksum is wrong")
    except (SafetensorError, KeyError, ValueError, TypeError, OSError, RecursionError) as error:
        raise FormatError(f"{path}: expected a training state ({error})") from error
    if name := not_finite(tensors):
        raise FormatError(f"{path}: {name} is not finite")
    return tensors, values


def save_newest(folder: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write the newest state of a run; the one that was newest becomes the previous."""
    with atomic_path(folder / STATE) as temporary:
        temporary.write_bytes(_content(tensors, values))
        if (folder / STATE).exists():
            (folder / STATE).replace(folder / PREVIOUS)


def load_newest(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any], str]:
    """The newest good state of a run, and a sentence if that is not the newest one.

    A newest state that is damaged or not finite is set aside under another name.
    """
    try:
        return *load_state(folder / STATE), ""
    except InputError as error:
        if not (folder / PREVIOUS).exists():
            raise
        try:
            tensors, values = load_state(folder / PREVIOUS)
        except InputError as worse:
            raise FormatError(
                f"{error}; {PREVIOUS} is no better ({worse}): begin anew in another folder"
            ) from worse
        if (folder / STATE).exists():
            (folder / STATE).replace(folder / DAMAGED)
        return tensors, values, f"{error}; goes on from {PREVIOUS}, step {values.get('step')}"


def has_state(folder: Path) -> bool:
    """Whether a run in ``folder`` has begun."""
    return any((folder / name).exists() for name in (STATE, PREVIOUS))


def not_finite(tensors: dict[str, Tensor]) -> str | None:
    """The first tensor that holds an infinity or no number."""
    floats = ((name, t) for name, t in tensors.items() if t.is_floating_point())
    return next((name for name, tensor in floats if not tensor.isfinite().all()), None)


def _checksum(tensors: dict[str, Tensor], values: str, *, shapes: bool = True) -> str:
    digest = hashlib.blake2b(values.encode(), digest_size=16)
    for name in sorted(tensors):
        digest.update(name.encode())
        if shapes:
            digest.update(f" {tensors[name].dtype} {tuple(tensors[name].shape)} ".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


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
