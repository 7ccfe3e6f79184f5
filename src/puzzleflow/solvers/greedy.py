"""Greedy solver (Pomeranz, Shemesh & Ben-Shahar, CVPR 2011), as the paper's supplement tells it.

Placer: from the piece with the most best buddies, lay the best fitting piece
into the slot with the most neighbours. Segmenter: parts joined by best
buddies. Shifter: keep the largest part, free to move, and lay the rest anew,
until the share of best buddies among all seams (BBM) no longer grows. The
whole is tried from several first pieces; the layout with the highest BBM wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, IntArray
from puzzleflow.options import Within
from puzzleflow.solvers.classical import Found, SeamSolver
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.placer import EMPTY, Fits, Partial, complete

NUM_TRIALS = 25


@dataclass(frozen=True)
class GreedySolver(SeamSolver):
    """Greedy placement by best buddies.

    compatibility  "border" is the paper's reading, "alpha" the one for irregular pieces
    num_trials     how many first pieces to try, those with the most best buddies first
    """

    names = ("greedy", "greedy")
    num_trials: Annotated[int, Within(1)] = NUM_TRIALS

    def layout(self, costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        return greedy_layout(costs, grid, allowed, seed, num_trials=self.num_trials)


greedy_alpha = partial(GreedySolver, compatibility="alpha")


def greedy_layout(
    costs: SeamCosts,
    grid: Grid,
    allowed: BoolArray,
    seed: int = 0,
    *,
    num_trials: int = NUM_TRIALS,
) -> Found:
    """Place, segment and shift until the best-buddies metric stops growing; best trial wins.

    allowed  (N, N) placements that may be used; the seed changes nothing
    """
    fits = Fits.of(costs)
    pins = Partial.of_pins(grid, allowed)
    origin = np.zeros((1, 2), dtype=np.int64)
    starts = [Partial(np.array([piece]), origin) for piece in _first_pieces(fits)[:num_trials]]
    best: list[IntArray] = []
    best_quality = (-1.0, -1.0)
    for start in [pins] if pins.anchored else starts:
        steps = _refined(fits, grid, allowed, pins, start)
        quality = (best_buddies_metric(fits, grid, steps[-1]), _mean_fit(fits, grid, steps[-1]))
        if quality > best_quality:
            best, best_quality = steps, quality
    return Found(best[-1], trace=np.stack(best))


def _refined(
    fits: Fits, grid: Grid, allowed: BoolArray, pins: Partial, start: Partial
) -> list[IntArray]:
    """The layouts grown from ``start``, each with more best buddies than the one before."""
    steps = [complete(grid, fits, start, allowed)]
    metric = best_buddies_metric(fits, grid, steps[0])
    while metric < 1:
        segment = _largest_segment(fits, grid, steps[-1], pins)
        candidate = complete(grid, fits, segment, allowed)
        candidate_metric = best_buddies_metric(fits, grid, candidate)
        if candidate_metric <= metric:
            break
        metric = candidate_metric
        steps.append(candidate)
    return steps


def best_buddies_metric(fits: Fits, grid: Grid, position_of: IntArray) -> float:
    """Share of the seams whose two pieces are best buddies; 1 where there is no seam."""
    _, kept = fits.buddy_seams(grid, position_of)
    return float(kept.mean()) if kept.size else 1.0


def _mean_fit(fits: Fits, grid: Grid, position_of: IntArray) -> float:
    """Mean mutual compatibility over all seams; 1 where there is no seam."""
    piece_at = invert(position_of)
    fit = [
        fits.mutual[direction][tuple(piece_at[grid.neighbours(direction)].T)]
        for direction in (Direction.RIGHT, Direction.DOWN)
    ]
    joined = np.concatenate(fit)
    return float(joined.mean()) if joined.size else 1.0


def _first_pieces(fits: Fits) -> IntArray:
    """(N,) pieces with the most best buddies first; among equals, those that fit them best."""
    has_buddy = fits.buddy != EMPTY  # (4, N)
    fit = np.take_along_axis(fits.mutual, np.maximum(fits.buddy, 0)[..., None], axis=2)[..., 0]
    total = (fit * has_buddy).sum(axis=0)  # (N,)
    return np.lexsort((-total, -has_buddy.sum(axis=0)))


def _largest_segment(fits: Fits, grid: Grid, position_of: IntArray, pins: Partial) -> Partial:
    """The largest part joined by best buddies, free to move unless pieces are pinned."""
    seams, kept = fits.buddy_seams(grid, position_of)
    ends = seams[kept]
    size = (grid.num_pieces, grid.num_pieces)
    joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=size)
    _, label = connected_components(joined, directed=False)
    inside = label == np.bincount(label).argmax()
    inside[pins.pieces] = True
    pieces = np.flatnonzero(inside)
    return Partial(pieces, grid.coordinates[position_of[pieces]], pins.anchored)
