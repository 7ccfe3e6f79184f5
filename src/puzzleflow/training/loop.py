"""One readable training loop: schedule, average, validation, exact resume, early stop.

What is trained comes in as an ``objective`` (network, batch → named losses, the
sum called "loss"); batch number b must always be the same batch, so that a run
stopped anywhere goes on as if it had never stopped.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.training.state import (
    MovingAverage,
    load_state,
    optimizer_tensors,
    prefixed,
    restore_optimizer,
    save_state,
    under,
)

BatchT = TypeVar("BatchT")
Figures = dict[str, Any]
Objective = Callable[[nn.Module, BatchT], dict[str, Tensor]]


@dataclass(frozen=True)
class LoopSettings:
    """How long, how fast, how often."""

    steps: int = 60_000
    learning_rate: float = 1e-3
    schedule: str = "plateau"  # or "one-cycle"
    warmup: float = 0.01  # share of the steps
    hold: float = 0.6  # plateau only: share of the steps before the rate falls
    final_rate: float = 0.05  # plateau only: share of the rate at the last step
    weight_decay: float = 0.02
    decay_all: bool = False  # weight decay on scales and biases too, as plain AdamW does
    clip: float = 1.0  # gradient norm; 0 clips nothing
    ema_decay: float = 0.999  # 0: no average
    seed: int = 0
    validate_every: int = 1000
    save_every: int = 250
    log_every: int = 50
    patience: int = 0  # validations without improvement before stopping; 0: never

    def rate_at(self, step: int) -> float:
        """The learning rate of a step."""
        if self.schedule not in SCHEDULES:
            raise UnknownName("schedule", self.schedule, SCHEDULES)
        return self.learning_rate * SCHEDULES[self.schedule](self, step)


def _plateau(settings: LoopSettings, step: int) -> float:
    """Linear warm-up, a plateau, then half a cosine down to ``final_rate``."""
    warmup = max(1.0, settings.warmup * settings.steps)
    if step < warmup:
        return (step + 1) / warmup
    begin = max(warmup, settings.hold * settings.steps)
    progress = min(1.0, max(0.0, step - begin) / max(1.0, settings.steps - begin))
    falling = 0.5 * (1 + math.cos(math.pi * progress))
    return settings.final_rate + (1 - settings.final_rate) * falling


def _one_cycle(settings: LoopSettings, step: int) -> float:
    """Cosine from 1/25 up to 1 over the warm-up, then down to 1/250,000 (OneCycleLR)."""
    warmup = max(1.0, settings.warmup * settings.steps - 1)
    if step <= warmup:
        low, high, progress = 1 / 25, 1.0, step / warmup
    else:
        progress = min(1.0, (step - warmup) / max(1.0, settings.steps - 1 - warmup))
        low, high = 1.0, 1 / 25 / 1e4
    return high + (low - high) * 0.5 * (1 + math.cos(math.pi * progress))


SCHEDULES = {"plateau": _plateau, "one-cycle": _one_cycle}


class _Step(nn.Module):
    """Network and objective as one module, so that Fabric sees losses and nothing else."""

    def __init__(self, network: nn.Module, objective: Callable[..., dict[str, Tensor]]) -> None:
        super().__init__()
        self.network = network
        self.objective = objective

    def forward(self, batch: Callable[[], Any]) -> dict[str, Tensor]:
        """``batch`` comes behind a function: Fabric takes dataclasses apart."""
        return self.objective(self.network, batch())


class Trainer(Generic[BatchT]):
    """A network, its optimiser and its average; ``fit`` goes on from where they stand.

    folder    holds state.safetensors, best.safetensors, log.jsonl and events
    validate  network → figures; "score" among them decides what is best
    fabric    device, precision and processes; by default the plain CPU
    """

    def __init__(
        self,
        network: nn.Module,
        settings: LoopSettings,
        folder: str | Path,
        *,
        objective: Objective[BatchT],
        validate: Callable[[nn.Module], Figures] | None = None,
        fabric: Fabric | None = None,
    ) -> None:
        self.settings = settings
        self.folder = Path(folder)
        self.validate = validate
        self.fabric = fabric or Fabric(accelerator="cpu", devices=1)
        self.plain = network
        optimizer = torch.optim.AdamW(
            _grouped(network, settings), lr=settings.learning_rate, betas=(0.9, 0.999)
        )
        self.average = MovingAverage(network, settings.ema_decay) if settings.ema_decay else None
        self._losses, self.optimizer = self.fabric.setup(_Step(network, objective), optimizer)
        self.step = 0
        self.puzzles_seen = 0
        self.seconds = 0.0
        self.best_score = -math.inf
        self.stale = 0  # validations since the best one
        self._events: Any = None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self._rng = torch.get_rng_state()
        if (self.folder / "state.safetensors").exists():
            self._resume()

    def _resume(self) -> None:
        path = self.folder / "state.safetensors"
        tensors, values = load_state(path)
        try:
            self.plain.load_state_dict(under("network", tensors))
        except RuntimeError as error:
            raise InputError(f"{path}: the state of another network; choose another folder") from (
                error
            )
        if self.average is not None:
            self.average.tensors = under("average", tensors)
        restore_optimizer(self.optimizer, tensors)
        self._rng = tensors["rng"].cpu()
        self.step = values["step"]
        self.puzzles_seen = values["puzzles_seen"]
        self.seconds = values["seconds"]
        self.best_score = values["best_score"] if values["best_score"] is not None else -math.inf
        self.stale = values["stale"]

    def save(self) -> None:
        """Write all that an exact resume needs."""
        self._rng = torch.get_rng_state()
        if not self.fabric.is_global_zero:
            return
        tensors = {
            **prefixed("network", self.plain.state_dict()),
            **prefixed("average", self.average.tensors if self.average else {}),
            **optimizer_tensors(self.optimizer),
            "rng": self._rng,
        }
        values = {
            "step": self.step,
            "puzzles_seen": self.puzzles_seen,
            "seconds": self.seconds,
            "best_score": self.best_score if math.isfinite(self.best_score) else None,
            "stale": self.stale,
            "settings": asdict(self.settings),
            "network": _described(self.plain),
        }
        save_state(self.folder / "state.safetensors", tensors, values)

    @property
    def weights(self) -> dict[str, Tensor]:
        """The averaged weights where there is an average, else the network's own."""
        return dict(self.average.tensors if self.average else self.plain.state_dict())

    def fit(
        self,
        batches: Callable[[int], Iterable[BatchT]],
        *,
        until: int | None = None,
        minutes: float = 0.0,
        report: Callable[[Figures], None] | None = None,
    ) -> None:
        """Train on ``batches(first_step)`` to step ``until`` (default: the last).

        ``minutes`` > 0 ends the session early; patience ends the run for good.
        An interruption (Ctrl-C) saves first.
        """
        last = self.settings.steps if until is None else min(until, self.settings.steps)
        if self.step >= last or self._out_of_patience():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.set_rng_state(self._rng)
        self._events = _events(self.folder, self.step) if self.fabric.is_global_zero else None
        begun = started = time.monotonic()
        try:
            for batch in batches(self.step):
                row = self._update(batch)
                now = time.monotonic()
                self.seconds, started = self.seconds + now - started, now
                ends = self.step >= last or 0 < minutes * 60 <= now - begun
                if self.validate and (self.step % self.settings.validate_every == 0 or ends):
                    row["val"] = self._validated()
                    started = time.monotonic()
                if self.step % self.settings.save_every == 0 or ends or "val" in row:
                    self.save()
                self._log(row, report)
                if ends or self._out_of_patience():
                    return
        except KeyboardInterrupt:
            self.save()
            raise
        finally:
            if self._events:
                self._events.close()

    def _update(self, batch: BatchT) -> Figures:
        rate = self.settings.rate_at(self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self._losses.train()
        terms = self._losses(lambda: batch)
        self.optimizer.zero_grad(set_to_none=True)
        self.fabric.backward(terms["loss"])
        if self.settings.clip:
            self.fabric.clip_gradients(
                self._losses, self.optimizer, max_norm=self.settings.clip, error_if_nonfinite=False
            )
        self.optimizer.step()
        self.step += 1
        if self.average is not None:
            self.average.update(self.plain, self.step)
        self.puzzles_seen += len(batch) * self.fabric.world_size  # type: ignore[arg-type]
        row: Figures = {
            "step": self.step,
            "puzzles": self.puzzles_seen,
            "minutes": round(self.seconds / 60, 2),
            "rate": rate,
        }
        return row | {name: round(float(term.detach()), 5) for name, term in terms.items()}

    def _validated(self) -> Figures:
        """Figures of the averaged weights; the best so far are kept."""
        assert self.validate is not None
        kept = {name: tensor.clone() for name, tensor in self.plain.state_dict().items()}
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            self.plain.load_state_dict(self.weights)
            self.plain.eval()
            figures = self.validate(self.plain)
            self.plain.load_state_dict(kept)
        score = figures.get("score")
        if score is not None and score > self.best_score:
            self.best_score, self.stale = score, 0
            if self.fabric.is_global_zero:
                best = {"step": self.step, "figures": figures}
                save_state(self.folder / "best.safetensors", self.weights, best)
        elif score is not None:
            self.stale += 1
        return figures

    def _out_of_patience(self) -> bool:
        return 0 < self.settings.patience <= self.stale

    def _log(self, row: Figures, report: Callable[[Figures], None] | None) -> None:
        if not self.fabric.is_global_zero:
            return
        if report:
            report(row)
        if self.step % self.settings.log_every == 0 or "val" in row:
            with (self.folder / "log.jsonl").open("a") as log:
                log.write(json.dumps(row) + "\n")
            for name, value in _flat(row) if self._events else ():
                self._events.add_scalar(name, value, self.step)


def _described(network: nn.Module) -> dict[str, Any]:
    """The configuration of a network that carries one."""
    config: Any = getattr(network, "config", None)
    return dict(config.to_dict()) if config is not None else {}


def _events(folder: Path, step: int) -> Any:
    """A TensorBoard writer that goes on at ``step``, or None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "events"), purge_step=step)


def _flat(row: Figures, prefix: str = "") -> list[tuple[str, float]]:
    flat: list[tuple[str, float]] = []
    for name, value in row.items():
        if isinstance(value, dict):
            flat += _flat(value, f"{prefix}{name}/")
        elif isinstance(value, int | float):
            flat.append((prefix + name, float(value)))
    return flat


def _grouped(network: nn.Module, settings: LoopSettings) -> list[dict[str, Any]]:
    """Weight decay for matrices and kernels; for scales, biases and tables only if wanted."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    plain = settings.weight_decay if settings.decay_all else 0.0
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": plain},
    ]
