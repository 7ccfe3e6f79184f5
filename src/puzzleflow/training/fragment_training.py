"""Train the mask VAE as published; a run that is stopped goes on exactly where it was.

Everything random in an epoch comes from a seed of that epoch, so the state of
the last finished epoch is all that a resumed run needs to repeat the rest bit
for bit (same machine, same number of threads).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import BoolArray
from puzzleflow.files import write_json, write_text
from puzzleflow.models.checkpoint import restore, save_weights
from puzzleflow.models.fragment_vae import (
    VAE_KIND,
    FragmentVAE,
    FragmentVAEConfig,
    save_decoder,
    vae_loss,
)
from puzzleflow.training.board import Board
from puzzleflow.training.mask_split import MaskSplit, split_masks
from puzzleflow.training.state import (
    load_state,
    optimizer_tensors,
    prefixed,
    restore_optimizer,
    save_state,
    under,
)

STATE = "state.safetensors"
METRICS = "metrics.jsonl"
WEIGHTS = "fragment_vae.safetensors"
DECODER = "fragment_vae_decoder.safetensors"


@dataclass(frozen=True)
class FragmentTraining:
    """The published recipe; the paper stopped after 44 epochs."""

    learning_rate: float = 1e-4
    batch: int = 32
    beta: float = 1.0
    max_epochs: int = 300
    patience: int = 15
    seed: int = 0


@dataclass
class Progress:
    """Where a run stands after a finished epoch."""

    epoch: int = 0
    best_epoch: int = 0
    best_validation: float = float("inf")
    finished: bool = False


class FragmentRun:
    """One training run in its own folder."""

    def __init__(
        self,
        folder: str | Path,
        masks: BoolArray,
        names: list[str],
        recipe: FragmentTraining,
        architecture: FragmentVAEConfig | None = None,
        *,
        resume: bool = False,
        device: str = "cpu",
    ) -> None:
        self.folder = Path(folder)
        self.recipe = recipe
        self.device = torch.device(device)
        self.split: MaskSplit = split_masks(names, recipe.seed)
        self.masks = masks
        self.description = {
            "recipe": asdict(recipe),
            "num_masks": len(masks),
            "masks_sha256": hashlib.sha256(np.packbits(masks).tobytes()).hexdigest(),
        }
        with _seeded(child_seed(recipe.seed, "weights")):
            model = FragmentVAE(architecture).to(self.device)
        self.model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.best = _copy(self.model)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=recipe.learning_rate, betas=(0.9, 0.999), eps=1e-8
        )
        self.progress = Progress()
        self.history: list[dict[str, float]] = []
        state = self.folder / STATE
        if resume:
            self._load(state)
        elif state.exists():
            raise InputError(f"{self.folder} holds a run already: resume it or choose another")
        write_json(self.folder / "split.json", _named(self.split, names))
        self.board = Board(self.folder / "tensorboard", first_step=self.progress.epoch + 1)

    def run(self, report: Callable[[dict[str, float]], None] = lambda row: None) -> Progress:
        """Train until validation stops improving; ``report`` sees each epoch's figures."""
        while not self.progress.finished:
            row = self._epoch(self.progress.epoch + 1)
            self.history.append(row)
            self._log()
            self._save()
            report(row)
        self.board.close()
        return self.progress

    def _epoch(self, epoch: int) -> dict[str, float]:
        order = np.array(self.split.train)
        child_rng(self.recipe.seed, "order", epoch).shuffle(order)
        self.model.train()
        with _seeded(child_seed(self.recipe.seed, "epoch", epoch)):
            train = self._pass(order, learn=True)
        self.model.eval()
        with _seeded(child_seed(self.recipe.seed, "validation")), torch.inference_mode():
            validation = self._pass(np.array(self.split.validation), learn=False)
        progress = self.progress
        progress.epoch = epoch
        if validation[0] < progress.best_validation:
            progress.best_validation, progress.best_epoch = validation[0], epoch
            self.best = _copy(self.model)
        progress.finished = (
            epoch >= self.recipe.max_epochs or epoch - progress.best_epoch >= self.recipe.patience
        )
        names = ("loss", "reconstruction", "divergence")
        row: dict[str, float] = {"epoch": epoch}
        row |= {f"train_{name}": value for name, value in zip(names, train, strict=True)}
        row |= {f"validation_{name}": value for name, value in zip(names, validation, strict=True)}
        return row

    def _pass(self, order: np.ndarray[Any, Any], *, learn: bool) -> list[float]:
        """Mean loss, reconstruction and divergence per mask over ``order``."""
        sums = np.zeros(3)
        size = self.recipe.batch
        starts = range(0, len(order), size)
        if learn and len(order) > 1 and len(order) % size == 1:
            starts = range(0, len(order) - 1, size)  # BatchNorm cannot learn from one mask
        for start in starts:
            chosen = order[start : start + size]
            batch = self._batch(chosen)  # (B, 1, H, W)
            logits, mean, log_variance = self.model(batch)
            loss = vae_loss(logits, batch, mean, log_variance, self.recipe.beta)
            if learn:
                self.optimizer.zero_grad(set_to_none=True)
                loss.total.backward()  # type: ignore[no-untyped-call]
                self.optimizer.step()
            terms = (loss.total, loss.reconstruction, loss.divergence)
            sums += len(chosen) * np.array([float(term.detach()) for term in terms])
        return [float(value) for value in sums / len(order)]

    def _batch(self, indices: np.ndarray[Any, Any]) -> Tensor:
        pixels = torch.from_numpy(self.masks[indices]).to(self.device, torch.float32)
        return pixels.unsqueeze(1)  # (B, 1, H, W)

    def _log(self) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in self.history)
        write_text(self.folder / METRICS, lines)
        self.board.add_scalars(self.history[-1])

    def _save(self) -> None:
        """Best weights for use, and everything for going on: state last."""
        settings = {**self.description, **asdict(self.progress)}
        best = FragmentVAE(self.model.config).to(self.device)
        best.load_state_dict(self.best)
        best.fit_latents(self._batch(np.array(self.split.train)))
        config = {
            "kind": VAE_KIND,
            "model": asdict(self.model.config),
            "training": settings,
        }
        save_weights(self.folder / WEIGHTS, best.state_dict(), config)
        save_decoder(self.folder / DECODER, best, settings)
        tensors = prefixed("model", self.model.state_dict()) | prefixed("best", self.best)
        tensors |= optimizer_tensors(self.optimizer)
        save_state(self.folder / STATE, tensors, settings | {"history": self.history})

    def _load(self, path: Path) -> None:
        tensors, settings = load_state(path)
        for name, value in self.description.items():
            if settings.get(name) != value:
                raise InputError(
                    f"{path}: this run had another {name}: {settings.get(name)}, not {value}"
                )
        restore(self.model, under("model", tensors), path)
        self.best = under("best", tensors)
        restore_optimizer(self.optimizer, tensors)
        self.history = settings["history"]
        self.progress = Progress(**{name: settings[name] for name in asdict(self.progress)})


def _copy(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}


def _named(split: MaskSplit, names: list[str]) -> dict[str, list[str]]:
    return {part: [names[index] for index in indices] for part, indices in asdict(split).items()}


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Torch's own random numbers from ``seed``, the caller's untouched."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
