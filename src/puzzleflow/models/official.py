"""Checkpoints of the paper's own repository (``.pt``) as ours.

They hold ``model_state_dict`` and ``config``. What the official loader does to pixels
before the network is not published, so a converted model may need other input scaling
than ours.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from puzzleflow.core.ceiling import check_time, reading
from puzzleflow.core.errors import FormatError, InputError, naming
from puzzleflow.models.blueprint import check_tensors
from puzzleflow.models.checkpoint import read_torch_file
from puzzleflow.models.puzzleflow import FlowConfig

_PARTS = {  # their prefix → ours
    "channel_adapter.": "encoder.projection.",
    "vit.": "encoder.vit.",
    "position_embedding.": "position.embed.",
    "time_mlp.": "time.mlp.",
    "transformer.": "layers.",
    "output_head.": "head.mlp.",
}
_VIT_NAMES = (  # names of transformers 4 → transformers 5
    (r"^encoder\.layer\.", "layers."),
    (r"\.attention\.attention\.(query|key|value)\.", lambda m: f".attention.{m[1][0]}_proj."),
    (r"\.attention\.output\.dense\.", ".attention.o_proj."),
    (r"\.intermediate\.dense\.", ".mlp.fc1."),
    (r"(?<!attention)\.output\.dense\.", ".mlp.fc2."),
)


def read_official(path: str | Path) -> tuple[dict[str, Tensor], FlowConfig]:
    """(weights, configuration) of an official checkpoint."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with reading(path):
        return _read(path)


def _read(path: Path) -> tuple[dict[str, Tensor], FlowConfig]:
    content = read_torch_file(path)
    if not isinstance(content, dict) or not isinstance(content.get("model_state_dict"), dict):
        raise FormatError(f"{path}: expected a checkpoint with 'model_state_dict'")
    theirs: dict[str, Tensor] = content["model_state_dict"]
    if not all(isinstance(n, str) and isinstance(t, Tensor) for n, t in theirs.items()):
        raise FormatError(f"{path}: 'model_state_dict' holds more than named tensors")
    weights = {}
    for name, tensor in theirs.items():
        check_time()
        name = name.removeprefix("module.")
        if not name.startswith("vit.pooler."):  # never used by the model
            weights[_renamed(name, path)] = _as_float32(name, tensor, path)
    with naming(path):
        check_tensors(weights)
    config = content.get("config")
    return weights, _config(weights, config if isinstance(config, dict) else {}, path)


def _as_float32(name: str, tensor: Tensor, path: Path) -> Tensor:
    """Refuse what claims more numbers than it stores, or other things than numbers."""
    plain = tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_meta
    if not plain or not tensor.is_floating_point() or not tensor.is_contiguous():
        raise FormatError(f"{path}: {name[:80]}: expected numbers, found {tensor.dtype}")
    return tensor.float()


def _renamed(name: str, path: Path) -> str:
    for theirs, ours in _PARTS.items():
        if name.startswith(theirs):
            rest = name.removeprefix(theirs)
            if theirs == "vit.":
                for pattern, replacement in _VIT_NAMES:
                    rest = re.sub(pattern, replacement, rest)
            return ours + rest
    raise FormatError(f"{path}: {name[:80]} is no part of the official model")


def _config(weights: dict[str, Tensor], config: dict[str, Any], path: Path) -> FlowConfig:
    """Sizes from the tensors themselves; what they do not show, from the configuration."""
    try:
        table = weights["position.embed.weight"]  # (N, D)
        patches = weights["encoder.vit.embeddings.patch_embeddings.projection.weight"]
        places = weights["encoder.vit.embeddings.position_embeddings"].shape[1] - 1
        vit_layers = _num_layers(weights, "encoder.vit.layers.")
        dim, patch_px = int(table.shape[1]), int(patches.shape[-1])
        num_layers = _num_layers(weights, "layers.layers.")
        hidden = int(weights["head.mlp.1.weight"].shape[0])
        piece_px = config.get("piece_size", (128, 128))
        return FlowConfig(
            piece_px=int(piece_px[0] if isinstance(piece_px, list | tuple) else piece_px),
            dim=dim,
            num_layers=num_layers,
            num_heads=int(config.get("n_heads", 12)),
            feed_forward=int(config.get("dim_feedforward", hidden)),
            dropout=float(config.get("dropout", 0.1)),
            time_dim=int(weights["time.mlp.0.weight"].shape[1]),
            head=(hidden,),
            num_positions=int(table.shape[0]),
            vit={
                "hidden_size": int(patches.shape[0]),
                "num_hidden_layers": vit_layers,
                "num_attention_heads": 12 if patches.shape[0] % 12 == 0 else 1,
                "intermediate_size": int(weights["encoder.vit.layers.0.mlp.fc1.weight"].shape[0]),
                "image_size": patch_px * round(places**0.5),
                "patch_size": patch_px,
            },
        )
    except KeyError as error:
        raise FormatError(f"{path}: not the official model, {error} is missing") from error
    except (IndexError, TypeError, ValueError, OverflowError, RuntimeError, InputError) as error:
        reason = " ".join(str(error).split())[:200]
        raise FormatError(f"{path}: not the official model ({reason})") from error


def _num_layers(weights: dict[str, Tensor], prefix: str) -> int:
    """How many layers are numbered from 0 without a gap."""
    found = {m[1] for name in weights if (m := re.match(rf"{re.escape(prefix)}([0-9]+)\.", name))}
    if found != set(map(str, range(len(found)))):
        raise ValueError(f"{prefix}: {len(found)} layers, not numbered from 0")
    return len(found)
