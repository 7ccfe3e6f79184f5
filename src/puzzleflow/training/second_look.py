"""Training of the second look: the true layout against turns, shifts, a swap, and doubtful ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.models.lite0 import STAGES
from puzzleflow.models.second_look import SecondLook, SecondLookConfig, drawn_layouts
from puzzleflow.options import Within
from puzzleflow.search import minimise
from puzzleflow.solvers.relational import RelationalSolver
from puzzleflow.solvers.relational_energy import terms_of, weights_for
from puzzleflow.solvers.second_look import Looking, with_shifts
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Trainable

NUM_SHIFTS = 2
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # by one row or column, as most wrong layouts are
DOUBT = 6.0  # in energy from the truth: layouts that are farther from it are no doubt


@dataclass(frozen=True, kw_only=True)
class LookBatch(Batch):
    """Puzzles, and the layouts that are compared of each, drawn.

    drawn   (B, 4 + NUM_SHIFTS + 1, 4, S, S) the truth, three turns of it, shifts, one swap
    doubts  (M, 4, S, S) what the energy finds nearly as good as the truth, of all puzzles
    of      (M,) the puzzle of each of these
    excess  (M,) how much more than the truth it costs; less than 0: the energy is wrong
    """

    drawn: Tensor
    doubts: Tensor
    of: Tensor
    excess: Tensor


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
            piece_px=64,
            pieces_per_batch=54,
            grids={"3x3": 0.6, "4x4": 0.15, "5x5": 0.25},
            smallest_crop=0.75,
            with_prior=True,  # for the energy
            cut_larger=2,
            plain_share=0.4,
            wide_share=0.3,
            object_share=0.2,
            worn_share=0.15,
        )

    def network(self, config: SecondLookConfig) -> SecondLook:
        network = SecondLook(config, None if self.lite0 == "none" else self.lite0)
        network.trunk.freeze(self.frozen_stages)
        return network

    def prepared(self, batch: Batch, config: SecondLookConfig, settings: LoopSettings) -> LookBatch:
        rng = child_rng(settings.seed, "second look", batch.number)
        pixels = batch.pixels()
        drawn = [
            compared(pieces, truth, batch.grid, config.size_px, rng)
            for pieces, truth in zip(pixels, batch.position_of, strict=True)
        ]
        doubts, of, excess = [drawn[0][:0]], [], []
        for number, (layouts, costs) in enumerate(doubtful(batch)):
            if len(layouts):
                doubts.append(
                    drawn_layouts(pixels[number], layouts, batch.grid.shape, config.size_px)
                )
                of += [number] * len(layouts)
                excess += costs
        return LookBatch(
            **vars(batch),
            drawn=torch.stack(drawn),
            doubts=torch.cat(doubts),
            of=torch.tensor(of, dtype=torch.int64),
            excess=torch.tensor(excess),
        )

    def objective(self, network: nn.Module, batch: LookBatch) -> dict[str, Tensor]:
        B, K = batch.drawn.shape[:2]
        scores = network(torch.cat([batch.drawn.flatten(0, 1), batch.doubts]))
        fixed, doubts = scores[: B * K].view(B, K), scores[B * K :]
        upright, in_place = fixed[:, :4], torch.cat([fixed[:, :1], fixed[:, 4:]], dim=1)
        terms = {
            "turn": -upright.log_softmax(dim=1)[:, 0].mean(),
            "place": -in_place.log_softmax(dim=1)[:, 0].mean(),
            "doubt": doubt_loss(fixed[:, 0], doubts, batch.of, batch.excess),
        }
        return {"loss": terms["turn"] + terms["place"] + terms["doubt"], **terms}

    @torch.no_grad()
    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """Shares of puzzles that look best upright, unshifted, and among what is in doubt.

        ``before`` is the last without the network: how often the energy alone is right
        there. The score is the mean of the three.
        """
        plain: Any = network
        size_px = plain.config.size_px
        upright, in_place, before, after = [], [], [], []
        for batch in batches:
            found = doubtful(batch)
            for pieces, truth, (doubts, excess) in zip(
                batch.pixels(), batch.position_of, found, strict=True
            ):
                layouts = torch.cat([_with_shifts(truth, batch.grid, STEPS), doubts])
                drawn = drawn_layouts(pieces, layouts, batch.grid.shape, size_px)
                scores = network(torch.cat([_turned(drawn[:1]), drawn]))  # (3 + 5 + doubts,)
                upright.append(bool(scores[3] > scores[:3].max()))
                in_place.append(bool(scores[3:8].argmax() == 0))
                if len(doubts):
                    told = scores[8:] - scores[3] - scores.new_tensor(excess)
                    before.append(min(excess) > 0)
                    after.append(bool(told.max() < 0))
        means = {
            name: float(np.mean(hits)) if hits else 0.0
            for name, hits in (
                ("upright", upright), ("in_place", in_place), ("doubt", after), ("before", before),
            )
        }  # fmt: skip
        score = (means["upright"] + means["in_place"] + means["doubt"]) / 3
        return {**means, "doubtful": len(after), "score": score}


def doubt_loss(truth: Tensor, doubts: Tensor, of: Tensor, excess: Tensor) -> Tensor:
    """Mean −log p(truth) among what is in doubt, p ∝ exp(score − energy), over puzzles with doubt.

    truth   (B,) scores of the true layouts
    doubts  (M,) scores of others; ``of`` (M,) whose they are, ``excess`` (M,) their energy
            beyond that of the truth
    """
    if not len(of):
        return truth.sum() * 0.0
    told = doubts - truth[of] - excess
    losses = [
        torch.cat([told.new_zeros(1), told[of == puzzle]]).logsumexp(dim=0)
        for puzzle in sorted(set(of.tolist()))
    ]
    return torch.stack(losses).mean()


@torch.no_grad()
def doubtful(batch: Batch) -> list[tuple[Tensor, list[float]]]:
    """Of each puzzle the wrong layouts that the energy likes nearly as much as the truth.

    They are chosen as the solver chooses what is looked at: the best ones, and shifts of the
    best. (K, N) positions, and how much more than the truth each costs.
    """
    solver = _relational()
    prior = batch.prior
    if prior is None:
        return [(batch.position_of[:0], [])] * len(batch)
    in_context, isolated = solver.network(batch.pixels(), prior, batch.world)
    positions = solver.network.positions(in_context, batch.grid)
    weights = weights_for(batch.grid, solver.fitted.get("closed", {}))
    found = []
    terms = terms_of(in_context, isolated, positions, [np.asarray(each) for each in prior])
    for told, truth in zip(terms, batch.position_of, strict=True):
        energy = told.energy(batch.grid, weights)
        true = energy.layout(truth.numpy()).energy or 0.0
        layouts = with_shifts(energy, minimise(energy, num_layouts=Looking.num_layouts))
        excess = [(layout.energy or 0.0) - true for layout in layouts]
        chosen = [
            k
            for k, (layout, more) in enumerate(zip(layouts, excess, strict=True))
            if abs(more) <= DOUBT and not np.array_equal(layout.position_of, truth)
        ]
        at = [torch.tensor(layouts[k].position_of) for k in chosen]
        found.append((torch.stack([truth, *at])[1:], [excess[k] for k in chosen]))
    return found


@lru_cache(maxsize=1)
def _relational() -> RelationalSolver:
    """Whose energy leaves doubts."""
    return RelationalSolver(look=False)


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
