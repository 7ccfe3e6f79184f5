"""The ablations of the paper's Table 2: one budget, one stream of puzzles, one change each.

A variant that trains has a folder of its own and goes on there; variants that
only change inference take the full model's weights. What a variant lays is
kept in ``layouts/NAME.json``, so that finished variants are never trained again.
"""

from __future__ import annotations

import copy
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.types import IntArray
from puzzleflow.files import read_json, write_json
from puzzleflow.models.checkpoint import load_weights, save_weights
from puzzleflow.models.flow_sampler import SamplerConfig
from puzzleflow.models.piece_encoder import IMAGENET_VIT, RGBAProjection, ViTEncoder
from puzzleflow.models.puzzleflow import FlowConfig, PuzzleFlow
from puzzleflow.solvers.seam_prior import seam_prior
from puzzleflow.training.flow import FlowTraining, solve_batch
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.progress import training_progress
from puzzleflow.training.stored import StoredBatches
from puzzleflow.training.stream import Batch, PuzzleStream
from puzzleflow.training.trainable import batches_of, trainer_of

FULL = "full"
TIMED_STEPS, WARM_STEPS = 12, 2  # of the run that turns minutes into steps
PAPER_SAMPLER = SamplerConfig()  # 20 steps, t = s / S, greedy


@dataclass(frozen=True)
class Variant:
    """One row of the table, as a change of the full model.

    changes         fields of :class:`FlowConfig` that differ
    frozen_encoder  the encoder's pretrained part stays as it is
    trains          False: the full model's weights, changed at inference only
    drop_alpha      the shape of pieces is hidden at inference, see :func:`without_alpha`
    """

    label: str
    group: str
    changes: dict[str, Any] = field(default_factory=dict)
    frozen_encoder: bool = False
    trains: bool = True
    drop_alpha: bool = False
    sampler: SamplerConfig = PAPER_SAMPLER


def _free(label: str, sampler: SamplerConfig) -> Variant:
    return Variant(label, "Full model's weights, other inference", trains=False, sampler=sampler)


VARIANTS: dict[str, Variant] = {
    "direct": Variant(
        "Direct prediction", "Core framework", {"flow": False}, sampler=SamplerConfig(steps=1)
    ),
    "frozen": Variant("Frozen encoder", "Core framework", frozen_encoder=True),
    **{
        f"layers-{L}": Variant(f"{L} layers", "Architecture depth", {"num_layers": L})
        for L in (0, 2, 4, 6)
    },
    "rgb": Variant("RGB slicing at inference", "RGBA adaptation", trains=False, drop_alpha=True),
    FULL: Variant("Full model", "Full model"),
    "no-seams": Variant("Attention without seams", "Beyond the paper", {"relates": False}),
    # a single step of the paper's clock is told t = 1, "all is right", about a random layout
    "one-step": _free("One step, t = 0", SamplerConfig(steps=1, clock="before")),
    "one-step-t1": _free("One step, t = 1 (paper's clock)", SamplerConfig(steps=1)),
    "before": _free("20 steps, t = (s − 1) / S", SamplerConfig(clock="before")),
    "hungarian": _free("20 steps, Hungarian assignment", SamplerConfig(assign="hungarian")),
}


def chosen_variants(names: Iterable[str], config: FlowConfig) -> dict[str, Variant]:
    """The variants of these names and the full model, in the order of the table.

    A depth that is the full model's own is left out: it would train the same twice.
    """
    names = list(names)
    for name in names:
        if name not in VARIANTS:
            raise UnknownName("variant", name, VARIANTS)
    full = replace(VARIANTS[FULL], label=f"Full model (L = {config.num_layers}, 20 steps)")
    return {
        name: full if name == FULL else variant
        for name, variant in VARIANTS.items()
        if name == FULL
        or (
            name in names and not (variant.changes and replace(config, **variant.changes) == config)
        )
    }


