"""A network before it has any memory, held against the tensors that are to fill it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from puzzleflow.core.ceiling import check_bytes
from puzzleflow.core.errors import FormatError, PuzzleFlowError

MAX_WEIGHT = 1e6  # no trained network comes near it; products of larger ones overflow
_VARIANCE = "running_var"


def check_tensors(tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors that no trained network has: not finite, huge, of a strange type."""
    check_bytes(sum(math.prod(t.shape) * 4 for t in tensors.values()), "its tensors")
    for name, tensor in tensors.items():
        plain = tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_meta
        if not plain or tensor.dtype not in (torch.float32, torch.float64, torch.int64):
            raise FormatError(f"{name[:80]}: expected numbers, found {tensor.dtype}")
        if not tensor.is_floating_point():
            continue
        if not torch.isfinite(tensor).all():
            raise FormatError(f"{name[:80]}: holds numbers that are not finite")
        if tensor.numel() and tensor.abs().max() > MAX_WEIGHT:
            raise FormatError(f"{name[:80]}: holds numbers beyond {MAX_WEIGHT:,.0f}")
        if name.endswith(_VARIANCE) and (tensor < 0).any():
            raise FormatError(f"{name[:80]}: holds a variance below 0")


def check_blueprint(build: Callable[[], nn.Module], tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors that do not fill, one for one, the network that ``build`` makes."""
    try:
        with torch.device("meta"), _Unfilled(), _at_most(len(tensors)):
            expected = build().state_dict()
    except PuzzleFlowError:
        raise
    except Exception as error:  # a stranger's sizes make constructors raise almost anything
        reason = " ".join(str(error).split())[:200]
        raise FormatError(f"its config describes no network ({reason})") from error
    for problem, names in (
        ("missing", expected.keys() - tensors.keys()),
        ("unknown", tensors.keys() - expected.keys()),
    ):
        if names:
            raise FormatError(f"weights of another model ({problem}: {min(names)[:80]})")
    for name, wanted in expected.items():
        found = tensors[name]
        if found.shape != wanted.shape or found.is_floating_point() != wanted.is_floating_point():
            raise FormatError(
                f"weights of another model ({name[:80]}: {found.dtype} of shape "
                f"{tuple(found.shape)}, not {wanted.dtype} of shape {tuple(wanted.shape)})"
            )


class _Unfilled(TorchFunctionMode):
    """Numbers that nobody will read are not drawn.

    Without memory PyTorch draws some of them in Python, and imports its compiler to do so.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__:
            return named["tensor"] if "tensor" in named else args[0]
        if func is torch.linspace and len(args) == 3:
            return torch.empty(args[2], **named)
        return func(*args, **named)


@contextmanager
def _at_most(num_tensors: int) -> Iterator[None]:
    """Stop a constructor of this thread that wants more parameters than there are tensors."""
    made, thread = 0, threading.get_ident()

    def count(module: nn.Module, name: str, parameter: Any) -> None:
        nonlocal made
        if parameter is None or threading.get_ident() != thread:
            return
        made += 1
        if made > 2 * num_tensors + 64:  # one layer may be made to be copied
            raise FormatError(
                f"its config describes a larger network than its {num_tensors} tensors"
            )

    handle = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        handle.remove()
