"""A checkpoint as the paper's own repository saves it, in miniature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

D, N, FF = 24, 9, 48


def their_state_dict() -> dict[str, torch.Tensor]:
    """The official layout (names of transformers 4)."""
    torch.manual_seed(2)
    parts: dict[str, nn.Module] = {
        "channel_adapter": nn.Conv2d(4, 3, 1),
        "position_embedding": nn.Embedding(N, D),
        "time_mlp": nn.Sequential(nn.Linear(D // 4, D), nn.SiLU(), nn.Linear(D, D)),
        "transformer": nn.TransformerEncoder(
            nn.TransformerEncoderLayer(D, 12, FF, 0.1, batch_first=True, norm_first=True), 2,
            enable_nested_tensor=False,
        ),
        "output_head": nn.Sequential(
            nn.LayerNorm(D), nn.Linear(D, FF), nn.GELU(), nn.Dropout(0.1), nn.Linear(FF, N)
        ),
        "vit.embeddings.patch_embeddings.projection": nn.Conv2d(3, D, 16, 16),
        "vit.layernorm": nn.LayerNorm(D),
        "vit.pooler.dense": nn.Linear(D, D),
    }  # fmt: skip
    layer = "vit.encoder.layer.0."
    for name in ("query", "key", "value"):
        parts[f"{layer}attention.attention.{name}"] = nn.Linear(D, D)
    parts[f"{layer}attention.output.dense"] = nn.Linear(D, D)
    parts[f"{layer}intermediate.dense"] = nn.Linear(D, FF)
    parts[f"{layer}output.dense"] = nn.Linear(FF, D)
    parts[f"{layer}layernorm_before"] = nn.LayerNorm(D)
    parts[f"{layer}layernorm_after"] = nn.LayerNorm(D)
    tensors = {f"{p}.{n}": t for p, module in parts.items() for n, t in module.state_dict().items()}
    tensors["vit.embeddings.cls_token"] = torch.randn(1, 1, D)
    tensors["vit.embeddings.position_embeddings"] = torch.randn(1, 5, D)
    return tensors


def save_official(path: Path, **changes: Any) -> Path:
    """The whole file; ``changes`` replace or add entries."""
    content = {
        "model_state_dict": their_state_dict(),
        "config": {"piece_size": [96, 96], "n_heads": 12, "dim_feedforward": FF, "dropout": 0.1},
        "epoch": 30,
        "best_val_accuracy": 0.6,
        **changes,
    }
    torch.save(content, path)
    return path
