"""Training of PuzzleFlow: cross-entropy to the target positions along the path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Tensor, nn

from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.checkpoint import load_weights, restore, save_weights
from puzzleflow.models.flow_path import FlowPath, PathSample
from puzzleflow.models.flow_sampler import SamplerConfig, refine
from puzzleflow.models.puzzleflow import FlowConfig, PuzzleFlow, build_puzzleflow
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.state import load_state
from puzzleflow.training.stored import StoredBatches
from puzzleflow.training.stream import Batch, PuzzleStream, stream_loader


def published_settings(steps: int, *, learning_rate: float = 1e-5, seed: int = 0) -> LoopSettings:
    """AdamW with weight decay 0.01, OneCycle with 10 % warm-up, neither clipping nor average."""
    return LoopSettings(
        steps=steps, learning_rate=learning_rate, schedule="one-cycle", warmup=0.1,
        weight_decay=0.01, decay_all=True, clip=0.0, ema_decay=0.0, seed=seed,
    )  # fmt: skip


@dataclass(frozen=True)
class FlowBatch:
    """Puzzles and the states at which the flow is asked about them."""

    pieces: Tensor  # (B, N, 4, px, px) uint8, premultiplied
    sample: PathSample  # (B·K, N): K states of the first puzzle, then of the second …
    grid: Grid
    prior: Tensor | None = None  # (B, 2, N, N, F) where the network relates pieces

    def __len__(self) -> int:
        return len(self.pieces)


def flow_batches(
    stream: PuzzleStream | StoredBatches,
    path: FlowPath,
    seed: int,
    *,
    states: int = 1,
    num_workers: int = 0,
    rank: int = 0,
    world_size: int = 1,
) -> Callable[[int], Iterable[FlowBatch]]:
    """Numbered batches with their states; each of several processes takes its share.

    States are drawn for the whole batch before it is shared out, so any number
    of processes sees the same puzzles at the same times.

    states  K, asked of every puzzle: pieces are encoded once for all of them
    """

    def batches(first: int) -> Iterable[FlowBatch]:
        stream.first_batch = first
        for batch in stream_loader(stream, num_workers):
            generator = torch.Generator().manual_seed(child_seed(seed, "path", batch.number) >> 1)
            drawn = path.sample(batch.position_of.repeat_interleave(states, dim=0), generator)
            mine = torch.arange(rank, len(batch), world_size)
            rows = (mine[:, None] * states + torch.arange(states)).flatten()  # (B·K / processes,)
            sample = PathSample(drawn.x_0[rows], drawn.x_1[rows], drawn.x_t[rows], drawn.t[rows])
            prior = batch.prior[mine] if batch.prior is not None else None
            yield FlowBatch(batch.pieces[mine], sample, batch.grid, prior)

    return batches


def flow_loss(network: nn.Module, batch: FlowBatch) -> dict[str, Tensor]:
    """−log p(π_1 | x, π_t, t), mean over pieces and states, and the share already right."""
    assert isinstance(network, PuzzleFlow)
    device = next(network.parameters()).device
    sample = batch.sample
    prior = batch.prior.to(device) if batch.prior is not None else None
    features = network.encode(batch.pieces.to(device).float().div_(255), prior)  # (B, N, D)
    features = features.repeat_interleave(len(sample.t) // len(features), dim=0)  # (B·K, N, D)
    logits = network.step(features, sample.x_t.to(device), sample.t.to(device), batch.grid)
    target = sample.x_1.to(device)
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


def validate_flow(
    network: PuzzleFlow, batches: Iterable[Batch], config: SamplerConfig
) -> dict[str, Any]:
    """PA, AA and SRA by grid; "score" is the mean AA."""
    predicted: dict[Grid, list[IntArray]] = {}
    truths: dict[Grid, list[IntArray]] = {}
    for batch in batches:
        predicted.setdefault(batch.grid, []).append(solve_batch(network, batch, config))
        truths.setdefault(batch.grid, []).append(batch.position_of.numpy())
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


def flow_trainer(
    settings: LoopSettings,
    folder: str | Path,
    config: FlowConfig,
    *,
    vit_weights: str | None = None,
    initial: str | Path | None = None,
    frozen_encoder: bool = False,
    checkpoint_gradients: bool = False,
    validation: Iterable[Batch] = (),
    validation_steps: int = 5,
    fabric: Fabric | None = None,
) -> Trainer[FlowBatch]:
    """A trainer of PuzzleFlow.

    initial  weights to start from: a whole flow model, or a relational network,
             of which the convolutional trunk is taken over
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = build_puzzleflow(config, vit_weights)
    if initial is not None:
        take_over(network, initial)
    if frozen_encoder:
        network.freeze_encoder()
    if checkpoint_gradients:
        network.encoder.checkpoint_gradients()
    held_out = list(validation)
    steps = SamplerConfig(steps=validation_steps if config.flow else 1)

    def validate(net: nn.Module) -> dict[str, Any]:
        assert isinstance(net, PuzzleFlow)
        return validate_flow(net, held_out, steps)

    return Trainer(
        network,
        settings,
        folder,
        objective=flow_loss,
        validate=validate if held_out else None,
        fabric=fabric,
    )


def evaluate_and_save(trainer: Trainer[FlowBatch], held_out: Iterable[Batch]) -> dict[str, Any]:
    """Final evaluation with 20 steps of the best weights, written as flow.safetensors."""
    network = trainer.plain
    assert isinstance(network, PuzzleFlow)
    best = trainer.folder / "best.safetensors"
    weights = load_state(best)[0] if best.exists() else trainer.weights
    network.load_state_dict(weights)
    network.eval()
    steps = SamplerConfig(steps=20 if network.config.flow else 1)
    figures = validate_flow(network, held_out, steps)
    described = {
        "kind": "flow",
        "network": network.config.to_dict(),
        "figures": figures,
        "puzzles_seen": trainer.puzzles_seen,
    }
    save_weights(trainer.folder / "flow.safetensors", weights, described, dtype="float16")
    return figures


def take_over(network: PuzzleFlow, path: str | Path) -> None:
    """Weights of a flow model, or the piece tokens of a relational network."""
    tensors, described = load_weights(path)
    if described.get("kind") == "relational":
        own = network.state_dict()
        shared = {f"encoder.tokens.{name}": tensor for name, tensor in tensors.items()}
        tensors = {**own, **{name: shared[name] for name in own.keys() & shared.keys()}}
    restore(network, tensors, path)
