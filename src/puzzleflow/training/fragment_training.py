"""Train the mask VAE as published; a run that is stopped goes on exactly where it was."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.core.types import BoolArray, IntArray
from puzzleflow.files import write_json
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.fragment_vae import (
    VAE_KIND,
    FragmentVAE,
    FragmentVAEConfig,
    save_decoder,
    vae_loss,
)
from puzzleflow.training.banks import MaskSplit, split_masks
from puzzleflow.training.log import validations
from puzzleflow.training.loop import Figures, LoopSettings, Trainer
from puzzleflow.training.state import STATE, has_state, load_state

WEIGHTS = "fragment_vae.safetensors"
DECODER = "fragment_vae_decoder.safetensors"
TERMS = ("loss", "reconstruction", "divergence")


@dataclass(frozen=True)
class FragmentTraining:
    """The published recipe; the paper stopped after 44 epochs."""

    learning_rate: float = 1e-4
    batch: int = 32
    beta: float = 1.0
    max_epochs: int = 300
    patience: int = 15
    seed: int = 0


@dataclass(frozen=True)
class MaskBatch:
    """B masks: (B, 1, H, W) float."""

    masks: Tensor

    def __len__(self) -> int:
        return len(self.masks)


class FragmentRun:
    """One training run in its own folder; an epoch ends with a validation.

    resume  go on with the run in ``folder``; else it must hold none
    """

    def __init__(
        self,
        folder: str | Path,
        masks: BoolArray,
        names: list[str],
        recipe: FragmentTraining,
        architecture: FragmentVAEConfig | None = None,
        *,
        resume: bool = False,
        fabric: Fabric | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.recipe = recipe
        self.masks = masks
        self.split: MaskSplit = split_masks(names, recipe.seed)
        if has_state(self.folder) and not resume:
            raise InputError(f"{self.folder} holds a run already: resume it or choose another")
        if resume and not has_state(self.folder):
            raise InputError(f"{self.folder / STATE}: no such file")
        self.description = {
            "recipe": asdict(recipe),
            "num_masks": len(masks),
            "masks_sha256": hashlib.sha256(np.packbits(masks).tobytes()).hexdigest(),
        }
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(child_seed(recipe.seed, "weights"))
            model = FragmentVAE(architecture)
        self.model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.trainer: Trainer[MaskBatch] = Trainer(
            self.model,
            self.settings(),
            self.folder,
            objective=self._losses,
            validate=self._validate,
            fabric=fabric,
            facts=self.description,
        )
        parts = asdict(self.split).items()
        write_json(
            self.folder / "split.json",
            {part: [names[index] for index in indices] for part, indices in parts},
        )

    def settings(self) -> LoopSettings:
        """The recipe as the loop takes it: Adam at a constant rate, validated every epoch."""
        return LoopSettings(
            steps=self.recipe.max_epochs * self.batches_per_epoch,
            learning_rate=self.recipe.learning_rate,
            warmup=0.0,
            hold=1.0,
            weight_decay=0.0,
            clip=0.0,
            ema_decay=0.0,
            seed=self.recipe.seed,
            validate_every=self.batches_per_epoch,
            save_every=self.batches_per_epoch,
            log_every=self.batches_per_epoch,
            patience=self.recipe.patience,
        )

    @property
    def batches_per_epoch(self) -> int:
        """The last batch may be smaller, but BatchNorm cannot learn from one mask."""
        whole, rest = divmod(len(self.split.train), self.recipe.batch)
        return max(1, whole + (rest > 1))

    @property
    def history(self) -> list[dict[str, float]]:
        """Mean losses of every finished epoch."""
        return [
            {"epoch": row["step"] // self.batches_per_epoch}
            | {f"train_{name}": row["train"][name] for name in TERMS}
            | {f"validation_{name}": row["val"][name] for name in TERMS}
            for row in validations(self.folder)
            if all(row[part].keys() >= set(TERMS) for part in ("train", "val"))
        ]

    def run(self, report: Callable[[dict[str, float]], None] = lambda row: None) -> dict[str, Any]:
        """Train until validation stops improving; ``report`` sees each epoch's figures."""

        def after(row: Figures) -> None:
            if "val" in row:
                if not self.progress["finished"]:
                    self._write()
                report(self.history[-1])

        self.trainer.fit(self._batches, report=after)
        self._write()  # also where a run was killed after its last state, before its weights
        return self.progress

    @property
    def progress(self) -> dict[str, Any]:
        """Where the run stands after its last finished epoch."""
        step = self.trainer.step
        return {
            "epoch": step // self.batches_per_epoch,
            "best_epoch": step // self.batches_per_epoch - self.trainer.stale,
            "best_validation": -self.trainer.best_score,
            "finished": step >= self.trainer.settings.steps or self.trainer.out_of_patience,
        }

    def _batches(self, first: int) -> Iterator[MaskBatch]:
        """Batches from number ``first`` on: all masks once an epoch, each epoch shuffled anew."""
        size, number = self.recipe.batch, first
        while True:
            epoch, place = divmod(number, self.batches_per_epoch)
            order = np.array(self.split.train)
            child_rng(self.recipe.seed, "order", epoch + 1).shuffle(order)
            yield self._batch(order[place * size : (place + 1) * size])
            number += 1

    def _batch(self, indices: IntArray) -> MaskBatch:
        return MaskBatch(torch.from_numpy(self.masks[indices]).float().unsqueeze(1))

    def _losses(self, model: nn.Module, batch: MaskBatch) -> dict[str, Tensor]:
        logits, mean, log_variance = model(batch.masks)
        loss = vae_loss(logits, batch.masks, mean, log_variance, self.recipe.beta)
        terms = (loss.total, loss.reconstruction, loss.divergence)
        return dict(zip(TERMS, terms, strict=True))

    def _validate(self, model: nn.Module) -> Figures:
        """Mean losses per mask, with the same draws every time."""
        torch.manual_seed(child_seed(self.recipe.seed, "validation"))
        chosen = np.array(self.split.validation)
        device = next(model.parameters()).device
        sums = dict.fromkeys(TERMS, 0.0)
        for start in range(0, len(chosen), self.recipe.batch):
            batch = self._batch(chosen[start : start + self.recipe.batch])
            for name, term in self._losses(model, MaskBatch(batch.masks.to(device))).items():
                sums[name] += len(batch) * float(term)
        figures = {name: value / len(chosen) for name, value in sums.items()}
        return {**figures, "score": -figures["loss"]}

    def _write(self) -> None:
        """The best weights so far, if there are any, whole and as the decoder that draws."""
        if self.trainer.best_score == -math.inf:
            return
        best = FragmentVAE(self.model.config)
        best.load_state_dict(load_state(self.folder / "best.safetensors")[0])
        best.fit_latents(self._batch(np.array(self.split.train)).masks)
        training = {**self.description, **self.progress}
        config = {"kind": VAE_KIND, "model": asdict(self.model.config), "training": training}
        save_weights(self.folder / WEIGHTS, best.state_dict(), config)
        save_decoder(self.folder / DECODER, best, training)
