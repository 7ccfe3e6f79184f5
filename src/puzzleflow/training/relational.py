"""Training of the relational network on fresh puzzles, resumable at any step."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.training.objectives import neighbour_targets, relational_loss
from puzzleflow.training.state import (
    MovingAverage,
    load_state,
    optimizer_tensors,
    prefixed,
    restore_optimizer,
    save_state,
    under,
)
from puzzleflow.training.stream import Batch, PuzzleStream, StreamConfig, stream_loader


@dataclass(frozen=True)
class RelationalTraining:
    """Settings of one run; saved in its state."""

    steps: int = 100_000
    learning_rate: float = 1e-3
    final_rate: float = 0.05  # share of the learning rate at the last step
    warmup: int = 300
    hold: float = 0.6  # share of the steps before the rate begins to fall
    weight_decay: float = 0.02
    clip: float = 1.0
    ema_decay: float = 0.999
    seed: int = 0
    validate_every: int = 1000
    save_every: int = 250
    num_validation: int = 200
    validation_grids: tuple[str, ...] = ("3x3", "5x5")
    network: RelationalConfig = field(default_factory=RelationalConfig)
    stream: StreamConfig = field(default_factory=StreamConfig)

    def rate_at(self, step: int) -> float:
        """Linear warm-up, a plateau, then a cosine to ``final_rate``."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        begin = max(self.warmup, self.hold * self.steps)
        if step < begin:
            return self.learning_rate
        progress = min(1.0, (step - begin) / max(1.0, self.steps - begin))
        falling = 0.5 * (1 + math.cos(math.pi * progress))
        return self.learning_rate * (self.final_rate + (1 - self.final_rate) * falling)


class RelationalTrainer:
    """One network, its optimiser and its average; ``fit`` goes on from where it stands."""

    def __init__(
        self, settings: RelationalTraining, folder: str | Path, initial: str | Path | None = None
    ) -> None:
        torch.manual_seed(settings.seed)
        self.settings = settings
        self.folder = Path(folder)
        self.network = RelationalNet(settings.network)
        self.step = 0
        self.puzzles_seen = 0
        self.seconds = 0.0
        state = self.folder / "state.safetensors"
        values: dict[str, Any] = {}
        tensors: dict[str, Tensor] = {}
        if state.exists():
            tensors, values = load_state(state)
            self.network.load_state_dict(under("network", tensors))
        elif initial is not None:
            from puzzleflow.models.checkpoint import load_weights

            weights, _ = load_weights(initial)
            self.network.load_state_dict(weights)
        self.average = MovingAverage(self.network, settings.ema_decay)
        self.optimizer = torch.optim.AdamW(
            _grouped(self.network, settings.weight_decay), lr=settings.learning_rate
        )
        self._rng = torch.get_rng_state()
        if tensors:
            self.average.tensors = under("average", tensors)
            restore_optimizer(self.optimizer, tensors)
            self._rng = tensors["rng"]
            self.step = values["step"]
            self.puzzles_seen = values["puzzles_seen"]
            self.seconds = values["seconds"]

    def save(self) -> None:
        """Write all that :meth:`__init__` needs to go on exactly from here."""
        tensors = {
            **prefixed("network", self.network.state_dict()),
            **prefixed("average", self.average.tensors),
            **optimizer_tensors(self.optimizer),
            "rng": torch.get_rng_state(),
        }
        self._rng = tensors["rng"]
        values = {
            "step": self.step,
            "puzzles_seen": self.puzzles_seen,
            "seconds": self.seconds,
            "settings": asdict(self.settings),
        }
        save_state(self.folder / "state.safetensors", tensors, values)

    def averaged(self) -> RelationalNet:
        """The network with its averaged weights, ready to solve."""
        with torch.random.fork_rng(devices=[]):  # building it must not disturb training
            network = RelationalNet(self.settings.network)
        network.load_state_dict(self.average.tensors)
        return network.eval()

    def fit(
        self,
        stream: PuzzleStream,
        validation: PuzzleStream | None = None,
        *,
        num_workers: int = 0,
        until: int | None = None,
        minutes: float = 0.0,
        report: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Train to step ``until`` (default: the last) or for ``minutes`` (0: no limit)."""
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.set_rng_state(self._rng)
        stream.first_batch = self.step
        last = self.settings.steps if until is None else min(until, self.settings.steps)
        started = begun = time.monotonic()
        if self.step >= last:
            return
        for batch in stream_loader(stream, num_workers):
            row = self._update(batch)
            now = time.monotonic()
            self.seconds, started = self.seconds + now - started, now
            done = self.step >= last or (0 < minutes * 60 <= now - begun)
            if self.step % self.settings.save_every == 0 or done:
                self.save()
            if validation and (self.step % self.settings.validate_every == 0 or done):
                row |= self.validate(validation)
                started = time.monotonic()
            if report:
                report(row)
            if self.step % 50 == 0 or "val" in row or done:
                with (self.folder / "log.jsonl").open("a") as log:
                    log.write(json.dumps(row) + "\n")
            if done:
                return

    def _update(self, batch: Batch) -> dict[str, Any]:
        rate = self.settings.rate_at(self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.network.train()
        terms = relational_loss(
            *self.network(batch.pixels(), batch.grid), batch.position_of, batch.grid
        )
        self.optimizer.zero_grad(set_to_none=True)
        terms["loss"].backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimizer.step()
        self.step += 1
        self.average.update(self.network, self.step)
        self.puzzles_seen += len(batch.pieces)
        row: dict[str, Any] = {
            "step": self.step,
            "puzzles": self.puzzles_seen,
            "minutes": round(self.seconds / 60, 2),
            "grid": str(batch.grid),
            "rate": rate,
            "norm": float(norm),
        }
        return row | {name: round(float(term.detach()), 4) for name, term in terms.items()}

    @torch.no_grad()
    def validate(self, validation: PuzzleStream) -> dict[str, Any]:
        """Loss and hit rates of the averaged network on fixed held-out puzzles."""
        network = self.averaged()
        figures: dict[str, Any] = {}
        for text in self.settings.validation_grids:
            grid = Grid.parse(text)
            batches = list(validation.validation(grid, self.settings.num_validation))
            figures[text] = validate_relations(network, batches)
        return {"val": figures}


@torch.no_grad()
def validate_relations(network: RelationalNet, batches: list[Batch]) -> dict[str, float]:
    """Loss, share of sides whose neighbour (or frame) comes first, share of pieces likewise."""
    loss, side_hits, place_hits, sides, pieces = 0.0, 0, 0, 0, 0
    for batch in batches:
        in_context, isolated = network(batch.pixels(), batch.grid)
        terms = relational_loss(in_context, isolated, batch.position_of, batch.grid)
        loss += float(terms["loss"]) * len(batch.pieces)
        for direction in Direction:
            targets = neighbour_targets(batch.position_of, batch.grid, direction)
            hits = in_context.side_logits(direction).argmax(dim=2) == targets
            side_hits, sides = side_hits + int(hits.sum()), sides + hits.numel()
        places = in_context.position.argmax(dim=2) == batch.position_of
        place_hits, pieces = place_hits + int(places.sum()), pieces + places.numel()
    puzzles = sum(len(batch.pieces) for batch in batches)
    return {
        "loss": round(loss / puzzles, 4),
        "side": round(side_hits / sides, 4),
        "place": round(place_hits / pieces, 4),
    }


def _grouped(network: torch.nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Weight decay for matrices and kernels, none for scales, biases and tables."""
    parameters = list(network.parameters())
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
