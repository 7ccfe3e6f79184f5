"""The relational solver: one network, one energy, exact where it can be."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from puzzleflow.core.errors import naming
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.models.checkpoint import bundled_weights, load_network
from puzzleflow.models.pixels import to_tensor
from puzzleflow.models.relational import RelationalConfig, RelationalNet, World
from puzzleflow.solvers.base import Session
from puzzleflow.solvers.energy_session import EnergySession, check_decoding
from puzzleflow.solvers.open_session import OpenSession
from puzzleflow.solvers.relational_energy import Terms, check_fitted, terms_of, weights_for
from puzzleflow.solvers.relational_open import hypotheses
from puzzleflow.solvers.seam_prior import seam_prior
from puzzleflow.solvers.second_look import Looking

WEIGHTS = "relational.safetensors"
MOST_LOOKED_AT = 100  # pieces; of more the small picture of a second look shows too little


class RelationalSolver:
    """Encode once, relate all pieces, then search the layouts.

    weights  a safetensors file, by default the bundled one
    decode   "layout" (for PA) or "pieces" (for AA), see :class:`EnergySession`
    look     look again at whole layouts where the energy leaves doubt
    """

    name = "relational"

    def __init__(
        self,
        weights: str | Path | None = None,
        decode: str = "layout",
        device: str = "cpu",
        look: bool = True,
    ) -> None:
        self.weights = bundled_weights(WEIGHTS) if weights is None else Path(weights)
        self.network, config = load_network(
            self.weights,
            lambda sizes: RelationalNet(RelationalConfig.from_dict(sizes)),
            self.name,
            device=device,
        )
        self.network.encoder.fold()
        with naming(self.weights):
            self.fitted: dict[str, dict[str, dict[str, float]]] = check_fitted(
                config.get("energy", {})
            )
        self.decode = check_decoding(decode)
        self.look = look

    def prepare(self, puzzle: Puzzle) -> Session:
        """Encode ``puzzle``, of the closed world or the open one."""
        if puzzle.is_closed:
            return self._prepare_closed([puzzle])[0]
        started = time.perf_counter()
        fitted = self._weights(puzzle.conditions.is_complete)
        found = hypotheses(self.network, puzzle, fitted)
        looking = None
        if puzzle.conditions.turned:
            looking = self._looking(puzzle, weights_for(found[0].grid, fitted).upright)
        return OpenSession(
            found,
            self.name,
            num_pieces=puzzle.num_pieces,
            grid=puzzle.known_grid,
            turned=puzzle.conditions.turned,
            prepare_s=time.perf_counter() - started,
            looking=looking,
        )

    def prepare_many(self, puzzles: Sequence[Puzzle]) -> Sequence[Session]:
        """Sessions of puzzles that share grid and piece size; closed ones encoded in one batch."""
        if all(puzzle.is_closed for puzzle in puzzles):
            return self._prepare_closed(puzzles)
        return [self.prepare(puzzle) for puzzle in puzzles]

    def _prepare_closed(self, puzzles: Sequence[Puzzle]) -> list[EnergySession]:
        started = time.perf_counter()
        grid = puzzles[0].closed_grid
        terms = relate(self.network, puzzles)
        weights = weights_for(grid, self._weights(complete=True))
        seconds = (time.perf_counter() - started) / len(puzzles)
        return [
            EnergySession(
                t.energy(grid, weights),
                self.name,
                self.decode,
                seconds,
                self._looking(puzzle, weights.look),
            )
            for puzzle, t in zip(puzzles, terms, strict=True)
        ]

    def _looking(self, puzzle: Puzzle, weight: float) -> Looking | None:
        if not self.look or puzzle.num_pieces > MOST_LOOKED_AT:
            return None
        return Looking(puzzle.pieces, weight)

    def _weights(self, complete: bool) -> dict[str, dict[str, float]]:
        """Weights of the energy by grid."""
        return self.fitted.get("closed" if complete else "open", {})


@torch.inference_mode()
def relate(network: RelationalNet, puzzles: Sequence[Puzzle]) -> list[Terms]:
    """The energy's terms of closed puzzles that share grid and piece size."""
    size_px = network.config.piece_px
    priors = [seam_prior(puzzle.pieces) for puzzle in puzzles]
    pixels = torch.stack([to_tensor(puzzle.pieces, size_px) for puzzle in puzzles])
    grid = puzzles[0].closed_grid
    in_context, isolated = network(pixels, torch.from_numpy(np.stack(priors)), World(grid))
    return terms_of(in_context, isolated, network.positions(in_context, grid), priors)
