"""The likelihood of whole layouts: what is learned is what will be searched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.relational import Relations
from puzzleflow.search import posterior
from puzzleflow.search.energy import Energy
from puzzleflow.search.posterior import Posterior
from puzzleflow.solvers.relational_energy import Costs, EnergyWeights, alone_costs

CLOSED = EnergyWeights(position=0.05, pair=0.15, border=0.08, colour=0.45, alone=0.1)
OPEN = EnergyWeights(  # both while training, near what is fitted afterwards
    position=0.02, pair=0.26, border=0.15, colour=0.2, alone=0.04, absent=0.5, gap=-0.3, stray=0.2,
    aside=-1.5,
)  # fmt: skip
EFFORT = 0.25  # of sampling, where there are too many layouts to sum over
LEAST = 1e-4  # probability that counts in what is shown


def layout_loss(
    relations: Relations,
    isolated: Relations,
    positions: Tensor,
    prior: Tensor,
    position_of: Tensor,
    grid: Grid,
    *,
    closed: bool = True,
    num_turns: int = 1,
) -> Tensor:
    """−log p(the true layout) by its gradient; shown is −log p of what truly lies in each cell.

    p ∝ exp(−E), with the energy E that the solver minimises. Its logarithm changes with every
    cost by what the posterior expects of it minus what the truth has; the mean over cells.

    isolated   of pairs, without the context of the others
    closed     no piece is missing or foreign; else pieces may lie aside, and there are as many
               empty places as empty cells
    num_turns  4: pieces come in all four turns, and one that belongs is known to lie upright
    """
    truths = position_of.cpu().numpy()
    candidates_at = [_candidates_at(truth, grid, num_turns) for truth in truths]
    num_empty = None if closed else int((candidates_at[0] >= truths.shape[1]).sum())
    costs = _energies(relations, isolated, positions, prior, grid, num_empty, num_turns)
    differing, surprises = [], []
    for b, at in enumerate(candidates_at):
        energy = _energy(grid, [cost[b] for cost in costs], truths[b], num_turns)
        belief = posterior(energy, seed=b, effort=EFFORT)
        differing.append(_true_minus_expected(at, belief))
        told = belief.position_prob[at, np.arange(len(at))]
        surprises.append(-np.log(np.maximum(told, LEAST)).mean())
    steered = torch.zeros((), device=positions.device)
    for cost, parts in zip(costs, zip(*differing, strict=True), strict=True):
        steered = steered + (cost * torch.from_numpy(np.stack(parts)).to(cost)).sum()
    steered = steered / (len(truths) * grid.num_pieces)
    shown = torch.tensor(float(np.mean(surprises)), device=positions.device)
    return shown + steered - steered.detach()


def _candidates_at(position_of: IntArray, grid: Grid, num_turns: int) -> IntArray:
    """(P,) what truly lies in every cell: an upright piece, or the next of the empty places."""
    upright = np.arange(0, len(position_of), num_turns)
    upright = upright[position_of[upright] >= 0]
    at = np.full(grid.num_pieces, -1)
    at[position_of[upright]] = upright
    empty = np.flatnonzero(at < 0)
    at[empty] = len(position_of) + np.arange(len(empty))
    return at


def _energies(
    relations: Relations,
    isolated: Relations,
    positions: Tensor,
    prior: Tensor,
    grid: Grid,
    num_empty: int | None = None,
    num_turns: int = 1,
) -> tuple[Tensor, Tensor, Tensor]:
    """unary (B, M, P), right and down (B, M, M), weighted; as :meth:`Terms.parts` has them.

    M candidates: the pieces, each in all its turns, then the empty places of the open world.
    Turned pieces say nothing of positions: nobody knows which turn of the whole is upright.
    """
    is_open = num_empty is not None
    weights = OPEN if is_open else CLOSED
    if num_turns > 1:
        positions = positions.new_zeros(*positions.shape[:2], 1)
    costs = Costs.of(
        relations.between_pieces(num_turns), positions, closed=not is_open and num_turns == 1
    )
    on_frame = costs.border.new_zeros(len(Direction), grid.num_pieces)  # (4, P)
    for direction in Direction:
        on_frame[direction, grid.on_frame(direction)] = 1.0
    unary = weights.position * costs.position + weights.border * costs.border @ on_frame
    colour_right, colour_down = prior[..., :2].sum(dim=-1).neg().unbind(dim=1)  # (B, N, N)
    alone_right, alone_down = alone_costs(isolated.between_pieces(num_turns))
    right = weights.pair * costs.right + weights.colour * colour_right + weights.alone * alone_right
    down = weights.pair * costs.down + weights.colour * colour_down + weights.alone * alone_down
    if num_empty is None:
        return unary, right, down
    beyond = weights.absent * costs.absent + weights.gap  # (B, N, 4)
    aside = beyond.sum(dim=2) + weights.aside - weights.stray * relations.stray
    room = (0, 0, 0, num_empty)
    return (
        torch.nn.functional.pad(unary - aside[..., None], room),
        _beside_empty(right, beyond, Direction.RIGHT, num_empty),
        _beside_empty(down, beyond, Direction.DOWN, num_empty),
    )


def _beside_empty(seam: Tensor, beyond: Tensor, ahead: Direction, num_empty: int) -> Tensor:
    """(B, N, N) costs of seams → (B, N + E, N + E), with those of sides (B, N, 4) on a gap."""
    B, N = seam.shape[:2]
    before = beyond[:, :, ahead, None].expand(B, N, num_empty)
    after = beyond[:, None, :, ahead.opposite].expand(B, num_empty, N)
    between = seam.new_zeros(B, num_empty, num_empty)
    return torch.cat([torch.cat([seam, before], dim=2), torch.cat([after, between], dim=2)], dim=1)


def _energy(grid: Grid, costs: Sequence[Tensor], position_of: IntArray, num_turns: int) -> Energy:
    """Of one puzzle; where pieces are turned, the first that belongs lies upright."""
    unary, right, down = (cost.detach().cpu().double().numpy() for cost in costs)
    if num_turns == 1:
        return Energy(grid, unary, right, down)
    num_candidates = len(position_of)
    piece_of = np.arange(len(unary) - num_candidates + num_candidates // num_turns)
    times = np.where(piece_of < num_candidates // num_turns, num_turns, 1)
    (belonging,) = np.nonzero(position_of >= 0)
    unary = unary.copy()
    unary[belonging[0] + 1 : belonging[0] + num_turns] = np.inf
    return Energy(grid, unary, right, down, np.repeat(piece_of, times))


def _true_minus_expected(
    candidate_at: IntArray, belief: Posterior
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(M, P) candidates at positions, (M, M) right and down seams: 1 where true, less p."""
    placed, right, down = -belief.position_prob, -belief.right_prob, -belief.down_prob
    placed[candidate_at, np.arange(len(candidate_at))] += 1.0
    for seams, direction in ((right, Direction.RIGHT), (down, Direction.DOWN)):
        one, other = candidate_at[belief.grid.neighbours(direction)].T
        seams[one, other] += 1.0
    return placed, right, down
