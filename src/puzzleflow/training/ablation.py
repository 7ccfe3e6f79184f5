"""The ablations of the paper's Table 2: one budget, one stream of puzzles, one change each.

A variant that trains has a folder of its own, goes on there, and is finished once its
weights lie in it. Those that only change inference take the full model's. All of them are
the solver ``flow`` with options, which ``bench`` runs.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric

from puzzleflow.core.errors import FormatError, InputError, check_known
from puzzleflow.files import read_json
from puzzleflow.models.checkpoint import load_weights
from puzzleflow.models.piece_encoder import IMAGENET_VIT
from puzzleflow.models.puzzleflow import FlowConfig
from puzzleflow.training.data import Batches
from puzzleflow.training.flow import FlowTraining
from puzzleflow.training.log import training_progress
from puzzleflow.training.loop import LoopSettings, Trainer
from puzzleflow.training.trainable import batches_of, save_trained, trainer_of

FULL = "full"
WEIGHTS = "flow.safetensors"
PLAN = "plan.json"
OTHER_INFERENCE = "Full model's weights, other inference"
TIMED_STEPS, WARM_STEPS = 12, 2  # of the run that turns minutes into steps


@dataclass(frozen=True)
class Variant:
    """One row of the table, as a change of the full model.

    changes         fields of :class:`FlowConfig` that differ
    frozen_encoder  the encoder's pretrained part stays as it is
    trains          False: the full model's weights, changed at inference only
    options         of the solver ``flow``: how it is asked
    """

    label: str
    group: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    frozen_encoder: bool = False
    trains: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


def _asked(label: str, group: str = OTHER_INFERENCE, /, **options: Any) -> Variant:
    return Variant(label, group, trains=False, options=options)


VARIANTS: dict[str, Variant] = {
    "direct": Variant("Direct prediction", "Core framework", {"flow": False}, options={"steps": 1}),
    "frozen": Variant("Frozen encoder", "Core framework", frozen_encoder=True),
    **{
        f"layers-{L}": Variant(f"{L} layers", "Architecture depth", {"num_layers": L})
        for L in (0, 2, 4, 6)
    },
    "rgb": _asked("RGB slicing at inference", "RGBA adaptation", alpha=False),
    "rgb-trained": Variant("RGB only, trained so", "RGBA adaptation", {"alpha": False}),
    FULL: Variant("Full model", "Full model"),
    "no-time": Variant("Not told the time", "Beyond the paper", {"timed": False}),
    "no-seams": Variant("Attention without seams", "Beyond the paper", {"relates": False}),
    # a single step of the paper's clock is told t = 1, "all is right", about a random layout
    "one-step": _asked("One step, t = 0", steps=1, clock="before"),
    "one-step-t1": _asked("One step, t = 1 (paper's clock)", steps=1),
    "before": _asked("20 steps, t = (s − 1) / S", clock="before"),
    "hungarian": _asked("20 steps, Hungarian assignment", assign="hungarian"),
}


def chosen_variants(names: Iterable[str], config: FlowConfig) -> dict[str, Variant]:
    """The variants of these names and the full model, in the order of the table.

    A depth that is the full model's own is left out: it would train the same twice.
    """
    names = list(names)
    for name in names:
        check_known("variant", name, VARIANTS)
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
    """What all variants share.

    folder   holds NAME/ with training state and weights
    initial  a relational network, whose trunk every variant starts from
    fabric   makes the Fabric of a variant's training
    """

    folder: Path
    config: FlowConfig
    settings: LoopSettings
    train: Batches
    states: int = 1
    num_workers: int = 0
    vit_weights: str = IMAGENET_VIT
    initial: str | Path | None = None
    fabric: Callable[[], Fabric] | None = None

    def __post_init__(self) -> None:
        if self.initial is not None and load_weights(self.initial)[1].get("kind") != "relational":
            raise InputError(
                f"{self.initial}: an ablation starts from the trunk of a relational network; "
                "a whole flow model would favour the variants that resemble it"
            )

    def run(self, name: str, variant: Variant) -> None:
        """Train a variant to the end; :func:`weights_of` then says where its weights are."""
        trainer = self._trainer(variant, self.settings, self.folder / name)
        with training_progress(trainer.step, self.settings.steps) as report:
            trainer.fit(self._batches(), report=report)
        save_trained(FlowTraining(), trainer)

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


def weights_of(folder: Path, name: str) -> Path:
    """Where the weights of a variant lie once it is trained."""
    return folder / (name if VARIANTS[name].trains else FULL) / WEIGHTS


def due(folder: Path, variants: Iterable[str]) -> list[str]:
    """Variants that are not trained yet, the full model first."""
    missing = [n for n in variants if VARIANTS[n].trains and not weights_of(folder, n).exists()]
    return sorted(missing, key=lambda name: name != FULL)


def agreed_steps(folder: Path, asked: Mapping[str, Any]) -> int | None:
    """The length of the runs in ``folder``, None in a new one; other runs are an error."""
    path = folder / PLAN
    if not path.exists():
        return None
    match read_json(path):
        case {"asked": dict(before), "steps": int(steps)} if steps > 0:
            asked = json.loads(json.dumps(asked))
        case _:
            raise FormatError(f"{path}: expected what was asked of an ablation, and its steps")
    differing = sorted(key for key in asked.keys() | before if asked.get(key) != before.get(key))
    if differing:
        raise InputError(
            f"{path}: the variants there were trained with another {', '.join(differing)}; "
            "choose another folder"
        )
    return steps
