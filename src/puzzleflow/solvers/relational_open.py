"""The relational network in the open world: what the whole may be, and its energies.

Pieces are encoded once, in all four turns where they may be turned. How turned
pieces lie to each other is found by their seams alone; the few best answers, each
turned as a whole in four ways, are then looked at in context like upright pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from puzzleflow.core.errors import NotAGrid
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.pixels import to_tensor
from puzzleflow.models.relational import RelationalNet, Relations, World
from puzzleflow.search import minimise
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.compatibility import SeamCosts, seam_costs
from puzzleflow.solvers.open_session import Hypothesis
from puzzleflow.solvers.relational_energy import EnergyWeights, Terms, terms_of, weights_for
from puzzleflow.solvers.seam_prior import prior_of

NUM_TURNINGS = 3  # ways in which turned pieces may lie to each other that are followed up
ELONGATED = 1.5  # cost of a grid for every factor e by which it is longer than wide
INCOMPLETE = 0.7  # cost of every missing piece where the grid is not known


@dataclass(frozen=True, eq=False)
class Encoded:
    """The pieces of one puzzle, encoded in T turns each; candidate = T · piece + turn."""

    network: RelationalNet
    num_turns: int
    tokens: Tensor  # (T·N, 5, D)
    sides: Tensor  # (T·N, 4, T·Ds)
    costs: SeamCosts  # (T·N, T·N) of colours along the outlines

    @classmethod
    @torch.inference_mode()
    def of(cls, network: RelationalNet, puzzle: Puzzle) -> Encoded:
        num_turns = 4 if puzzle.conditions.turned else 1
        turned = np.stack([np.rot90(puzzle.pieces, turn, (1, 2)) for turn in range(num_turns)], 1)
        pieces = turned.reshape(-1, *puzzle.pieces.shape[1:])  # (T·N, H, W, 4)
        pixels = to_tensor(pieces, network.config.piece_px)[None]
        tokens, sides = network.encode(pixels)
        return cls(network, num_turns, tokens[0], sides[0], seam_costs("alpha", pieces))

    def prior(self, chosen: IntArray) -> FloatArray:
        """(2, M, M, F) the seam prior among the chosen candidates."""
        box = np.ix_(chosen, chosen)
        return prior_of(SeamCosts(self.costs.right[box], self.costs.down[box]))

    @torch.inference_mode()
    def relations(
        self, chosen: Sequence[IntArray], world: World
    ) -> tuple[Relations, Relations, list[FloatArray]]:
        """In context and isolated, for B choices of as many candidates; and their priors."""
        priors = [self.prior(indices) for indices in chosen]
        rows = torch.from_numpy(np.stack(chosen))  # (B, M)
        in_context, isolated = self.network.relate(
            self.tokens[rows], self.sides[rows], torch.from_numpy(np.stack(priors)), world
        )
        return in_context, isolated, priors


Fitted = Mapping[str, Mapping[str, float]]


def open_terms(network: RelationalNet, puzzle: Puzzle) -> tuple[Terms, int]:
    """Terms of upright pieces on a known grid, and how many empty places there may be."""
    encoded = Encoded.of(network, puzzle)
    world = World(puzzle.grid, puzzle.conditions.is_complete)
    relations, _, priors = encoded.relations([np.arange(puzzle.num_pieces)], world)
    with torch.inference_mode():
        positions = network.positions(relations, puzzle.grid)
    (terms,) = terms_of(relations, positions, priors, closed=world.closed)
    return terms, _num_empty(puzzle.grid, puzzle)


def hypotheses(network: RelationalNet, puzzle: Puzzle, fitted: Fitted) -> list[Hypothesis]:
    """Every grid and every way of turning that is worth looking at, with its energy.

    fitted  weights of the energy by grid, of the closed world where the puzzle is complete
    """
    encoded = Encoded.of(network, puzzle)
    grids = possible_grids(puzzle)
    turnings = (
        _turnings(encoded, puzzle, grids, fitted)
        if puzzle.conditions.turned
        else [np.zeros(puzzle.num_pieces, dtype=np.int64)]
    )
    world = World(puzzle.known_grid, puzzle.conditions.is_complete)
    first = encoded.num_turns * np.arange(puzzle.num_pieces)
    relations, _, priors = encoded.relations([first + turns for turns in turnings], world)
    found = []
    for grid in grids:
        with torch.inference_mode():
            positions = network.positions(relations, grid)
        closed = puzzle.conditions.is_complete
        for turns, terms in zip(
            turnings, terms_of(relations, positions, priors, closed=closed), strict=True
        ):
            energy = _energy(terms, grid, weights_for(grid, fitted), puzzle)
            found.append(Hypothesis(grid, turns, energy, _cost(grid, puzzle)))
    return found


def possible_grids(puzzle: Puzzle) -> list[Grid]:
    """The grid where it is known, else every grid that the pieces may fill."""
    if puzzle.known_grid is not None:
        return [puzzle.known_grid]
    grids = puzzle.conditions.grids(puzzle.num_pieces)
    broad = [grid for grid in grids if max(grid.shape) <= 4 * min(grid.shape)]
    if not grids:
        raise NotAGrid(f"{puzzle.num_pieces} pieces fill no grid")
    return broad or grids


def _cost(grid: Grid, puzzle: Puzzle) -> float:
    """Minus the log prior of a grid that is not known, but for a constant."""
    if puzzle.known_grid is not None:
        return 0.0
    missing = max(0, grid.num_pieces - puzzle.num_pieces)
    return ELONGATED * abs(float(np.log(grid.rows / grid.cols))) + INCOMPLETE * missing


def _num_empty(grid: Grid, puzzle: Puzzle) -> int:
    """How many empty places a layout on ``grid`` can have."""
    spare = grid.num_pieces - puzzle.num_pieces
    return max(0, min(puzzle.conditions.missing, spare + puzzle.conditions.foreign))


def _energy(terms: Terms, grid: Grid, weights: EnergyWeights, puzzle: Puzzle) -> Energy:
    if puzzle.conditions.is_complete:
        energy = terms.energy(grid, weights)
        turned = weights.turn * terms.turn[:, :1] if puzzle.conditions.turned else 0.0
        return energy.changed(energy.unary + turned)
    return terms.energy(grid, weights, _num_empty(grid, puzzle))


def _turnings(
    encoded: Encoded,
    puzzle: Puzzle,
    grids: Sequence[Grid],
    fitted: Fitted,
) -> list[IntArray]:
    """The likeliest turns (N,) of all pieces, each turned as a whole in four ways."""
    every = np.arange(encoded.num_turns * puzzle.num_pieces)
    world = World(None, puzzle.conditions.is_complete)
    _, isolated, priors = encoded.relations([every], world)
    seams = _between_pieces(isolated, encoded.num_turns)
    flat = torch.zeros(1, len(every), 1)
    (terms,) = terms_of(seams, flat, priors, closed=False)
    found: dict[tuple[int, ...], float] = {}
    for grid in _up_to_turning(grids):
        num_empty = _num_empty(grid, puzzle)
        weights = weights_for(grid, fitted)
        parts = terms.parts(grid, None if puzzle.conditions.is_complete else num_empty)
        energy = parts.energy(weights)
        empty = np.arange(energy.num_candidates - len(every))
        piece_of = np.concatenate([every // encoded.num_turns, puzzle.num_pieces + empty])
        energy = Energy(grid, energy.unary, energy.right, energy.down, piece_of)
        for layout in minimise(energy, seed=0, num_layouts=NUM_TURNINGS):
            laid = np.flatnonzero(layout.position_of[: len(every)] >= 0)
            turns = np.zeros(puzzle.num_pieces, dtype=np.int64)
            turns[laid // encoded.num_turns] = laid % encoded.num_turns
            key = tuple(((turns - turns[0]) % 4).tolist())
            cost = (layout.energy or 0.0) + _cost(grid, puzzle)
            found[key] = min(cost, found.get(key, np.inf))
    best = sorted(found, key=lambda key: found[key])[:NUM_TURNINGS]
    return [(np.array(key) + turn) % 4 for key in best for turn in range(4)]


def _up_to_turning(grids: Sequence[Grid]) -> list[Grid]:
    """Of two grids that are each other turned, the flat one."""
    return sorted({Grid(min(grid.shape), max(grid.shape)) for grid in grids})


def _between_pieces(relations: Relations, num_turns: int) -> Relations:
    """Relations in which the turns of one piece never touch."""
    num = relations.right.shape[1]
    piece = torch.arange(num) // num_turns
    own = piece[:, None] == piece
    right, down = (
        seam.masked_fill(own, float("-inf")) for seam in (relations.right, relations.down)
    )
    return Relations(
        right, down, relations.absent, relations.frame, relations.place, relations.stray,
        torch.zeros_like(relations.turn),
    )  # fmt: skip
