"""One readable training loop: schedule, average, validation, exact resume, early stop.

What is trained comes in as an ``objective`` (network, batch → named losses, the
sum called "loss"); batch number b must always be the same batch, so that a run
stopped anywhere goes on as if it had never stopped.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from puzzleflow.core.errors import InputError, check_known
from puzzleflow.training import state
from puzzleflow.training.log import RunLog
from puzzleflow.training.processes import agreed, interruptions, of_all

BatchT = TypeVar("BatchT")
Figures = dict[str, Any]
Objective = Callable[[nn.Module, BatchT], dict[str, Tensor]]

FREE_TO_CHANGE = {"save_every", "log_every"}  # settings that change nothing that is learnt


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
    trunk_rate: float = 1.0  # of a network's pretrained trunk, as a share of the rate
    cycle_momentum: bool = False  # one-cycle only: AdamW's first beta falls as the rate rises
    clip: float = 1.0  # gradient norm; 0 clips nothing
    ema_decay: float = 0.999  # 0: no average
    seed: int = 0
    validate_every: int = 1000
    save_every: int = 250
    log_every: int = 50
    patience: int = 0  # validations without improvement before stopping; 0: never

    def rate_at(self, step: int) -> float:
        """The learning rate of a step."""
        check_known("schedule", self.schedule, SCHEDULES)
        return self.learning_rate * SCHEDULES[self.schedule](self, step)

    def momentum_at(self, step: int) -> float:
        """AdamW's first beta: 0.9, or OneCycleLR's cycle from 0.95 to 0.85 and back."""
        if not (self.cycle_momentum and self.schedule == "one-cycle"):
            return 0.9
        progress, falls = _phase(self, step)
        high, low = (0.85, 0.95) if falls else (0.95, 0.85)
        return _cosine(high, low, progress)


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
    progress, falls = _phase(settings, step)
    return _cosine(1.0, 1 / 25 / 1e4, progress) if falls else _cosine(1 / 25, 1.0, progress)


def _phase(settings: LoopSettings, step: int) -> tuple[float, bool]:
    """How much of the warm-up is done, or of all after it, and which of the two it is."""
    warmup = max(1.0, settings.warmup * settings.steps - 1)
    if step <= warmup:
        return step / warmup, False
    return min(1.0, (step - warmup) / max(1.0, settings.steps - 1 - warmup)), True


def _cosine(begin: float, end: float, progress: float) -> float:
    return end + (begin - end) * 0.5 * (1 + math.cos(math.pi * progress))


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

    folder    holds state.safetensors and the one before it, best.safetensors,
              log.jsonl and events
    validate  network → figures; "score" among them decides what is best
    fabric    device, precision and processes; by default the plain CPU
    facts     what else makes the run what it is; a run goes on with the same only
    Batches are dataclasses; several processes share the rows of their tensors.
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
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = settings
        self.folder = Path(folder)
        self.validate = validate
        self.fabric = fabric or Fabric(accelerator="cpu", devices=1)
        self.facts = dict(facts or {})
        self.plain = network
        optimizer = torch.optim.AdamW(
            _grouped(network, settings), lr=settings.learning_rate, betas=(0.9, 0.999)
        )
        self.average = (
            state.MovingAverage(network, settings.ema_decay) if settings.ema_decay else None
        )
        self._losses, self.optimizer = self.fabric.setup(_Step(network, objective), optimizer)
        self.step = 0
        self.puzzles_seen = 0
        self.seconds = 0.0
        self.best_score = -math.inf
        self.stale = 0  # validations since the best one
        self.sums: dict[str, float] = {}  # of the losses, and of puzzles, since the last validation
        self.note = ""  # what the user should know about the state that was found
        self._between_steps = True
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self._rng = torch.get_rng_state()
        if state.has_state(self.folder):
            self._resume()

    def _resume(self) -> None:
        tensors, values, self.note = state.load_newest(self.folder)
        path = self.folder / state.STATE
        if "settings" not in values:
            raise InputError(f"{path}: the state of another kind of training")
        stored = {**values["settings"], **values.get("facts", {})}
        asked = json.loads(json.dumps({**self.facts, **asdict(self.settings)}))
        for name in asked:
            if name in stored.keys() - FREE_TO_CHANGE and stored[name] != asked[name]:
                raise InputError(
                    f"{path}: this run has {name} {stored[name]!r}, not {asked[name]!r}; "
                    "go on with the same or choose another folder"
                )
        try:
            self.plain.load_state_dict(state.under("network", tensors))
        except RuntimeError as error:
            raise InputError(f"{path}: the state of another network; choose another folder") from (
                error
            )
        if self.average is not None:
            self.average.tensors = state.under("average", tensors)
        state.restore_optimizer(self.optimizer, tensors)
        self._rng = tensors["rng"].cpu()
        self.step = values["step"]
        self.puzzles_seen = values["puzzles_seen"]
        self.seconds = values["seconds"]
        self.best_score = values["best_score"] if values["best_score"] is not None else -math.inf
        self.stale = values["stale"]
        self.sums = values.get("sums", {})

    def save(self) -> None:
        """Write all that an exact resume needs; weights that are not finite are refused."""
        self._rng = torch.get_rng_state()
        if name := state.not_finite(self.plain.state_dict()):
            raise InputError(
                f"{self.folder}: at step {self.step} {name} is not finite; the state before "
                "is kept, a lower learning rate may help"
            )
        if not self.fabric.is_global_zero:
            return
        tensors = {
            **state.prefixed("network", self.plain.state_dict()),
            **state.prefixed("average", self.average.tensors if self.average else {}),
            **state.optimizer_tensors(self.optimizer),
            "rng": self._rng,
        }
        values = {
            "step": self.step,
            "puzzles_seen": self.puzzles_seen,
            "seconds": self.seconds,
            "best_score": self.best_score if math.isfinite(self.best_score) else None,
            "stale": self.stale,
            "sums": self.sums,
            "settings": asdict(self.settings),
            "facts": self.facts,
            "network": described_config(getattr(self.plain, "config", None)),
        }
        state.save_newest(self.folder, tensors, values)

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
        An interruption (Ctrl-C, SIGTERM) ends it after the step, saved, with KeyboardInterrupt.
        """
        last = self.settings.steps if until is None else min(until, self.settings.steps)
        if self.step >= last or self.out_of_patience:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.set_rng_state(self._rng)
        log = None
        if self.fabric.is_global_zero:
            log = RunLog(self.folder, self.step, self.fabric.loggers)
        begun = started = time.monotonic()
        try:
            with interruptions() as asked:
                for batch in batches(self.step):
                    self._between_steps = False
                    row = self._update(batch)
                    self._between_steps = True
                    now = time.monotonic()
                    self.seconds, started = self.seconds + now - started, now
                    over = self.step >= last or 0 < minutes * 60 <= now - begun
                    ends = agreed(self.fabric, over)
                    if self.validate and (self.step % self.settings.validate_every == 0 or ends):
                        row |= self._validated()
                        started = time.monotonic()
                    if self.step % self.settings.save_every == 0 or ends or "val" in row:
                        self.save()
                    if log and (self.step % self.settings.log_every == 0 or "val" in row):
                        log.write(row)
                    if log and report:
                        with torch.random.fork_rng(devices=[]):  # its draws must not matter
                            report(row)
                    if ends or self.out_of_patience:
                        return
                    if agreed(self.fabric, bool(asked)):
                        raise KeyboardInterrupt
        except KeyboardInterrupt:
            if self._between_steps:  # else the last state on disk is the last whole one
                self.save()
            raise
        finally:
            if log:
                log.close()

    def _update(self, batch: BatchT) -> Figures:
        rate = self.settings.rate_at(self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["share"]
            group["betas"] = (self.settings.momentum_at(self.step), 0.999)
        self._losses.train()
        puzzles = len(batch)  # type: ignore[arg-type]
        mine = self._share(batch)
        terms = self._losses(lambda: mine)
        self.optimizer.zero_grad(set_to_none=True)
        # processes are averaged: one that has more rows counts for more
        weight = len(mine) * self.fabric.world_size / puzzles  # type: ignore[arg-type]
        self.fabric.backward(terms["loss"] if weight == 1 else terms["loss"] * weight)
        if self.settings.clip:
            self.fabric.clip_gradients(
                self._losses, self.optimizer, max_norm=self.settings.clip, error_if_nonfinite=False
            )
        self.optimizer.step()
        self.step += 1
        if self.average is not None:
            self.average.update(self.plain, self.step)
        self.puzzles_seen += puzzles
        losses = of_all(self.fabric, {name: t.detach() for name, t in terms.items()}, weight)
        for name, value in {**losses, "puzzles": 1}.items():
            self.sums[name] = self.sums.get(name, 0.0) + puzzles * value
        row: Figures = {
            "step": self.step,
            "puzzles": self.puzzles_seen,
            "minutes": round(self.seconds / 60, 2),
            "rate": rate,
        }
        return row | {name: round(value, 5) for name, value in losses.items()}

    def _share(self, batch: BatchT) -> BatchT:
        """The rows of this process on its device."""
        rank, size = self.fabric.global_rank, self.fabric.world_size
        if len(batch) < size:  # type: ignore[arg-type]
            raise InputError(f"a batch of {len(batch)} cannot be shared by {size} processes")  # type: ignore[arg-type]
        return with_tensors(batch, lambda tensor: tensor[rank::size].to(self.fabric.device))

    def _validated(self) -> Figures:
        """Figures of the averaged weights and mean losses since before; the best are kept."""
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
                state.save_state(self.folder / "best.safetensors", self.weights, best)
        elif score is not None:
            self.stale += 1
        puzzles = self.sums.pop("puzzles", 1.0)
        means = {name: round(value / puzzles, 5) for name, value in self.sums.items()}
        self.sums = {}
        return {"train": means, "val": figures}

    @property
    def out_of_patience(self) -> bool:
        """Whether validation has not improved for as long as the settings allow."""
        return 0 < self.settings.patience <= self.stale


def with_tensors(batch: BatchT, change: Callable[[Tensor], Tensor]) -> BatchT:
    """The dataclass with every tensor changed."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}  # type: ignore[arg-type]
    tensors = {name: change(v) for name, v in values.items() if isinstance(v, Tensor)}
    return replace(batch, **tensors)  # type: ignore[type-var]


def described_config(config: Any) -> dict[str, Any]:
    """The configuration of a network as JSON, however it says it."""
    if hasattr(config, "to_dict"):
        return dict(config.to_dict())
    return asdict(config) if config is not None else {}


def _grouped(network: nn.Module, settings: LoopSettings) -> list[dict[str, Any]]:
    """Weight decay for matrices and kernels; for scales, biases and tables only if wanted.

    What a network calls its ``trunk`` learns at a share of the rate.
    """
    plain = settings.weight_decay if settings.decay_all else 0.0
    trunk = getattr(network, "trunk", None) if settings.trunk_rate != 1 else None
    slow = {id(parameter) for parameter in trunk.parameters()} if trunk is not None else set()
    parameters = [p for p in network.parameters() if p.requires_grad]
    return [
        {
            "params": [p for p in parameters if (p.ndim >= 2) == many and (id(p) in slow) == below],
            "weight_decay": settings.weight_decay if many else plain,
            "share": settings.trunk_rate if below else 1.0,
        }
        for below in ((False, True) if slow else (False,))
        for many in (True, False)
    ]