@dataclass(frozen=True)
class Ablation:
    """What all variants share; ``run`` trains and evaluates one after the other.

    folder    holds NAME/ (training state, flow.safetensors) and layouts/NAME.json
    held_out  puzzles of one grid; ``held_out_key`` says which, in JSON
    initial   a relational network, whose trunk every variant starts from
    fabric    makes the Fabric of a variant's training
    """

    folder: Path
    config: FlowConfig
    settings: LoopSettings
    train: PuzzleStream | StoredBatches
    held_out: Sequence[Batch]
    held_out_key: dict[str, Any]
    states: int = 1
    num_workers: int = 0
    vit_weights: str = IMAGENET_VIT
    initial: str | Path | None = None
    fabric: Callable[[], Fabric] | None = None

    def __post_init__(self) -> None:
        if not self.held_out:
            raise InputError("no held-out puzzles of this grid to evaluate the variants on")
        if self.initial is not None and load_weights(self.initial)[1].get("kind") != "relational":
            raise InputError(
                f"{self.initial}: an ablation starts from the trunk of a relational network; "
                "a whole flow model would favour the variants that resemble it"
            )

    def run(self, name: str, variants: dict[str, Variant]) -> None:
        """Train variant ``name`` to the end, evaluate it and those that take its weights."""
        rows = [name, *(n for n, v in variants.items() if name == FULL and not v.trains)]
        trainer = self._trainer(variants[name], self.settings, self.folder / name)
        with training_progress(trainer.step, self.settings.steps) as report:
            trainer.fit(self._batches(), report=report)
        network = trainer.plain
        assert isinstance(network, PuzzleFlow)
        weights = trainer.weights
        network.load_state_dict(weights)
        network.eval()
        figures = {
            "steps": trainer.step,
            "puzzles_seen": trainer.puzzles_seen,
            "minutes": round(trainer.seconds / 60, 2),
            "parameters": sum(p.numel() for p in network.parameters()),
        }
        described = {"kind": "flow", "network": network.config.to_dict(), "ablation": name}
        save_weights(
            trainer.folder / "flow.safetensors", weights, described | figures, dtype="float16"
        )
        truth = np.concatenate([batch.position_of.numpy() for batch in self.held_out])
        for row in rows:
            position_of = layouts(network, self.held_out, variants[row])
            write_json(
                _layouts_path(self.folder, row),
                {
                    "variant": row,
                    "held_out": self.held_out_key,
                    "grid": str(self.held_out[0].grid),
                    **figures,
                    "position_of": position_of,
                    "truth": truth,
                },
            )

    def steps_within(self, minutes: float) -> int:
        """How many steps the full model trains in ``minutes``, from a short run."""
        stamps: list[float] = []
        with tempfile.TemporaryDirectory() as folder:
            short = replace(self.settings, steps=TIMED_STEPS)
            trainer = self._trainer(VARIANTS[FULL], short, Path(folder))
            trainer.fit(self._batches(), report=lambda _: stamps.append(time.monotonic()))
        each_s = (stamps[-1] - stamps[WARM_STEPS - 1]) / (TIMED_STEPS - WARM_STEPS)
        return max(1, round(60 * minutes / each_s))

    def _trainer(self, variant: Variant, settings: LoopSettings, folder: Path) -> Trainer[Any]:
        return trainer_of(
            FlowTraining(vit=self.vit_weights, frozen_encoder=variant.frozen_encoder),
            replace(self.config, **variant.changes),
            settings,
            folder,
            initial=self.initial,
            fabric=self.fabric() if self.fabric else None,
        )

    def _batches(self) -> Callable[[int], Iterable[Any]]:
        states = FlowTraining(states=self.states)
        return batches_of(self.train, states, self.config, self.settings, self.num_workers)


def layouts(network: PuzzleFlow, batches: Sequence[Batch], variant: Variant) -> IntArray:
    """(M, N) what the network lays at this variant's inference; the starts are always the same."""
    if variant.drop_alpha:
        network, batches = without_alpha(network, batches)
    return np.concatenate([solve_batch(network, batch, variant.sampler) for batch in batches])


def without_alpha(
    network: PuzzleFlow, batches: Sequence[Batch]
) -> tuple[PuzzleFlow, Sequence[Batch]]:
    """Alpha discarded after training, as published: the network sees input it never saw.

    The ViT's learned RGBA → RGB projection becomes "take the first three". The
    convolutional encoder has no projection to replace; it is told that every
    pixel is material, so that a piece is a square picture with black around it,
    and colours are compared along the border of that square.
    """
    if isinstance(network.encoder, ViTEncoder):
        sliced = copy.deepcopy(network)
        assert isinstance(sliced.encoder, ViTEncoder)
        device = next(network.parameters()).device
        sliced.encoder.projection = RGBAProjection().to(device)
        return sliced, batches
    return network, [_opaque(batch) for batch in batches]


def _opaque(batch: Batch) -> Batch:
    """Alpha 255 everywhere; colours stay, void is black."""
    pieces = batch.pieces.clone()
    pieces[:, :, 3] = 255
    if batch.prior is None:
        return replace(batch, pieces=pieces)
    straight = pieces.permute(0, 1, 3, 4, 2).numpy()  # (B, N, px, px, 4)
    prior = np.stack([seam_prior(puzzle) for puzzle in straight])
    return replace(batch, pieces=pieces, prior=torch.from_numpy(prior))


def agreed_steps(folder: Path, asked: dict[str, Any]) -> int | None:
    """The length of the runs in ``folder``, None in a new one; other runs are an error."""
    path = folder / "plan.json"
    if not path.exists():
        return None
    stored = read_json(path)
    asked = json.loads(json.dumps(asked))
    before = stored.get("asked", {})
    differing = sorted(key for key in asked.keys() | before if asked.get(key) != before.get(key))
    if differing:
        raise InputError(
            f"{path}: the variants there were trained with another {', '.join(differing)}; "
            "choose another folder"
        )
    return int(stored["steps"])


def agree_on(folder: Path, asked: dict[str, Any], steps: int) -> None:
    """Write down what the runs in ``folder`` have in common."""
    write_json(folder / "plan.json", {"asked": asked, "steps": steps})


def finished(folder: Path, name: str, held_out_key: dict[str, Any]) -> dict[str, Any] | None:
    """What ``run`` kept of a variant for these held-out puzzles, None if nothing."""
    path = _layouts_path(folder, name)
    if not path.exists():
        return None
    stored: dict[str, Any] = read_json(path)
    return stored if stored.get("held_out") == json.loads(json.dumps(held_out_key)) else None


def due(folder: Path, variants: dict[str, Variant], held_out_key: dict[str, Any]) -> list[str]:
    """Variants to train or to evaluate, the full model first.

    What only changes inference is due together with the full model.
    """
    missing = {name for name in variants if finished(folder, name, held_out_key) is None}
    if any(not variants[name].trains for name in missing):
        missing.add(FULL)
    trained = [name for name in variants if name in missing and variants[name].trains]
    return sorted(trained, key=lambda name: name != FULL)


def _layouts_path(folder: Path, name: str) -> Path:
    return folder / "layouts" / f"{name}.json"
