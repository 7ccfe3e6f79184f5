"""Training of the rivals: one budget, one stream of puzzles, and each method's own loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from puzzleflow.core.errors import CannotSolve, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import IntArray
from puzzleflow.models.checkpoint import load_weights, restore
from puzzleflow.options import Within
from puzzleflow.solvers.rivals.base import Rival, RivalConfig
from puzzleflow.solvers.rivals.deepzzle import Deepzzle
from puzzleflow.solvers.rivals.diffassemble import DiffAssemble, turned
from puzzleflow.solvers.rivals.encoder import trunk_of_relational
from puzzleflow.solvers.rivals.fcvit import Fcvit
from puzzleflow.solvers.rivals.jigsawgan import JigsawGan
from puzzleflow.solvers.rivals.jpdvt import Jpdvt
from puzzleflow.solvers.rivals.pdn_ga import PdnGa
from puzzleflow.solvers.rivals.puzlm import Puzlm
from puzzleflow.solvers.rivals.sd2rl import Sd2rl
from puzzleflow.training.loop import LoopSettings
from puzzleflow.training.stream import Batch, StreamConfig
from puzzleflow.training.trainable import Trainable, layout_figures


@dataclass(frozen=True)
class RivalTraining(Trainable):
    """Train a rival; ``mended`` is the row NAME+."""

    rival: ClassVar[type[Rival]]
    keeps_best = False
    bundled = "relational.safetensors"

    def __init_subclass__(cls, name: str, rival: type[Rival], mended: bool = False) -> None:
        cls.name, cls.rival = name, rival
        cls.presets = {key: replace(preset, mended=mended) for key, preset in rival.presets.items()}
        cls.settings = LoopSettings(
            steps=2000, learning_rate=rival.rate, trunk_rate=0.3, warmup=0.05, hold=0.4,
            ema_decay=0.99, validate_every=250,
        )  # fmt: skip

    def wants(self, config: RivalConfig) -> StreamConfig:
        return StreamConfig(piece_px=config.piece_px, grids={"3x3": 0.75, "5x5": 0.25})

    def fitted(self, config: RivalConfig, grids: Sequence[Grid]) -> RivalConfig:
        """With outputs for these grids; one that the method cannot lay is refused."""
        config = replace(config, grids=tuple(dict.fromkeys(str(grid) for grid in grids)))
        with torch.device("meta"):
            network = self.network(config)
        for grid in grids:
            try:
                network.check(grid)
            except CannotSolve as error:
                raise InputError(f"{self.name}: {error}") from error
        return config

    def network(self, config: RivalConfig) -> Rival:
        return self.rival(config)

    def started_from(self, config: RivalConfig, path: Path) -> Rival:
        """From weights of its own, or with the trunk of a relational network, if it has one."""
        tensors, described = load_weights(path)
        network = self.network(config)
        if described.get("kind") != "relational":
            restore(network, tensors, path)
        elif network.trunk is not None:
            restore(network.trunk, trunk_of_relational(tensors, config.channels), path)
        return network

    def objective(self, network: nn.Module, batch: Batch) -> dict[str, Tensor]:
        assert isinstance(network, Rival)
        return network.loss(batch.pixels(), batch.position_of, batch.grid)

    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """PA, AA and SRA by grid as its solver would reach them; the score is the mean AA."""
        assert isinstance(network, Rival)
        laid: dict[Grid, list[IntArray]] = {}
        true: dict[Grid, list[IntArray]] = {}
        for batch in batches:
            true.setdefault(batch.grid, []).extend(batch.position_of.cpu().numpy())
            laid.setdefault(batch.grid, []).extend(layouts(network, batch))
        return layout_figures(laid, true)


@torch.no_grad()
def layouts(network: Rival, batch: Batch) -> list[IntArray]:
    """The layout of every puzzle of a batch."""
    encoded = network(batch.pixels(), batch.grid).cpu()
    free = np.ones((batch.grid.num_pieces, batch.grid.num_pieces), dtype=bool)
    return [
        network.layout(puzzle, batch.grid, free, seed).position_of
        for seed, puzzle in enumerate(encoded)
    ]


class DeepzzleTraining(RivalTraining, name="deepzzle", rival=Deepzzle):
    """Train Deepzzle: the place of a piece relative to the central one."""


@dataclass(frozen=True)
class DiffAssembleTraining(RivalTraining, name="diffassemble", rival=DiffAssemble):
    """Train DiffAssemble: positions denoised on the graph of pieces."""

    turned: Annotated[bool, "Pieces are turned by quarter turns."] = False
    missing: Annotated[float, "Up to this share of the pieces is left out.", Within(0, 0.9)] = 0.0

    def fitted(self, config: Any, grids: Sequence[Grid]) -> RivalConfig:
        return super().fitted(replace(config, turned=self.turned, missing=self.missing), grids)

    def validate(self, network: nn.Module, batches: Sequence[Batch]) -> dict[str, Any]:
        """Of positions; pieces are turned where the network knows turns."""
        if self.turned:
            batches = [_turned(batch) for batch in batches]
        return super().validate(network, batches)


def _turned(batch: Batch) -> Batch:
    """The same puzzles with their pieces turned, always in the same way."""
    turns = torch.randint(4, batch.position_of.shape, generator=torch.Generator().manual_seed(0))
    return replace(batch, pieces=turned(batch.pieces, turns))


class DiffAssemblePlusTraining(
    DiffAssembleTraining, name="diffassemble+", rival=DiffAssemble, mended=True
):
    """Train DiffAssemble with alpha."""


class FcvitTraining(RivalTraining, name="fcvit", rival=Fcvit):
    """Train FCViT: coordinates of all slots from one picture."""


class FcvitPlusTraining(RivalTraining, name="fcvit+", rival=Fcvit, mended=True):
    """Train FCViT with colour and alpha as they are."""


class JigsawGanTraining(RivalTraining, name="jigsawgan", rival=JigsawGan):
    """Train JigsawGAN: a permutation of a list, and a picture drawn."""


class JigsawGanPlusTraining(RivalTraining, name="jigsawgan+", rival=JigsawGan, mended=True):
    """Train JigsawGAN with a position for every piece, and alpha."""


class JpdvtTraining(RivalTraining, name="jpdvt", rival=Jpdvt):
    """Train JPDVT: codes of cells denoised by a diffusion transformer."""


class JpdvtPlusTraining(RivalTraining, name="jpdvt+", rival=Jpdvt, mended=True):
    """Train JPDVT with a permutation a puzzle, no order of pieces, and alpha."""


class PdnGaTraining(RivalTraining, name="pdn-ga", rival=PdnGa):
    """Train PDN-GA: judges of puzzlets."""


class PuzlmTraining(RivalTraining, name="puzlm", rival=Puzlm):
    """Train PuzLM: words of borders to positions."""


class PuzlmPlusTraining(RivalTraining, name="puzlm+", rival=Puzlm, mended=True):
    """Train PuzLM with words along the outline."""


class Sd2rlTraining(RivalTraining, name="sd2rl", rival=Sd2rl):
    """Train SD²RL: discriminators of seams, and a Q-network over swaps."""
