"""Training of the seam scorer on examples of :mod:`puzzleflow.training.seam_examples`.

Batches hold as many true joins as false ones, so that what the scorer learns is the
logarithm of a ratio of likelihoods: how much a seam speaks for a join, whatever the odds
before. True joins also teach it the gap that the two fragments should have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzleflow.core.errors import InputError
from puzzleflow.core.rng import child_rng, child_seed
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.seam_scorer import SeamConfig, SeamScorer
from puzzleflow.training.loop import Figures, LoopSettings, Trainer, described_config
from puzzleflow.training.seam_examples import Arrays, joined
from puzzleflow.training.state import load_state

KIND = "seams"
SETTINGS = LoopSettings(
    steps=1500, learning_rate=3e-3, hold=0.4, ema_decay=0.99, validate_every=250, log_every=50
)
BATCH = 256
GAP_UNIT = 0.1  # gaps are learnt in these, over the median √area
GAP_WEIGHT = 0.2
TINT = 0.08  # deviation of the colour that a whole side is given anew each time
MIRRORED = (1, 1, 1, -1, -1, 1)  # signs of the geometry of a strip seen in a mirror


@dataclass(frozen=True)
class SeamBatch:
    """S joins: strips of colours (S, 2, L, C), geometry, facts, truth (S,), gap (S,) or NaN."""

    own: Tensor
    other: Tensor
    geometry: Tensor
    facts: Tensor
    is_true: Tensor
    gap: Tensor

    def __len__(self) -> int:
        return len(self.own)


def read_examples(paths: Sequence[Path]) -> Arrays:
    """All examples of the files; the last row of the table is empty, which is row -1."""
    parts = []
    for path in paths:
        with np.load(path, allow_pickle=False) as stored:
            parts.append({key: stored[key] for key in stored.files})
    examples = joined(parts)
    examples["table"] = np.pad(examples["table"], ((0, 1), (0, 0)))
    return examples


def batch_of(examples: Arrays, chosen: np.ndarray, rng: np.random.Generator | None) -> SeamBatch:
    """The chosen examples; with a generator half of them mirrored, sides in other light."""
    own, other = (
        examples["table"][examples[key][chosen]].astype(np.float32) for key in ("own", "other")
    )
    geometry = examples["geometry"][chosen].astype(np.float32)
    if rng is not None:
        mirrored = rng.random(len(chosen)) < 0.5
        own[mirrored], other[mirrored] = own[mirrored, :, ::-1], other[mirrored, :, ::-1]
        geometry[mirrored] = geometry[mirrored, :, ::-1] * np.array(MIRRORED, np.float32)
        tint = rng.normal(0, TINT, (len(chosen), 2, 1, 3)).astype(np.float32)
        tint = np.tile(tint, own.shape[3] // 3)  # the same at all depths
        own = np.where(own == 0, 0, own + tint)
        other = np.where(other == 0, 0, other + tint[:, ::-1])
    values = [examples[key][chosen].astype(np.float32) for key in ("facts", "is_true", "gap")]
    return SeamBatch(*map(torch.from_numpy, (own, other, geometry, *values)))


class SeamRun:
    """One training run in its own folder; the last tenth of the files is held out."""

    def __init__(
        self, folder: Path, files: Sequence[Path], settings: LoopSettings = SETTINGS
    ) -> None:
        if len(files) < 2:
            raise InputError("the seam scorer needs at least two files of examples")
        held_out = max(1, len(files) // 10)
        self.folder = folder
        self.examples = read_examples(files[:-held_out])
        self.held_out = read_examples(files[-held_out:])
        truth = self.examples["is_true"]
        self.true, self.false = np.flatnonzero(truth), np.flatnonzero(~truth)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(child_seed(settings.seed, "weights"))
            self.network = SeamScorer(SeamConfig())
        some = np.arange(0, len(truth), max(1, len(truth) // 4000))
        batch = batch_of(self.examples, some, None)
        self.network.fit_scale(
            self.network.inputs(batch.own, batch.other, batch.geometry, batch.facts)
        )
        self.trainer: Trainer[SeamBatch] = Trainer(
            self.network,
            settings,
            folder,
            objective=seam_loss,
            validate=self.figures,
            facts={"examples": len(truth)},
        )

    def batches(self, first: int) -> Iterator[SeamBatch]:
        """Half true, half false, from step ``first`` on."""
        for number in range(first, self.trainer.settings.steps):
            rng = child_rng(self.trainer.settings.seed, "batch", number)
            halves = [rng.choice(part, BATCH // 2) for part in (self.true, self.false)]
            yield batch_of(self.examples, np.concatenate(halves), rng)

    def figures(self, network: nn.Module) -> Figures:
        """On the examples held out: balanced loss, and how often a true join beats a false one."""
        scores, gaps = scored(network, self.held_out)
        truth = self.held_out["is_true"].astype(np.bool_)
        loss = [
            float(np.logaddexp(0, sign * scores[part]).mean())
            for sign, part in ((-1, truth), (1, ~truth))
        ]
        away = np.abs(gaps - self.held_out["gap"])[truth]
        plain = self.held_out["facts"][:, 0].astype(np.float32)
        return {
            "score": -float(np.mean(loss)),
            "beats": area_under_curve(scores, truth),
            "unlearned_beats": area_under_curve(plain, truth),
            "gap_error": float(np.mean(away)),
        }

    def save(self) -> dict[str, Any]:
        """Write the best weights; returns what the file says of them."""
        self.network.load_state_dict(load_state(self.folder / "best.safetensors")[0])
        self.network.eval()
        described = {
            "kind": KIND,
            "network": described_config(self.network.config),
            "validation": self.figures(self.network),
            "examples": len(self.examples["is_true"]),
            "joins_seen": self.trainer.puzzles_seen,
        }
        path = self.folder / f"{KIND}.safetensors"
        save_weights(path, self.network.state_dict(), described, dtype="float16")
        return described


def seam_loss(network: nn.Module, batch: SeamBatch) -> dict[str, Tensor]:
    """Cross-entropy of the truth, and the error of the gap of true joins."""
    told = network(batch.own, batch.other, batch.geometry, batch.facts)  # (S, 2)
    truth = F.binary_cross_entropy_with_logits(told[:, 0], batch.is_true)
    known = batch.is_true > 0
    gap = F.smooth_l1_loss(told[known, 1], batch.gap[known] / GAP_UNIT, beta=0.2)
    return {"loss": truth + GAP_WEIGHT * gap, "truth": truth, "gap": gap}


@torch.no_grad()
def scored(network: nn.Module, examples: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Log of odds and gap of every example."""
    told = []
    for first in range(0, len(examples["is_true"]), 512):
        chosen = np.arange(first, min(first + 512, len(examples["is_true"])))
        batch = batch_of(examples, chosen, None)
        told.append(network(batch.own, batch.other, batch.geometry, batch.facts).numpy())
    both = np.concatenate(told)  # (S, 2)
    return both[:, 0], both[:, 1] * GAP_UNIT


def area_under_curve(scores: np.ndarray, truth: np.ndarray) -> float:
    """Share of pairs of a true and a false example in which the true one scores higher."""
    ranks = np.argsort(np.argsort(scores)) + 1
    true, false = int(truth.sum()), int((~truth).sum())
    return float((ranks[truth].sum() - true * (true + 1) / 2) / max(1, true * false))
