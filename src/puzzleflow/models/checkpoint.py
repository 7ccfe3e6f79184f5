"""Weights on disk: one safetensors file that carries its own JSON description.

The description (``config``: what to build and how it was trained) lies in the
metadata block of the file itself, so that weights and config cannot part.
Files come from strangers: :func:`load_weights` checks what every file must hold,
:func:`load_network` also that its numbers are those of the network it describes,
before any of that network is allocated.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.ceiling import check_bytes, check_time, reading
from puzzleflow.core.errors import CannotSolve, FormatError, InputError, NoWeights, naming
from puzzleflow.files import foreign, open_regular, write_bytes
from puzzleflow.models.blueprint import check_blueprint, check_tensors
from puzzleflow.models.device import find_device, placed

CONFIG_KEY = "puzzleflow"
DTYPES = {"float16": torch.float16, "float32": torch.float32}
MAX_DEPTH = 16  # of lists and objects in one another in a config
MAX_HEADER_BYTES = 16 << 20

Network = TypeVar("Network", bound=nn.Module)


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


def load_weights(
    path: str | Path, *kinds: str, section: str = ""
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """``(state_dict, config)`` of a file that ``save_weights`` wrote, all numbers finite.

    Half-precision tensors come back as float32. A damaged or foreign file is a
    ``FormatError``; so are weights of none of the ``kinds``, if any are named, and a
    config without the object ``section``, if that is named.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such weights file")
    try:
        _check_header(path)
        with reading(path), safe_open(str(path), framework="pt") as stream:
            metadata = stream.metadata() or {}
            config = _config(metadata, path)
            tensors = {}
            for name in stream.keys():  # noqa: SIM118
                check_time()
                tensors[name] = stream.get_tensor(name)
    except (SafetensorError, OSError, ValueError, RuntimeError, TypeError) as error:
        raise FormatError(f"{path}: expected a safetensors file ({error})") from error
    if kinds and config.get("kind") not in kinds:
        found = str(config.get("kind", "unknown"))[:40]
        raise FormatError(f"{path}: expected weights of kind {' or '.join(kinds)}, not {found}")
    if section and not isinstance(config.get(section), dict):
        raise FormatError(f"{path}: its config describes no {section}")
    state_dict = {
        name: tensor.float() if tensor.dtype == torch.float16 else tensor
        for name, tensor in tensors.items()
    }
    with naming(path):
        check_tensors(state_dict)
    return state_dict, config


def _check_header(path: Path) -> None:
    """Refuse a file that is too large, or whose header is."""
    with open_regular(path) as stream:
        header_bytes = int.from_bytes(stream.read(8), "little")
        if header_bytes > MAX_HEADER_BYTES:
            raise FormatError(f"{path}: expected a safetensors file, its header is too large")
    check_bytes(2 * path.stat().st_size, f"{path}: its tensors")


def _config(metadata: Mapping[str, str], path: Path) -> dict[str, Any]:
    if CONFIG_KEY not in metadata:
        raise FormatError(f"{path}: a safetensors file, but not one of puzzleflow")
    try:
        config = json.loads(metadata[CONFIG_KEY])
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise FormatError(f"{path}: its config is no JSON ({reason})") from error
    if not isinstance(config, dict):
        raise FormatError(f"{path}: its config is no JSON object")
    level: list[Any] = [config]
    for _ in range(MAX_DEPTH):
        inner = [item.values() if isinstance(item, dict) else item for item in level]
        level = [v for items in inner for v in items if isinstance(v, dict | list)]
    if level:
        raise FormatError(f"{path}: its config is nested too deeply")
    return config


def load_network(
    path: str | Path,
    build: Callable[[dict[str, Any]], Network],
    *kinds: str,
    device: str = "cpu",
) -> tuple[Network, dict[str, Any]]:
    """The network of a weights file in evaluation mode, and the file's config.

    build  makes the network from the ``network`` part of the config, of which a stranger may
           have written any value; its input errors are told with the name of the file
    device  where it runs; its methods take and give tensors of the processor
    """
    where = find_device(device)
    tensors, config = load_weights(path, *kinds, section="network")
    network = build_network(lambda: build(config["network"]), tensors, path)
    return placed(network, where), config


def build_network(
    build: Callable[[], Network], state_dict: Mapping[str, Tensor], name: str | Path
) -> Network:
    """What ``build`` makes, with these weights, in evaluation mode; a mismatch names the file.

    It is first made without memory and held against the tensors, so that nothing that the
    file does not hold is ever allocated.
    """
    with naming(name):
        check_blueprint(build, state_dict)
        network = build()
    restore(network, state_dict, name)
    network.register_forward_hook(partial(_check_output, str(name)))
    return network.eval()


def restore(
    module: torch.nn.Module, state_dict: Mapping[str, Tensor], name: str | Path
) -> torch.nn.Module:
    """Load ``state_dict`` into ``module`` strictly; a mismatch names the file.

    From then on every part of it looks, before it computes, whether the work is cancelled.
    """
    try:
        module.load_state_dict(dict(state_dict), strict=True)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise FormatError(f"{name}: weights of another model ({reason})") from error
    for part in module.modules():
        part.register_forward_pre_hook(_look)
    return module


def _check_output(name: str, _module: nn.Module, _inputs: object, output: object) -> None:
    """Refuse an answer that is not finite; only a whole tensor may say "never", -∞."""
    for part in output if isinstance(output, tuple) else (output,):
        for tensor in vars(part).values() if is_dataclass(part) else (part,):
            fine = torch.isfinite(tensor).all() or (tensor == -torch.inf).all()
            if not fine:
                raise CannotSolve(f"{name}: its network gives numbers that are not finite")


def _look(_module: torch.nn.Module, _inputs: object) -> None:
    check_cancelled()


def bundled_weights(name: str) -> Path:
    """Path of a weights file that ships inside the package."""
    path = Path(str(resources.files("puzzleflow"))) / "weights" / name
    if not path.is_file():
        raise InputError(f"{path}: these weights do not ship with this installation")
    return path


def solver_weights(solver: str, name: str) -> Path:
    """Bundled weights of a solver; where there are none, the error tells how to train them."""
    try:
        return bundled_weights(name)
    except InputError as error:
        raise NoWeights(
            f"solver {solver!r} has no bundled weights; train it with `puzzleflow train {solver} "
            f"--data PICTURES --out RUN` and name them: {solver}:weights=RUN/{solver}.safetensors"
        ) from error


def read_torch_file(path: Path) -> Any:
    """What the file holds, of no more bytes than it has itself; code inside is never run.

    PyTorch's format since 1.6 is an archive that is not packed; the one before, a bare
    pickle, is read too.
    """
    with foreign(path, "a plain PyTorch checkpoint"):
        with open_regular(path) as stream:
            if zipfile.is_zipfile(stream):
                stream.seek(0)
                _check_archive(path, zipfile.ZipFile(stream))
            else:
                check_bytes(2 * path.stat().st_size, f"{path}: its tensors")
        return torch.load(path, map_location="cpu", weights_only=True)


def _check_archive(path: Path, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    check_bytes(2 * sum(m.file_size for m in members), f"{path}: what it unpacks to")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise FormatError(f"{path}: expected a PyTorch checkpoint, found a packed archive")
