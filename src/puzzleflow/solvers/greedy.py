"""Greedy solver (Pomeranz, Shemesh & Ben-Shahar, CVPR 2011), as the paper's supplement tells it.

Placer: from the piece with the most best buddies, lay the best fitting piece
into the slot with the most neighbours. Segmenter: parts joined by best
buddies. Shifter: keep the largest part, free to move, and lay the rest anew,
until the share of best buddies among all seams no longer grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import BoolArray, IntArray
from puzzleflow.solvers.classical import Found, SeamSession, prepare_seams
from puzzleflow.solvers.compatibility import SeamCosts, check_compatibility
from puzzleflow.solvers.growth import EMPTY, Fits, Partial, complete


@dataclass(frozen=True)
class GreedySolver:
    """Greedy placement by best buddies.

    compatibility  "border" is the paper's reading, "alpha" the one for irregular pieces
    """

    compatibility: str = "border"

    def __post_init__(self) -> None:
        check_compatibility(self.compatibility)

    @property
    def name(self) -> str:
        return "greedy" if self.compatibility == "border" else f"greedy-{self.compatibility}"

    def prepare(self, puzzle: Puzzle) -> SeamSession:
        return prepare_seams(self.name, self.compatibility, puzzle, greedy_layout)


greedy_alpha = partial(GreedySolver, compatibility="alpha")


def greedy_layout(costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int = 0) -> Found:
    """Place, segment and shift until the best-buddies metric stops growing.

    allowed  (N, N) placements that may be used; the seed changes nothing
    """
    fits = Fits.of(costs)
    pins = Partial.of_pins(grid, allowed)
    start = pins if pins.anchored else _seed_piece(fits)
    best = complete(grid, fits, start, allowed)
    best_metric = best_buddies_metric(fits, grid, best)
    trace = [best]
    while True:
        start = _largest_segment(fits, grid, best, pins)
        candidate = complete(grid, fits, start, allowed)
        metric = best_buddies_metric(fits, grid, candidate)
        if metric <= best_metric:
            return Found(best, trace=np.stack(trace))
        best, best_metric = candidate, metric
        trace.append(best)


def best_buddies_metric(fits: Fits, grid: Grid, position_of: IntArray) -> float:
    """Share of the seams whose two pieces are best buddies; 1 where there is no seam."""
    _, kept = fits.buddy_seams(grid, position_of)
    return float(kept.mean()) if kept.size else 1.0


def _seed_piece(fits: Fits) -> Partial:
    """The piece with the most best buddies; among equals, the one that fits them best."""
    has_buddy = fits.buddy != EMPTY  # (4, N)
    fit = np.take_along_axis(fits.mutual, np.maximum(fits.buddy, 0)[..., None], axis=2)[..., 0]
    total = (fit * has_buddy).sum(axis=0)  # (N,)
    piece = np.lexsort((-total, -has_buddy.sum(axis=0)))[0]
    return Partial(np.array([piece]), np.zeros((1, 2), dtype=np.int64))


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
