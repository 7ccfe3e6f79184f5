"""Training of the seam scorer on examples of :mod:`puzzleflow.training.seam_examples`.

Batches hold as many joins that are nearly right as wrong ones, so that what the scorer
learns is the logarithm of a ratio of likelihoods: how much a seam speaks for a join,
whatever the odds before. The nearer a pose is to the true one the more it is right, so
that most speaks for the true pose itself. Right joins also teach it the gap that the two
fragments should have. In some the gap of the whole set is known, as it is to the solver
when it looks again; where it is not, they teach how likely each gap of the set is. Strips
come in other colours and mirrored, as often as they are shown.
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
from puzzleflow.models.seam_scorer import SeamConfig, SeamScorer
from puzzleflow.solvers.free_form.measures import (
    COLOURS,
    GAP_UNIT,
    GAPS,
    NUM_COLOURS,
    SEEN,
    SINE,
    SLIDE,
    expecting,
)
from puzzleflow.solvers.free_form.seams import load_scorer
from puzzleflow.training.loop import Figures, LoopSettings, Trainer, described_config
from puzzleflow.training.seam_examples import Arrays, joined
from puzzleflow.training.state import load_state

KIND = "seams"
SETTINGS = LoopSettings(
    steps=3000,
    learning_rate=3e-3,
    hold=0.3,
    weight_decay=0.1,
    ema_decay=0.99,
    validate_every=300,
    log_every=100,
)
BATCH = 256
GAP_WEIGHT = 0.2
SET_WEIGHT = 0.2  # of the gaps of sets
RIGHT, WRONG = 0.5, 2.5  # errors in tolerances; between them a join is right in part
KNOWN = 0.6  # share of joins whose set's gap is known
GAP_NOISE = 0.012  # of √area: how well
FINDS_GAP = 1.5  # errors up to which a join tells of its gap
HUE, OPPOSITE = 0.6, 0.3  # radians by which colours turn; share in which they turn by half, too
LIGHT, CONTRAST = 0.25, 0.2  # by which all colours of a join are moved and stretched
MANY = 2048  # joins that are looked at together


@dataclass(frozen=True)
class SeamBatch:
    """S joins: what they show (S, 2, C, L) and (S, I), how right they are (S,), gap (S,) or NaN.

    of_set  (S, G) how likely each gap of the set is; zeros where the network is told
    """

    strips: Tensor
    inputs: Tensor
    right: Tensor
    gap: Tensor
    of_set: Tensor

    def __len__(self) -> int:
        return len(self.inputs)


def read_examples(paths: Sequence[Path]) -> Arrays:
    """All examples of the files."""
    parts = []
    for path in paths:
        with np.load(path, allow_pickle=False) as stored:
            parts.append({key: stored[key] for key in stored.files})
    return joined(parts)


def rightness(error: FloatArray) -> FloatArray:
    """(S,) float32 in [0, 1]: 1 up to ``RIGHT``, 0 from ``WRONG`` on."""
    return np.asarray(np.clip((WRONG - error) / (WRONG - RIGHT), 0, 1), np.float32)


def gap_shares(gap: FloatArray) -> FloatArray:
    """(S,) → (S, G) float32: every gap as shares of the two in ``GAPS`` between which it lies."""
    steps = np.array(GAPS)
    within = np.clip(gap, steps[0], steps[-1])
    above = np.clip(np.searchsorted(steps, within, side="right"), 1, len(steps) - 1)
    part = (within - steps[above - 1]) / (steps[above] - steps[above - 1])
    shares = np.zeros((len(gap), len(steps)), np.float32)
    rows = np.arange(len(gap))
    shares[rows, above], shares[rows, above - 1] = part, 1 - part
    return shares


def varied(strips: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(S, 2, C, L) float32: the same joins in other colours, some mirrored, either edge first."""
    S = len(strips)

    def drawn(share: float) -> BoolArray:
        return np.asarray(rng.random(S) < share)[:, None, None, None]

    seen = np.where(drawn(0.5), strips[:, ::-1], strips)
    mirrored = seen[..., ::-1].copy()
    mirrored[:, :, (SINE, SLIDE)] *= -1
    seen = np.where(drawn(0.5), mirrored, seen).astype(np.float32)
    turn = rng.uniform(-HUE, HUE, S) + np.pi * (rng.random(S) < OPPOSITE)
    light = rng.normal(0, LIGHT, (S, 1, 1))
    stretch = rng.uniform(1 - CONTRAST, 1 + CONTRAST, (S, 1, 1))
    cos, sin = (stretch * part[:, None, None] for part in (np.cos(turn), np.sin(turn)))
    for number in range(NUM_COLOURS):
        at = COLOURS + 3 * number
        told = seen[:, :, SEEN] if number >= NUM_COLOURS // 2 else 1.0  # the other's may be none
        lightness, a, b = (seen[:, :, at + c].copy() for c in range(3))
        seen[:, :, at] = (stretch * lightness + light) * told
        seen[:, :, at + 1] = cos * a - sin * b
        seen[:, :, at + 2] = sin * a + cos * b
    return seen


