"""Training of PuzzleFlow: cross-entropy to the target positions along the path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.models.flow_path import FlowPath, SamplerConfig, refine
from puzzleflow.models.piece_encoder import IMAGENET_VIT
from puzzleflow.models.puzzleflow import PRESETS, FlowConfig, PuzzleFlow, build_puzzleflow
from puzzleflow.options import Within
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Recipe, Trainable, layout_figures


@dataclass(frozen=True, kw_only=True)
class FlowBatch(Batch):
    """Puzzles and the K states of each at which the flow is asked about it."""

    x_t: Tensor  # (B, K, N)
    t: Tensor  # (B, K)


@dataclass(frozen=True)
class FlowRecipe(Recipe):
    """A recipe, and what only a flow has.

    states                states of the flow asked of every puzzle, which is encoded once
    neighbours            weight of :func:`neighbour_loss`; the paper has none
    checkpoint_gradients  activations of the encoder are computed again instead of stored
    """

    states: int = 1
    neighbours: float = 0.0
    checkpoint_gradients: bool = False


_AS_PUBLISHED = LoopSettings(
    learning_rate=1e-5, schedule="one-cycle", warmup=0.1, weight_decay=0.01, decay_all=True,
    clip=0.0, ema_decay=0.0, cycle_momentum=True,
)  # fmt: skip
_COMPACT = LoopSettings(
    learning_rate=7e-4, trunk_rate=0.3, warmup=0.02, hold=0.5, weight_decay=0.02, ema_decay=0.998,
    validate_every=500,
)  # fmt: skip
_PAPER = FlowRecipe(  # the hyper-parameter table of the supplement
    _AS_PUBLISHED, batch=8, validation_batch=2, workers=8, prefetch=2, pinned=True,
    checkpoint_gradients=True,
)  # fmt: skip
_LAPTOP = FlowRecipe(
    _COMPACT,
    {"vae": 0.4, "gap": 0.3, "outline": 0.3},
    pieces_per_batch=72,
    states=4,
    neighbours=0.5,
)
RECIPES = {
    "paper": _PAPER,
    "paper-supplement": _PAPER,
    "compact": _LAPTOP,
}


@dataclass(frozen=True)
class FlowTraining(Trainable):
    """Train PuzzleFlow: the paper's method in small, or as published with --preset paper."""

    name = "flow"
    presets: ClassVar = {
        name: PRESETS[name] for name in ("compact", "paper", "paper-supplement", "tiny")
    }
    settings = _COMPACT
    bundled = "flow.safetensors"

    vit: Annotated[
        str, "ViT weights to start from: a hub name, a local folder, or none for random ones."
    ] = IMAGENET_VIT
    states: Annotated[
        int | None,
        "States of the flow asked of every puzzle, which is encoded once (default: the preset's).",
        Within(1),
    ] = None
    frozen_encoder: Annotated[bool, "Leave the piece encoder as it is."] = False
    neighbours: Annotated[
        float | None,
        "Weight of a second loss, only while training: vectors say which pieces lie side by side "
        "(default: the preset's; the paper has none).",
        Within(0),
    ] = None
    checkpoint_gradients: Annotated[
        bool | None, "Save memory, cost time (default: the preset's)."
    ] = None

    def recipe(self, preset: str) -> FlowRecipe:
        return RECIPES.get(preset, FlowRecipe(self.settings))

    def under(self, preset: str) -> Self:
        recipe = self.recipe(preset)
        left_open = ("states", "neighbours", "checkpoint_gradients")
        left = {n: getattr(recipe, n) for n in left_open if getattr(self, n) is None}
        return replace(self, **left)

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
        return self._arranged(build_puzzleflow(config, None if self.vit == "none" else self.vit))

    def _arranged(self, network: PuzzleFlow) -> PuzzleFlow:
        """With parts frozen and gradients checkpointed as asked."""
        if self.frozen_encoder:
            network.freeze_encoder()
        if self.checkpoint_gradients:
            network.encoder.checkpoint_gradients()
        return network

    def started_from(self, config: FlowConfig, path: Path) -> PuzzleFlow:
        """From a whole flow model, or with the piece tokens of a relational network."""
        network = build_puzzleflow(config)
        take_over(network, path)
        return self._arranged(network)

    def prepared(self, batch: Batch, config: FlowConfig, settings: LoopSettings) -> FlowBatch:
        """States are drawn for the whole batch: any number of processes sees the same."""
        number = child_seed(settings.seed, "path", batch.number) >> 1
        B, K = len(batch), self.states or 1
        targets = batch.position_of.repeat_interleave(K, dim=0)  # (B·K, N)
        path = FlowPath(config.schedule)
        drawn = path.sample(targets, torch.Generator().manual_seed(number))
        return FlowBatch(**vars(batch), x_t=drawn.x_t.view(B, K, -1), t=drawn.t.view(B, K))

    def objective(self, network: nn.Module, batch: FlowBatch) -> dict[str, Tensor]:
        return flow_loss(network, batch, self.neighbours or 0.0)

    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        return validate_flow(network, batches, steps=5)

    def evaluate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """With the paper's 20 steps."""
        return validate_flow(network, batches, steps=20)


