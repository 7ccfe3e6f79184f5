"""The relational solver: one network, one energy, exact where it can be."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from puzzleflow.core.puzzle import Puzzle
from puzzleflow.models.checkpoint import bundled_weights, load_weights, restore
from puzzleflow.models.pixels import to_tensor
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.solvers.energy_session import EnergySession, check_decoding
from puzzleflow.solvers.relational_energy import Terms, terms_of, weights_for
from puzzleflow.solvers.seam_prior import seam_prior

WEIGHTS = "relational.safetensors"


class RelationalSolver:
    """Encode once, relate all pieces, then search the layouts.

    weights  a safetensors file, by default the bundled one
    decode   "layout" (for PA) or "pieces" (for AA), see :class:`EnergySession`
    """

    name = "relational"

    def __init__(self, weights: str | Path | None = None, decode: str = "layout") -> None:
        self.weights = bundled_weights(WEIGHTS) if weights is None else Path(weights)
        tensors, config = load_weights(self.weights)
        self.network = RelationalNet(RelationalConfig.from_dict(config["network"]))
        restore(self.network, tensors, self.weights).eval()
        self.fitted: dict[str, dict[str, float]] = config.get("energy", {})
        self.decode = check_decoding(decode)

    def prepare(self, puzzle: Puzzle) -> EnergySession:
        return self.prepare_many([puzzle])[0]

    def prepare_many(self, puzzles: Sequence[Puzzle]) -> list[EnergySession]:
        """Sessions of puzzles that share grid and piece size, encoded in one batch."""
        started = time.perf_counter()
        grid = puzzles[0].grid
        terms = relate(self.network, puzzles)
        seconds = (time.perf_counter() - started) / len(puzzles)
        return [
            EnergySession(
                t.energy(grid, weights_for(grid, self.fitted)), self.name, self.decode, seconds
            )
            for t in terms
        ]


@torch.inference_mode()
def relate(network: RelationalNet, puzzles: Sequence[Puzzle]) -> list[Terms]:
    """The energy's terms of puzzles that share grid and piece size."""
    size_px = network.config.piece_px
    priors = [seam_prior(puzzle.pieces) for puzzle in puzzles]
    pixels = torch.stack([to_tensor(puzzle.pieces, size_px) for puzzle in puzzles])
    in_context, _ = network(pixels, torch.from_numpy(np.stack(priors)), puzzles[0].grid)
    return terms_of(in_context, priors)