class SeamRun:
    """One training run in its own folder; the last tenth of the files is held out.

    initial  weights to start from; None: none
    """

    def __init__(
        self,
        folder: Path,
        files: Sequence[Path],
        settings: LoopSettings = SETTINGS,
        *,
        initial: Path | None = None,
    ) -> None:
        if len(files) < 2:
            raise InputError("the seam scorer needs at least two files of examples")
        held_out = max(1, len(files) // 10)
        self.folder = folder
        self.examples = read_examples(files[:-held_out])
        self.held_out = read_examples(files[-held_out:])
        near = self.examples["error"] < WRONG
        self.near, self.wrong = np.flatnonzero(near), np.flatnonzero(~near)
        inputs, gap = self.examples["inputs"], self.examples["set_gap"]
        if initial is None:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(child_seed(settings.seed, "weights"))
                self.network = SeamScorer(SeamConfig())
            self.network.fit_scale(torch.from_numpy(expecting(inputs, gap)))
        else:
            self.network = load_scorer(initial)
        self.network.fit_usual(torch.from_numpy(gap_shares(gap)))
        self.trainer: Trainer[SeamBatch] = Trainer(
            self.network,
            settings,
            folder,
            objective=seam_loss,
            validate=self.figures,
            facts={"examples": len(near)},
        )

    def batches(self, first: int) -> Iterator[SeamBatch]:
        """Half nearly right, half wrong, from step ``first`` on."""
        for number in range(first, self.trainer.settings.steps):
            rng = child_rng(self.trainer.settings.seed, "batch", number)
            halves = [rng.choice(part, BATCH // 2) for part in (self.near, self.wrong)]
            chosen = {key: each[np.concatenate(halves)] for key, each in self.examples.items()}
            noise = rng.normal(0, GAP_NOISE, BATCH).astype(np.float32)
            told = expecting(chosen["inputs"], chosen["set_gap"] + noise)
            known = rng.random((BATCH, 1)) < KNOWN
            gap = np.where(chosen["error"] < FINDS_GAP, chosen["gap"], np.nan)
            inputs = np.where(known, told, chosen["inputs"])
            of_set = np.where(known, 0, gap_shares(chosen["set_gap"]))
            right = rightness(chosen["error"])
            values = varied(chosen["strips"], rng), inputs, right, gap, of_set.astype(np.float32)
            yield SeamBatch(*map(torch.from_numpy, values))

    def figures(self, network: nn.Module) -> Figures:
        """On the examples held out: balanced loss, and how often a right join beats a wrong one."""
        held_out, error = self.held_out, self.held_out["error"]
        inputs = expecting(held_out["inputs"], held_out["set_gap"])
        parts = np.array_split(np.arange(len(error)), 1 + len(error) // MANY)
        told = np.concatenate(
            [
                network(
                    torch.from_numpy(held_out["strips"][part]).float(),
                    torch.from_numpy(inputs[part]),
                ).numpy()
                for part in parts
            ]
        )  # (S, 2)
        scores, right = told[:, 0], rightness(error)
        loss = np.logaddexp(0, scores) - right * scores
        within, wrong = error <= 1, error >= WRONG
        away = np.abs(told[:, 1] * GAP_UNIT - self.held_out["gap"])[within]
        return {
            "score": -float((loss[~wrong].mean() + loss[wrong].mean()) / 2),
            "beats": area_under_curve(scores[within | wrong], within[within | wrong]),
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
            "examples": len(self.examples["error"]),
            "joins_seen": self.trainer.puzzles_seen,
        }
        path = self.folder / f"{KIND}.safetensors"
        save_weights(path, self.network.state_dict(), described, dtype="float16")
        return described


def seam_loss(network: nn.Module, batch: SeamBatch) -> dict[str, Tensor]:
    """Cross-entropy of what is right and of the set's gap, error of the gap where it is known."""
    assert isinstance(network, SeamScorer)
    told, of_set = network.judged(batch.strips, batch.inputs)  # (S, 2), (S, G)
    right = F.binary_cross_entropy_with_logits(told[:, 0], batch.right)
    known = batch.gap.isfinite()
    gap = F.smooth_l1_loss(told[known, 1], batch.gap[known] / GAP_UNIT, beta=0.2)
    asked = batch.of_set.sum().clamp_min(1.0)
    whole = -(of_set * batch.of_set).sum() / asked
    loss = right + GAP_WEIGHT * gap + SET_WEIGHT * whole
    return {"loss": loss, "right": right, "gap": gap, "of_set": whole}


def area_under_curve(scores: FloatArray, truth: BoolArray) -> float:
    """Share of pairs of a true and a false example in which the true one scores higher."""
    ranks = np.argsort(np.argsort(scores)) + 1
    true, false = int(truth.sum()), int((~truth).sum())
    return float((ranks[truth].sum() - true * (true + 1) / 2) / max(1, true * false))