@dataclass(frozen=True)
class SeamFlowTraining(FlowTraining):
    """Train the flow whose attention is told which pieces seem to touch; beyond the paper."""

    name = "flow-seams"
    presets: ClassVar = {"small": PRESETS["small-seams"]}
    settings = LoopSettings(learning_rate=1e-3, weight_decay=0.01, ema_decay=0.995)
    bundled = "relational.safetensors"

    def recipe(self, preset: str) -> FlowRecipe:
        return FlowRecipe(self.settings, states=4)


def flow_loss(network: nn.Module, batch: FlowBatch, neighbours: float = 0.0) -> dict[str, Tensor]:
    """−log p(π_1 | x, π_t, t), mean over pieces and states, and the share already right."""
    assert isinstance(network, PuzzleFlow)
    K = batch.t.shape[1]
    encoded = network.encode(batch.pixels(), batch.prior)  # (B, N, D)
    features = encoded.repeat_interleave(K, dim=0)  # (B·K, N, D)
    logits = network.step(features, batch.x_t.flatten(0, 1), batch.t.flatten(), batch.grid)
    target = batch.position_of.repeat_interleave(K, dim=0)  # (B·K, N)
    terms = {
        "loss": F.cross_entropy(logits.flatten(0, 1), target.flatten()),
        "right": (logits.argmax(dim=2) == target).float().mean(),
    }
    if neighbours and batch.grid.num_pieces > 1:
        terms["neighbours"] = neighbour_loss(encoded, batch.position_of, batch.grid)
        terms["loss"] = terms["loss"] + neighbours * terms["neighbours"]
    return terms


def neighbour_loss(features: Tensor, position_of: Tensor, grid: Grid) -> Tensor:
    """−log p(the piece beyond a side), mean over sides that have one.

    The first half of a vector (B, N, D) is four descriptions of its sides right, left, down and
    up; inner products of right with left ones, and of down with up ones, say who lies beyond
    whom. It has no parameters: it teaches the encoder, and the flow never asks for it.
    """
    width = features.shape[2] // 8
    halves = features[..., : 4 * width].reshape(*features.shape[:2], 4, width)
    sides = halves.unbind(dim=2)  # right, left, down, up: (B, N, width)
    piece_at = position_of.argsort(dim=1)  # (B, N)
    cells = torch.arange(grid.num_pieces, device=features.device).view(grid.shape)
    own = torch.eye(grid.num_pieces, dtype=torch.bool, device=features.device)
    losses = []
    for out, back, first, second in (
        (sides[0], sides[1], cells[:, :-1], cells[:, 1:]),
        (sides[2], sides[3], cells[:-1], cells[1:]),
    ):
        scores = (out @ back.mT / math.sqrt(width)).masked_fill(own, -torch.inf)  # (B, N, N)
        here, there = piece_at[:, first.flatten()], piece_at[:, second.flatten()]  # (B, seams)
        for side, beyond, table in ((here, there, scores), (there, here, scores.mT)):
            rows = table.gather(1, side[..., None].expand(-1, -1, grid.num_pieces))
            losses.append(F.cross_entropy(rows.flatten(0, 1), beyond.flatten(), reduction="none"))
    return torch.cat(losses).mean()


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
        predicted.setdefault(batch.grid, []).extend(solve_batch(network, batch, config))
        truths.setdefault(batch.grid, []).extend(batch.position_of.cpu().numpy())
    return layout_figures(predicted, truths)


def take_over(network: PuzzleFlow, path: str | Path) -> None:
    """Weights of a flow model, or the piece tokens of a relational network."""
    tensors, described = load_weights(path)
    if described.get("kind") == "relational":
        own = network.state_dict()
        shared = {f"encoder.tokens.{name}": tensor for name, tensor in tensors.items()}
        if not own.keys() & shared.keys():
            raise InputError(f"{path}: a relational network, whose trunk this flow does not have")
        tensors = {**own, **{name: shared[name] for name in own.keys() & shared.keys()}}
    restore(network, tensors, path)
