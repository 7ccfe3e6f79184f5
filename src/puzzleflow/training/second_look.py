"""Training of the second look: the true layout against its turns, shifts and a swap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.models.lite0 import STAGES
from puzzleflow.models.second_look import SecondLook, SecondLookConfig, drawn_layouts
from puzzleflow.options import Within
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Trainable

NUM_SHIFTS = 2
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # by one row or column, as most wrong layouts are


@dataclass(frozen=True, kw_only=True)
class LookBatch(Batch):
    """Puzzles, and what is compared of each: the truth, three turns of it, shifts, one swap."""

    drawn: Tensor  # (B, 4 + NUM_SHIFTS + 1, 4, S, S)


@dataclass(frozen=True)
class SecondLookTraining(Trainable):
    """Train the second look at whole layouts, from ImageNet's EfficientNet-Lite0."""

    name = "second-look"
    presets: ClassVar = {"default": SecondLookConfig()}
    settings = LoopSettings(
        steps=4000, learning_rate=1e-3, trunk_rate=0.4, warmup=0.1, hold=0.3, final_rate=0.01,
        ema_decay=0.995, validate_every=500,
    )  # fmt: skip
    keeps_best = False
    bundled = "second_look.safetensors"

    lite0: Annotated[
        str, "EfficientNet-Lite0 weights to start from: imagenet, a .pth file, or none."
    ] = "imagenet"
    frozen_stages: Annotated[
        int, "Leave so many early stages as they are.", Within(0, len(STAGES))
    ] = 3

    def wants(self, config: SecondLookConfig) -> StreamConfig:
        return StreamConfig(
            piece_px=48,
            pieces_per_batch=36,
            grids={"3x3": 0.55, "4x4": 0.2, "5x5": 0.25},
            smallest_crop=0.75,
            plain_share=0.4,
            wide_share=0.2,
            object_share=0.1,
        )

    def network(self, config: SecondLookConfig) -> SecondLook:
        network = SecondLook(config, None if self.lite0 == "none" else self.lite0)
        network.trunk.freeze(self.frozen_stages)
        return network

    def prepared(self, batch: Batch, config: SecondLookConfig, settings: LoopSettings) -> LookBatch:
        rng = child_rng(settings.seed, "second look", batch.number)
        drawn = [
            compared(pieces, truth, batch.grid, config.size_px, rng)
            for pieces, truth in zip(batch.pixels(), batch.position_of, strict=True)
        ]
        return LookBatch(**vars(batch), drawn=torch.stack(drawn))

    def objective(self, network: nn.Module, batch: LookBatch) -> dict[str, Tensor]:
        scores = network(batch.drawn.flatten(0, 1)).unflatten(0, batch.drawn.shape[:2])  # (B, K)
        upright, in_place = scores[:, :4], torch.cat([scores[:, :1], scores[:, 4:]], dim=1)
        terms = {
            "turn": -upright.log_softmax(dim=1)[:, 0].mean(),
            "place": -in_place.log_softmax(dim=1)[:, 0].mean(),
        }
        return {"loss": terms["turn"] + terms["place"], **terms}

    @torch.no_grad()
    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """Shares of puzzles that look best upright, and best unshifted; the score is their mean."""
        plain: Any = network
        upright, in_place = [], []
        for batch in batches:
            for pieces, truth in zip(batch.pixels(), batch.position_of, strict=True):
                layouts = _with_shifts(truth, batch.grid, STEPS)
                size_px = plain.config.size_px
                drawn = drawn_layouts(pieces, layouts, batch.grid.shape, size_px)  # (5, 4, S, S)
                scores = network(torch.cat([drawn, _turned(drawn[:1])]))
                in_place.append(bool(scores[:5].argmax() == 0))
                upright.append(bool(scores[[0, 5, 6, 7]].argmax() == 0))
        figures = {"upright": float(np.mean(upright)), "in_place": float(np.mean(in_place))}
        return {**figures, "score": (figures["upright"] + figures["in_place"]) / 2}


def compared(
    pieces: Tensor, truth: Tensor, grid: Grid, size_px: int, rng: np.random.Generator
) -> Tensor:
    """(4 + NUM_SHIFTS + 1, 4, S, S): the true layout first, then what it is compared with."""
    shifts = []
    for _ in range(NUM_SHIFTS):
        anywhere = (int(rng.integers(grid.rows)), int(rng.integers(1, grid.cols)))
        shifts.append(STEPS[rng.integers(4)] if rng.random() < 0.7 else anywhere)
    swapped = truth.clone()
    one, other = rng.choice(len(truth), 2, replace=False)
    swapped[one], swapped[other] = truth[other], truth[one]
    layouts = torch.cat([_with_shifts(truth, grid, shifts), swapped[None]])
    drawn = drawn_layouts(pieces, layouts, grid.shape, size_px)
    return torch.cat([drawn[:1], _turned(drawn[:1]), drawn[1:]])


def _turned(drawn: Tensor) -> Tensor:
    """(1, 4, S, S) → (3, 4, S, S): turned once, twice, three times."""
    return torch.cat([drawn.rot90(turn, (2, 3)) for turn in (1, 2, 3)])


def _with_shifts(truth: Tensor, grid: Grid, shifts: Sequence[tuple[int, int]]) -> Tensor:
    """(1 + S, N): the truth, and moved round the edges by so many rows and columns."""
    moved = [torch.from_numpy(grid.shifted_position(truth.numpy(), *shift)) for shift in shifts]
    return torch.stack([truth, *moved])
