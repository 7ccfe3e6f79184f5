"""Training of PuzzleFlow: cross-entropy to the target positions along the path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.models.flow_path import FlowPath
from puzzleflow.models.flow_sampler import SamplerConfig, refine
from puzzleflow.models.puzzleflow import PRESETS, FlowConfig, PuzzleFlow, build_puzzleflow
from puzzleflow.options import Within
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Trainable


@dataclass(frozen=True, kw_only=True)
class FlowBatch(Batch):
    """Puzzles and the K states of each at which the flow is asked about it."""

    x_t: Tensor  # (B, K, N)
    t: Tensor  # (B, K)


@dataclass(frozen=True)
class FlowTraining(Trainable):
    """Train PuzzleFlow as in the paper: AdamW 1e-5, weight decay 0.01, OneCycle, no clipping."""

    name = "flow"
    presets: ClassVar = {"small": PRESETS["small"], **PRESETS}
    settings = LoopSettings(
        learning_rate=1e-5, schedule="one-cycle", warmup=0.1, weight_decay=0.01, decay_all=True,
        clip=0.0, ema_decay=0.0,
    )  # fmt: skip
    bundled = "relational.safetensors"

    vit: Annotated[str | None, "ViT weights: a local folder or a hub name."] = None
    states: Annotated[
        int, "States of the flow asked of every puzzle, which is encoded once.", Within(1)
    ] = 1
    frozen_encoder: Annotated[bool, "Leave the piece encoder as it is."] = False
    checkpoint_gradients: Annotated[bool, "Save memory, cost time."] = False

    def wants(self, config: FlowConfig) -> StreamConfig:
        return StreamConfig(
            piece_px=config.piece_px, grids={"3x3": 0.7, "5x5": 0.3}, with_prior=config.relates
        )

    def fitted(self, config: FlowConfig, grids: Sequence[Grid]) -> FlowConfig:
        """One output a position means one number of positions."""
        if config.num_positions is None:
            return config
        sizes = {grid.num_pieces for grid in grids}
        if len(sizes) > 1:
            raise InputError("this preset has one output a position: train it on one grid")
        return replace(config, num_positions=sizes.pop())

    def network(self, config: FlowConfig) -> PuzzleFlow:
        network = build_puzzleflow(config, self.vit)
        if self.frozen_encoder:
            network.freeze_encoder()
        if self.checkpoint_gradients:
            network.encoder.checkpoint_gradients()
        return network

    def started_from(self, config: FlowConfig, path: Path) -> PuzzleFlow:
        """From a whole flow model, or with the piece tokens of a relational network."""
        network = self.network(config)
        take_over(network, path)
        return network

    def prepared(self, batch: Batch, config: FlowConfig, settings: LoopSettings) -> FlowBatch:
        """States are drawn for the whole batch: any number of processes sees the same."""
        number = child_seed(settings.seed, "path", batch.number) >> 1
        targets = batch.position_of.repeat_interleave(self.states, dim=0)  # (B·K, N)
        path = FlowPath(config.schedule)
        drawn = path.sample(targets, torch.Generator().manual_seed(number))
        B, K = len(batch), self.states
        return FlowBatch(**vars(batch), x_t=drawn.x_t.view(B, K, -1), t=drawn.t.view(B, K))

    def objective(self, network: nn.Module, batch: FlowBatch) -> dict[str, Tensor]:
        return flow_loss(network, batch)

    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        return validate_flow(network, batches, steps=5)

    def evaluate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """With the paper's 20 steps."""
        return validate_flow(network, batches, steps=20)


def flow_loss(network: nn.Module, batch: FlowBatch) -> dict[str, Tensor]:
    """−log p(π_1 | x, π_t, t), mean over pieces and states, and the share already right."""
    assert isinstance(network, PuzzleFlow)
    K = batch.t.shape[1]
    features = network.encode(batch.pixels(), batch.prior)  # (B, N, D)
    features = features.repeat_interleave(K, dim=0)  # (B·K, N, D)
    logits = network.step(features, batch.x_t.flatten(0, 1), batch.t.flatten(), batch.grid)
    target = batch.position_of.repeat_interleave(K, dim=0)  # (B·K, N)
    return {
        "loss": F.cross_entropy(logits.flatten(0, 1), target.flatten()),
        "right": (logits.argmax(dim=2) == target).float().mean(),
    }


@torch.no_grad()
def solve_batch(
    network: PuzzleFlow, batch: Batch, config: SamplerConfig, seed: int = 0
) -> IntArray:
    """(B, N) the layouts that the flow reaches from one random start each."""
    device = next(network.parameters()).device
    prior = batch.prior.to(device) if batch.prior is not None else None
    features = network.encode(batch.pixels().to(device), prior)  # (B, N, D)
    N = batch.grid.num_pieces
    starts = np.stack([child_rng(seed, "start", b).permutation(N) for b in range(len(batch))])

    def step(x_t: IntArray, t: float) -> FloatArray:
        state = torch.from_numpy(x_t).to(device)
        time = torch.full((len(x_t),), t, device=device)
        logits: FloatArray = network.step(features, state, time, batch.grid).double().cpu().numpy()
        return logits

    # puzzles of the batch take the place of several starts: one state each
    final: IntArray = refine(step, starts, config).layouts[-1]
    return final


def validate_flow(network: nn.Module, batches: Iterable[Batch], *, steps: int) -> dict[str, Any]:
    """PA, AA and SRA by grid after so many steps; "score" is the mean AA."""
    assert isinstance(network, PuzzleFlow)
    config = SamplerConfig(steps=steps if network.config.flow else 1)
    predicted: dict[Grid, list[IntArray]] = {}
    truths: dict[Grid, list[IntArray]] = {}
    for batch in batches:
        predicted.setdefault(batch.grid, []).append(solve_batch(network, batch, config))
        truths.setdefault(batch.grid, []).append(batch.position_of.cpu().numpy())
    figures: dict[str, Any] = {}
    for grid, layouts in predicted.items():
        scores = score(np.concatenate(layouts), np.concatenate(truths[grid]), grid)
        figures[str(grid)] = {
            "PA": round(scores.perfect_accuracy, 4),
            "AA": round(scores.absolute_accuracy, 4),
            "SRA": round(scores.relation_accuracy, 4),
        }
    mean_aa = sum(f["AA"] for f in figures.values()) / max(1, len(figures))
    return {**figures, "score": mean_aa}


def take_over(network: PuzzleFlow, path: str | Path) -> None:
    """Weights of a flow model, or the piece tokens of a relational network."""
    tensors, described = load_weights(path)
    if described.get("kind") == "relational":
        own = network.state_dict()
        shared = {f"encoder.tokens.{name}": tensor for name, tensor in tensors.items()}
        tensors = {**own, **{name: shared[name] for name in own.keys() & shared.keys()}}
    restore(network, tensors, path)
