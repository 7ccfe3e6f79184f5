"""The relational solver: one network, one energy, exact where it can be."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from puzzleflow.core.puzzle import Puzzle, Solution
from puzzleflow.models.checkpoint import bundled_weights, load_weights, restore
from puzzleflow.models.pixels import to_tensor
from puzzleflow.models.relational import RelationalConfig, RelationalNet
from puzzleflow.search import minimise, most_pieces_right, posterior
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.base import allowed_placements
from puzzleflow.solvers.relational_energy import Terms, terms_of, weights_for
from puzzleflow.solvers.seam_prior import seam_prior

WEIGHTS = "relational.safetensors"


class RelationalSolver:
    """Encode once, relate all pieces, then search the layouts.

    weights  a safetensors file, by default the bundled one
    decode   "layout": the most probable whole layout (for PA);
             "pieces": the most expected pieces in place (for AA)
    """

    name = "relational"

    def __init__(self, weights: str | Path | None = None, decode: str = "layout") -> None:
        path = bundled_weights(WEIGHTS) if weights is None else Path(weights)
        tensors, config = load_weights(path)
        self.network = RelationalNet(RelationalConfig.from_dict(config["network"]))
        restore(self.network, tensors, path).eval()
        self.fitted: dict[str, dict[str, float]] = config.get("energy", {})
        self.decode = decode

    def prepare(self, puzzle: Puzzle) -> RelationalSession:
        return self.prepare_many([puzzle])[0]

    def prepare_many(self, puzzles: Sequence[Puzzle]) -> list[RelationalSession]:
        """Sessions of puzzles that share grid and piece size, encoded in one batch."""
        started = time.perf_counter()
        grid = puzzles[0].grid
        terms = relate(self.network, puzzles)
        seconds = (time.perf_counter() - started) / len(puzzles)
        return [
            RelationalSession(t.energy(grid, weights_for(grid, self.fitted)), self.decode, seconds)
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


class RelationalSession:
    """The energy of one puzzle; every question is a search over layouts."""

    def __init__(self, energy: Energy, decode: str, prepare_s: float) -> None:
        self.energy = energy
        self.decode = decode
        self.prepare_s = prepare_s

    def solve(
        self,
        *,
        seed: int,
        pinned: Mapping[int, int] | None = None,
        forbidden: Sequence[tuple[int, int]] = (),
        num_alternatives: int = 0,
    ) -> Solution:
        started = time.perf_counter()
        energy = self._constrained(pinned, forbidden)
        layouts = minimise(energy, seed=seed, num_layouts=max(1, num_alternatives))
        belief = posterior(energy, seed=seed, start=layouts[0])
        best = layouts[0]
        position_of = (
            most_pieces_right(belief.position_prob) if self.decode == "pieces" else best.position_of
        )
        return Solution(
            position_of=position_of,
            solver=RelationalSolver.name,
            seconds=self.prepare_s + time.perf_counter() - started,
            energy=energy.of_layout(position_of),
            confidence=belief.confidence(position_of),
            seam_confidence=belief.seam_confidence(position_of),
            position_prob=belief.position_prob,
            alternatives=tuple(layouts[:num_alternatives]),
        )

    def _constrained(
        self, pinned: Mapping[int, int] | None, forbidden: Sequence[tuple[int, int]]
    ) -> Energy:
        allowed = allowed_placements(self.energy.grid.num_pieces, pinned, forbidden)
        if allowed.all():
            return self.energy
        unary = np.where(allowed, self.energy.unary, np.inf)
        return Energy(self.energy.grid, unary, self.energy.right, self.energy.down)
