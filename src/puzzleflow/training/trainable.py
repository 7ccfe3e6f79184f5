"""What makes a network trainable: four methods, and what few networks need beyond them.

A subclass of :class:`Trainable` is a frozen dataclass in one file, named in
``training/registry.py`` or by an entry point of the group ``puzzleflow.trainables``.
Its fields are its options; ``puzzleflow train NAME`` does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from puzzleflow.core.errors import InputError, check_known
from puzzleflow.core.grid import Grid
from puzzleflow.core.metrics import score
from puzzleflow.models.checkpoint import load_weights, restore, save_weights
from puzzleflow.training.loop import Figures, LoopSettings, Trainer, described_config, with_tensors
from puzzleflow.training.state import load_state
from puzzleflow.training.stream import Batch, NumberedBatches, StreamConfig, stream_loader


@dataclass(frozen=True)
class Recipe:
    """How a preset is trained where the user says nothing else.

    masks             source → share, of fresh puzzles
    batch             puzzles, of stored ones; ``pieces_per_batch`` of fresh ones
    validation_batch  puzzles that are solved side by side
    prefetch          batches that each worker has ready
    pinned            batches lie in pinned memory where a GPU waits for them
    """

    settings: LoopSettings = field(default_factory=LoopSettings)
    masks: Mapping[str, float] = field(default_factory=lambda: {"vae": 1.0})
    batch: int = 8
    pieces_per_batch: int = 144
    validation_batch: int = 16
    workers: int = 1
    prefetch: int = 4
    pinned: bool = False


class Trainable(ABC):
    """A network and how it is trained; its subclasses are frozen dataclasses.

    An option is a field ``name: Annotated[type, "what it does"] = default``; a third note
    may bound it, for example ``Within(1)`` of :mod:`puzzleflow.options`.

    name        of the command; the weights become ``NAME.safetensors``
    presets     name → configuration, the default first
    settings    of the loop, where the user says nothing else
    num_cells   pieces of every puzzle; None for any grid
    keeps_best  the weights of the best validation; False: those of the end
    bundled     packaged weights that ``bundled`` stands for as a start
    """

    name: ClassVar[str]
    presets: ClassVar[Mapping[str, Any]]
    settings: ClassVar[LoopSettings] = LoopSettings()
    num_cells: ClassVar[int | None] = None
    keeps_best: ClassVar[bool] = True
    bundled: ClassVar[str | None] = None

    def recipe(self, preset: str) -> Recipe:
        """How ``preset`` is trained; ``settings`` alone, unless a network knows more."""
        return Recipe(self.settings)

    def under(self, preset: str) -> Self:
        """With options that the user left open as ``preset`` has them."""
        return self

    @abstractmethod
    def wants(self, config: Any) -> StreamConfig:
        """The puzzles: side of a piece, seam prior or not, shares of grids …"""

    @abstractmethod
    def network(self, config: Any) -> nn.Module:
        """A new network with random weights."""

    @abstractmethod
    def objective(self, network: nn.Module, batch: Any) -> dict[str, Tensor]:
        """Named losses of a batch; "loss" is minimised, the others are shown."""

    @abstractmethod
    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> Figures:
        """Figures on held-out puzzles; a higher "score" is better."""

    def fitted(self, config: Any, grids: Sequence[Grid]) -> Any:
        """The configuration for puzzles of these grids."""
        for grid in grids:
            if self.num_cells not in (None, grid.num_pieces):
                raise InputError(f"{self.name} lays {self.num_cells} pieces, not {grid}")
        return config

    def started_from(self, config: Any, path: Path) -> nn.Module:
        """A network with the weights of a file."""
        return restore(self.network(config), load_weights(path)[0], path)

    def prepared(self, batch: Batch, config: Any, settings: LoopSettings) -> Any:
        """What the objective is given, made of a whole batch before processes share it."""
        return batch

    def evaluate(self, network: nn.Module, batches: Sequence[Batch]) -> Figures:
        """Figures of the finished network, where they are taken with more care."""
        return self.validate(network, batches)

    def save(self, network: nn.Module, path: Path, described: Mapping[str, Any]) -> None:
        """Write what the solver loads."""
        save_weights(path, network.state_dict(), described, dtype="float16")


def preset(trainable: Trainable, name: str | None) -> Any:
    """A named configuration, by default the first."""
    name = name or next(iter(trainable.presets))
    return trainable.presets[check_known("preset", name, trainable.presets)]


def layout_figures(
    laid: Mapping[Grid, Sequence[Any]], true: Mapping[Grid, Sequence[Any]]
) -> Figures:
    """PA, AA and SRA by grid of layouts (N,) beside the true ones; "score" is the mean AA."""
    figures: dict[str, Any] = {
        str(grid): score(np.stack(found), np.stack(true[grid]), grid).rounded()
        for grid, found in laid.items()
    }
    mean = sum(f["AA"] for f in figures.values()) / max(1, len(figures))
    return {**figures, "score": round(mean, 5)}


def trainer_of(
    trainable: Trainable,
    config: Any,
    settings: LoopSettings,
    folder: str | Path,
    *,
    initial: str | Path | None = None,
    validation: Callable[[], Sequence[Batch]] | None = None,
    fabric: Fabric | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Trainer[Any]:
    """A trainer of the network, from ``initial`` weights if given.

    validation  makes the held-out puzzles when they are first needed
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = (
            trainable.network(config)
            if initial is None
            else trainable.started_from(config, Path(initial))
        )

    def validate(network: nn.Module) -> Figures:
        return trainable.validate(network, _beside(network, validation))

    return Trainer(
        network,
        settings,
        folder,
        objective=trainable.objective,
        validate=validate if validation else None,
        fabric=fabric,
        facts=facts,
    )


def batches_of(
    stream: NumberedBatches,
    trainable: Trainable,
    config: Any,
    settings: LoopSettings,
    num_workers: int = 0,
    **loading: Any,
) -> Callable[[int], Iterable[Any]]:
    """The stream as the trainer wants it: prepared batches from any step on.

    loading  what else :func:`stream_loader` takes
    """

    def batches(first: int) -> Iterable[Any]:
        stream.first_batch = first
        loader = stream_loader(stream, num_workers, **loading)
        return (trainable.prepared(batch, config, settings) for batch in loader)

    return batches


def save_trained(
    trainable: Trainable,
    trainer: Trainer[Any],
    validation: Callable[[], Sequence[Batch]] | None = None,
) -> dict[str, Any]:
    """Evaluate and write the weights that the run is for; returns what the file says of them."""
    network = trainer.plain
    best = trainer.folder / "best.safetensors"
    network.load_state_dict(
        load_state(best)[0] if trainable.keeps_best and best.exists() else trainer.weights
    )
    network.eval()
    held_out = _beside(network, validation)
    described = {
        "kind": trainable.name,
        "network": described_config(getattr(network, "config", None)),
        "validation": trainable.evaluate(network, held_out) if held_out else {},
        "puzzles_seen": trainer.puzzles_seen,
        "training_minutes": round(trainer.seconds / 60, 1),
    }
    trainable.save(network, trainer.folder / f"{trainable.name}.safetensors", described)
    return described


def _beside(
    network: nn.Module, validation: Callable[[], Sequence[Batch]] | None
) -> Sequence[Batch]:
    """The held-out puzzles on the device of the network."""
    device = next(network.parameters()).device
    held_out = validation() if validation else []
    return [with_tensors(batch, lambda tensor: tensor.to(device)) for batch in held_out]
