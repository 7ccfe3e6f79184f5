"""Where a network runs: what its methods are given goes to the device, what they give comes back.

Whoever loads a network therefore works with tensors of the processor, wherever it runs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from puzzleflow.core.errors import InputError

Network = TypeVar("Network", bound=nn.Module)


def find_device(name: str) -> torch.device:
    """The device called "cpu", "cuda", "cuda:1", "mps" or "auto", provided that it is there."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": _has_mps()}
    if name == "auto":
        return torch.device(next(kind for kind in ("cuda", "mps", "cpu") if there[kind]))
    kind, _, number = name.partition(":")
    if kind not in there or not re.fullmatch(r"(\d+)?", number):
        raise InputError(f"unknown device {name!r}; known: auto, cpu, cuda, cuda:NUMBER, mps")
    if not there[kind] or (kind == "cuda" and int(number or 0) >= torch.cuda.device_count()):
        raise InputError(f"PyTorch finds no device {name!r} on this machine; choose cpu or auto")
    return torch.device(name)


def placed(network: Network, device: torch.device) -> Network:
    """``network`` on ``device``; its own public methods take and give tensors of the processor."""
    if device.type == "cpu":
        return network
    network.to(device)
    depth = 0  # a method that calls another one stays on the device

    def on_device(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*values: Any, **named: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                found = method(*moved(values, device), **moved(named, device))
            finally:
                depth -= 1
            return found if depth else moved(found, torch.device("cpu"))

        return call

    own = [kind for kind in type(network).__mro__ if not kind.__module__.startswith("torch")]
    for name in {name for kind in own for name in vars(kind) if not name.startswith("_")}:
        if inspect.ismethod(method := getattr(network, name)):
            object.__setattr__(network, name, on_device(method))
    return network


def moved(value: Any, device: torch.device) -> Any:
    """The same value with its tensors on ``device``."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, list | tuple):
        return type(value)(moved(each, device) for each in value)
    if isinstance(value, dict):
        return {name: moved(each, device) for name, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        tensors = {f.name: getattr(value, f.name) for f in fields(value)}
        tensors = {name: each for name, each in tensors.items() if isinstance(each, Tensor)}
        return replace(value, **moved(tensors, device)) if tensors else value
    return value


def _has_mps() -> bool:
    return torch.backends.mps.is_available()
