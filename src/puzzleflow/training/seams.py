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
from puzzleflow.core.types import BoolArray, FloatArray
from puzzleflow.models.checkpoint import save_weights
from puzzleflow.models.seam_scorer import SeamConfig, SeamScorer, inputs_of
from puzzleflow.training.loop import Figures, LoopSettings, Trainer, described_config
from puzzleflow.training.seam_examples import Arrays, joined
from puzzleflow.training.state import load_state

KIND = "seams"
SETTINGS = LoopSettings(
    steps=800,
    learning_rate=2e-3,
    hold=0.3,
    weight_decay=0.1,
    ema_decay=0.98,
    validate_every=100,
    log_every=100,
)
BATCH = 256
AT_ONCE = 512
GAP_UNIT = 0.1  # gaps are learnt in these, over the median √area
GAP_WEIGHT = 0.2
TINT = 0.08  # deviation of the colour that a whole side is given anew each time
MIRRORED = (1, 1, 1, -1, -1, 1)  # signs of the geometry of a strip seen in a mirror


@dataclass(frozen=True)
class SeamBatch:
    """S joins: what they show (S, I), truth (S,), gap (S,) or NaN."""

    inputs: Tensor
    is_true: Tensor
    gap: Tensor

    def __len__(self) -> int:
        return len(self.inputs)


def read_examples(paths: Sequence[Path]) -> Arrays:
    """All examples of the files; the last row of the table is empty, which is row -1."""
    parts = []
    for path in paths:
        with np.load(path, allow_pickle=False) as stored:
            parts.append({key: stored[key] for key in stored.files})
    examples = joined(parts)
    examples["table"] = np.pad(examples["table"], ((0, 1), (0, 0)))
    return examples


@torch.no_grad()
def shown(examples: Arrays, rng: np.random.Generator | None = None) -> Tensor:
    """(S, I) what all examples show; with a generator in a mirror and in other light."""
    found = []
    for first in range(0, len(examples["own"]), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        own, other = (
            examples["table"][examples[key][part]].astype(np.float32) for key in ("own", "other")
        )
        geometry = examples["geometry"][part].astype(np.float32)
        if rng is not None:
            own, other = own[:, :, ::-1].copy(), other[:, :, ::-1].copy()
            geometry = geometry[:, :, ::-1] * np.array(MIRRORED, np.float32)
            tint = rng.normal(0, TINT, (len(own), 2, 1, 3)).astype(np.float32)
            tint = np.tile(tint, own.shape[3] // 3)  # the same at all depths
            own = np.where(own == 0, 0, own + tint)
            other = np.where(other == 0, 0, other + tint[:, ::-1])
        facts = examples["facts"][part].astype(np.float32)
        found.append(inputs_of(*map(torch.from_numpy, (own, other, geometry, facts))))
    return torch.cat(found)


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
        rng = child_rng(settings.seed, "light")
        self.inputs = torch.stack([shown(self.examples), shown(self.examples, rng)])  # (2, S, I)
        self.held_inputs = shown(self.held_out)
        truth = self.examples["is_true"]
        self.true, self.false = np.flatnonzero(truth), np.flatnonzero(~truth)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(child_seed(settings.seed, "weights"))
            self.network = SeamScorer(SeamConfig())
        self.network.fit_scale(self.inputs[0])
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
            chosen = np.concatenate(halves)
            seen = torch.from_numpy(rng.integers(0, len(self.inputs), len(chosen)))
            values = [self.examples[key][chosen].astype(np.float32) for key in ("is_true", "gap")]
            yield SeamBatch(self.inputs[seen, chosen], *map(torch.from_numpy, values))

    def figures(self, network: nn.Module) -> Figures:
        """On the examples held out: balanced loss, and how often a true join beats a false one."""
        told = network(self.held_inputs).numpy()  # (S, 2)
        scores, gaps = told[:, 0], told[:, 1] * GAP_UNIT
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
        with torch.no_grad():
            figures = self.figures(self.network)
        described = {
            "kind": KIND,
            "network": described_config(self.network.config),
            "validation": figures,
            "examples": len(self.examples["is_true"]),
            "joins_seen": self.trainer.puzzles_seen,
        }
        path = self.folder / f"{KIND}.safetensors"
        save_weights(path, self.network.state_dict(), described, dtype="float16")
        return described


def seam_loss(network: nn.Module, batch: SeamBatch) -> dict[str, Tensor]:
    """Cross-entropy of the truth, and the error of the gap of true joins."""
    told = network(batch.inputs)  # (S, 2)
    truth = F.binary_cross_entropy_with_logits(told[:, 0], batch.is_true)
    known = batch.is_true > 0
    gap = F.smooth_l1_loss(told[known, 1], batch.gap[known] / GAP_UNIT, beta=0.2)
    return {"loss": truth + GAP_WEIGHT * gap, "truth": truth, "gap": gap}


def area_under_curve(scores: FloatArray, truth: BoolArray) -> float:
    """Share of pairs of a true and a false example in which the true one scores higher."""
    ranks = np.argsort(np.argsort(scores)) + 1
    true, false = int(truth.sum()), int((~truth).sum())
    return float((ranks[truth].sum() - true * (true + 1) / 2) / max(1, true * false))
