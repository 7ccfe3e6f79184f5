"""The relational network in the open world: what the whole may be, and its energies.

Pieces are encoded once, in all four turns where they may be turned. How turned
pieces lie to each other is found by relating all turns of all pieces in one context;
the few best answers, each turned as a whole in four ways, are then looked at like
upright pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from puzzleflow.core.conditions import Conditions
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Puzzle
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.pixels import to_tensor
from puzzleflow.models.relational import RelationalNet, Relations, World
from puzzleflow.search import minimise, posterior
from puzzleflow.search.energy import Energy
from puzzleflow.solvers.compatibility import SeamCosts, seam_costs
from puzzleflow.solvers.grids import grid_cost, num_empty, possible_grids, up_to_turning
from puzzleflow.solvers.open_session import Hypothesis
from puzzleflow.solvers.relational_energy import EnergyWeights, Terms, terms_of, weights_for
from puzzleflow.solvers.rifts import Apart
from puzzleflow.solvers.seam_prior import prior_of

NUM_SEARCHES = 6  # for the turns of all pieces: with four copies of everything, one often fails
NUM_LISTED = 8  # layouts of each search
NUM_VARIED = 3  # of those, whose pieces are turned otherwise one by one
NUM_TURNINGS = 5  # ways in which turned pieces may lie to each other that are followed up
FEW, NUM_TURNINGS_OF_MANY = 12, 3  # pieces; of more, which cost more to look at


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
        self, chosen: IntArray, world: World
    ) -> tuple[Relations, Relations, list[FloatArray]]:
        """In context and of pairs alone, for (B, M) B choices of as many candidates; priors."""
        priors = [self.prior(indices) for indices in chosen]
        rows = torch.from_numpy(chosen)
        in_context, isolated = self.network.relate(
            self.tokens[rows], self.sides[rows], torch.from_numpy(np.stack(priors)), world
        )
        return in_context, isolated, priors

    def all_terms(self, complete: bool) -> Terms:
        """Of all turns of all pieces in one context, where nobody knows the grid."""
        every = np.arange(len(self.tokens))[None]  # (1, T N)
        *both, priors = self.relations(every, World(None, complete))
        in_context, isolated = (told.between_pieces(self.num_turns) for told in both)
        flat = torch.zeros(1, every.size, 1)
        return terms_of(in_context, isolated, flat, priors, closed=False)[0]


Fitted = Mapping[str, Mapping[str, float]]


def open_terms(network: RelationalNet, puzzle: Puzzle) -> tuple[Terms, int]:
    """Terms of upright pieces on a known grid, and how many empty places there may be."""
    encoded = Encoded.of(network, puzzle)
    world = World(puzzle.grid, puzzle.conditions.is_complete)
    relations, isolated, priors = encoded.relations(np.arange(puzzle.num_pieces)[None], world)
    with torch.inference_mode():
        positions = network.positions(relations, puzzle.grid)
    (terms,) = terms_of(relations, isolated, positions, priors, closed=world.closed)
    return terms, num_empty(puzzle.grid, puzzle)


def hypotheses(network: RelationalNet, puzzle: Puzzle, fitted: Fitted) -> list[Hypothesis]:
    """Every grid and every way of turning that is worth looking at, with its energy.

    fitted  weights of the energy by grid, of the closed world where the puzzle is complete
    """
    encoded = Encoded.of(network, puzzle)
    grids = possible_grids(puzzle)
    N = puzzle.num_pieces
    turnings: IntArray = np.zeros((1, N), dtype=np.int64)
    agreement: FloatArray = np.ones((1, N))
    together = None
    if puzzle.conditions.turned:
        together = encoded.all_terms(puzzle.conditions.is_complete)
        turnings, agreement = _turnings(together, encoded.num_turns, puzzle, grids, fitted)
    world = World(puzzle.known_grid, puzzle.conditions.is_complete)
    chosen: IntArray = encoded.num_turns * np.arange(N) + turnings  # (K, N) candidates
    relations, isolated, priors = encoded.relations(chosen, world)
    closed = puzzle.conditions.is_complete
    apart: list[Apart | None] = [None] * len(turnings)
    if puzzle.known_grid is None:
        lacking = World(None, closed=False)
        told = relations if world == lacking else encoded.relations(chosen, lacking)[0]
        apart = [*Apart.of(told)]
    found = []
    for grid in grids:
        with torch.inference_mode():
            positions = network.positions(relations, grid)
        all_terms = terms_of(relations, isolated, positions, priors, closed=closed)
        if together is not None:
            all_terms = [
                terms.mixed(together.among(candidates))
                for terms, candidates in zip(all_terms, chosen, strict=True)
            ]
        cost = grid_cost(grid, puzzle)
        for turns, agreed, terms, far in zip(turnings, agreement, all_terms, apart, strict=True):
            energy = _energy(terms, grid, weights_for(grid, fitted), puzzle)
            found.append(Hypothesis(grid, turns, energy, cost, agreed, far))
    return found


def ways_up(network: RelationalNet, puzzle: Puzzle, weights: EnergyWeights) -> list[Layout]:
    """The best layout of an upright puzzle on a square grid, turned as a whole in four ways."""
    turned = replace(puzzle, conditions=Conditions(turned=True), truth=None, true_turns=None)
    encoded = Encoded.of(network, turned)
    turns: IntArray = np.repeat(np.arange(4)[:, None], puzzle.num_pieces, axis=1)  # (4, N)
    chosen: IntArray = 4 * np.arange(puzzle.num_pieces) + turns
    relations, isolated, priors = encoded.relations(chosen, World(puzzle.grid))
    with torch.inference_mode():
        positions = network.positions(relations, puzzle.grid)
    terms = terms_of(relations, isolated, positions, priors)
    energies = [told.energy(puzzle.grid, weights) for told in terms]
    return [
        replace(minimise(energy)[0], turns=way) for energy, way in zip(energies, turns, strict=True)
    ]


def _energy(terms: Terms, grid: Grid, weights: EnergyWeights, puzzle: Puzzle) -> Energy:
    if puzzle.conditions.is_complete:
        return terms.energy(grid, weights)
    return terms.energy(grid, weights, num_empty(grid, puzzle))


def _turnings(
    terms: Terms, num_turns: int, puzzle: Puzzle, grids: Sequence[Grid], fitted: Fitted
) -> tuple[IntArray, FloatArray]:
    """(K, N) likely turns of all pieces, each turned as a whole in four ways; how far pieces agree.

    terms  of all turns of all pieces, which are laid as candidates of one puzzle
    """
    T, N = num_turns, puzzle.num_pieces
    found: dict[tuple[int, ...], tuple[float, FloatArray]] = {}
    grids = up_to_turning(grids)
    searches = range(max(2, NUM_SEARCHES // len(grids)))
    for grid in grids:
        energy = _of_candidates(terms, grid, puzzle, weights_for(grid, fitted), T)
        layouts = [
            layout
            for seed in searches
            for layout in minimise(energy, seed=seed, effort=2.0, num_layouts=NUM_LISTED)
        ]
        layouts.sort(key=lambda layout: layout.energy or 0.0)
        belief = posterior(energy, seed=0, start=layouts[0])
        turn_prob = belief.position_prob[: T * N].sum(axis=1).reshape(N, T)
        likely = _by_turns(layouts, turn_prob)
        varied = [
            turned
            for layout in [*likely.values()][:NUM_VARIED]
            for turned in _one_turned(energy, layout, T * N, T)
        ]
        likely = _by_turns([*likely.values(), *varied], turn_prob)
        for key, layout in likely.items():
            cost = (layout.energy or 0.0) + grid_cost(grid, puzzle)
            if key not in found or cost < found[key][0]:
                found[key] = cost, _agreement(turn_prob, np.array(key))
    num_kept = NUM_TURNINGS if N <= FEW else NUM_TURNINGS_OF_MANY
    best_first = sorted(found, key=lambda key: found[key][0])[:num_kept]
    ways = np.array(best_first)[:, None] + np.arange(4)[:, None]  # (K, 4, N)
    agreement = np.stack([found[key][1] for key in best_first])
    return ways.reshape(-1, N) % 4, np.repeat(agreement, 4, axis=0)


def _of_candidates(
    terms: Terms, grid: Grid, puzzle: Puzzle, weights: EnergyWeights, num_turns: int
) -> Energy:
    """The energy of all turns of all pieces, and of empty places."""
    empties = None if puzzle.conditions.is_complete else num_empty(grid, puzzle)
    energy = terms.energy(grid, weights, empties)
    empty = np.arange(energy.num_candidates - num_turns * puzzle.num_pieces)
    piece_of = np.repeat(np.arange(puzzle.num_pieces), num_turns)
    return replace(energy, piece_of=np.concatenate([piece_of, puzzle.num_pieces + empty]))


def _agreement(turn_prob: FloatArray, turns: IntArray) -> FloatArray:
    """(N,) how far the turns of each piece, (N, T), are spread as those of all are.

    The whole may be turned: 1 for all where pieces only turn together.
    """
    pieces, ways = np.arange(len(turns))[:, None], np.arange(turn_prob.shape[1])
    apart = turn_prob[pieces, (turns[:, None] + ways) % len(ways)]  # (N, T) ways from ``turns``
    agreed: FloatArray = np.sqrt(apart * apart.mean(axis=0)).sum(axis=1) ** 2
    return agreed


def _by_turns(layouts: Sequence[Layout], turn_prob: FloatArray) -> dict[tuple[int, ...], Layout]:
    """The best layout for each way in which pieces lie to the first one.

    A piece that is not laid has its likeliest turn, (N, T).
    """
    best: dict[tuple[int, ...], Layout] = {}
    for layout in sorted(layouts, key=lambda layout: layout.energy or 0.0):
        laid = layout.position_of[: turn_prob.size].reshape(turn_prob.shape) >= 0  # (N, T)
        turns = np.where(laid.any(axis=1), laid.argmax(axis=1), turn_prob.argmax(axis=1))
        best.setdefault(tuple(((turns - turns[0]) % turn_prob.shape[1]).tolist()), layout)
    return best


def _one_turned(
    energy: Energy, layout: Layout, num_candidates: int, num_turns: int
) -> Iterator[Layout]:
    """The layout with one piece after the other turned otherwise where it lies."""
    for candidate in np.flatnonzero(layout.position_of[:num_candidates] >= 0):
        first = candidate - candidate % num_turns
        for other in range(first, first + num_turns):
            if other != candidate:
                position_of = layout.position_of.copy()
                position_of[other], position_of[candidate] = position_of[candidate], -1
                yield energy.layout(position_of)
