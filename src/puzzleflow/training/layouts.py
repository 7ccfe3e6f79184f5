"""The likelihood of whole layouts: what is learned is what will be searched."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.models.relational import Relations
from puzzleflow.search import posterior
from puzzleflow.search.energy import Energy
from puzzleflow.search.posterior import Posterior
from puzzleflow.solvers.relational_energy import Costs, EnergyWeights

ENERGY = EnergyWeights(position=0.02, pair=0.25, border=0.08, colour=0.5)  # while training
LEAST = 1e-4  # probability that counts in what is shown


def layout_loss(
    relations: Relations, positions: Tensor, prior: Tensor, position_of: Tensor, grid: Grid
) -> Tensor:
    """−log p(the true layout) of closed puzzles by its gradient; shown is −log p of its pieces.

    p ∝ exp(−E), with the energy E that the solver minimises. Its logarithm changes with every
    cost by what the posterior expects of it minus what the truth has; the mean over pieces.
    """
    costs = _energies(relations, positions, prior, grid)
    differing, surprises = [], []
    for b, truth in enumerate(position_of.cpu().numpy()):
        energy = Energy(grid, *(cost[b].detach().cpu().double().numpy() for cost in costs))
        belief = posterior(energy, seed=b)
        differing.append(_true_minus_expected(truth, belief))
        surprises.append(-np.log(np.maximum(belief.confidence(truth), LEAST)).mean())
    steered = torch.zeros((), device=positions.device)
    for cost, parts in zip(costs, zip(*differing, strict=True), strict=True):
        steered = steered + (cost * torch.from_numpy(np.stack(parts)).to(cost)).sum()
    steered = steered / position_of.numel()
    shown = torch.tensor(float(np.mean(surprises)), device=positions.device)
    return shown + steered - steered.detach()


def _energies(
    relations: Relations, positions: Tensor, prior: Tensor, grid: Grid
) -> tuple[Tensor, Tensor, Tensor]:
    """unary (B, N, P), right and down (B, N, N), weighted."""
    costs = Costs.of(relations, positions)
    on_frame = costs.border.new_zeros(len(Direction), grid.num_pieces)  # (4, P)
    for direction in Direction:
        on_frame[direction, grid.on_frame(direction)] = 1.0
    colour_right, colour_down = prior[..., :2].sum(dim=-1).neg().unbind(dim=1)  # (B, N, N)
    return (
        ENERGY.position * costs.position + ENERGY.border * costs.border @ on_frame,
        ENERGY.pair * costs.right + ENERGY.colour * colour_right,
        ENERGY.pair * costs.down + ENERGY.colour * colour_down,
    )


def _true_minus_expected(
    position_of: IntArray, belief: Posterior
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(N, P) pieces at positions, (N, N) right and (N, N) down seams: 1 where true, less p."""
    piece_at = invert(position_of)
    placed, right, down = -belief.position_prob, -belief.right_prob, -belief.down_prob
    placed[np.arange(len(position_of)), position_of] += 1.0
    for seams, direction in ((right, Direction.RIGHT), (down, Direction.DOWN)):
        one, other = piece_at[belief.grid.neighbours(direction)].T
        seams[one, other] += 1.0
    return placed, right, down
