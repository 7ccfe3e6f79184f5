"""RG-LNS: learned side distances, a classical start, reliability-guided neighbourhood search.

Rebuilt for comparison from the published description. Stage one embeds the
sides of all pieces; the cost of a seam is the distance of its two sides. Stage
two starts from a classical layout, keeps the largest part held together by
trusted seams, takes out all other pieces and lays them anew around every
translation of that part. The layout with the lowest mean distance wins. No
seam is paid for on the frame, as published.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata

from puzzleflow.core.assignment import invert
from puzzleflow.core.errors import check_known
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.models.checkpoint import bundled_weights, load_network
from puzzleflow.models.edge_embedding import EdgeConfig, EdgeEmbedding, side_distances
from puzzleflow.models.pixels import to_tensor
from puzzleflow.options import Within
from puzzleflow.solvers.classical import Found, SeamSession
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.greedy import greedy_layout
from puzzleflow.solvers.linear import linear_part
from puzzleflow.solvers.mgc_tree import tree_layout
from puzzleflow.solvers.placer import Fits, Partial, complete
from puzzleflow.solvers.refill import DIGITS, best_refill, mean_distance

WEIGHTS = "rg_lns.safetensors"
START_BEAM = 2  # width of the beam that completes what linear programming leaves open


@dataclass(frozen=True)
class Neighbourhood:
    """The published constants of the search.

    max_rank    pieces of a good seam rank each other this high (K)
    min_pieces  a smaller trusted part is not searched around (M)
    beam_width  of the refill, beside a greedy one (B)
    """

    max_rank: int = 3
    min_pieces: int = 4
    beam_width: int = 4


class RgLnsSolver:
    """Embed sides, lay out, improve.

    weights   a safetensors file of ``train edges``, by default the bundled one
    start     "lp" (linear programming), "greedy" (Pomeranz) or "tree" (Gallagher)
    max_rank, min_pieces, beam_width  see :class:`Neighbourhood`
    """

    name = "rg-lns"

    def __init__(
        self,
        weights: str | Path | None = None,
        start: str = "lp",
        max_rank: Annotated[int, Within(1)] = 3,
        min_pieces: Annotated[int, Within(1)] = 4,
        beam_width: Annotated[int, Within(1)] = 4,
        device: str = "cpu",
    ) -> None:
        check_known("start", start, STARTS)
        self.weights = bundled_weights(WEIGHTS) if weights is None else Path(weights)
        self.network, _ = load_network(
            self.weights,
            lambda sizes: EdgeEmbedding(EdgeConfig.from_dict(sizes)),
            "edges",
            device=device,
        )
        self.start = start
        self.neighbourhood = Neighbourhood(max_rank, min_pieces, beam_width)

    def prepare(self, puzzle: Puzzle) -> SeamSession:
        return self.prepare_many([puzzle])[0]

    def prepare_many(self, puzzles: Sequence[Puzzle]) -> list[SeamSession]:
        """Sessions of puzzles that share grid and piece size, encoded in one batch."""
        started = time.perf_counter()
        grids = [puzzle.closed_grid for puzzle in puzzles]
        costs = embedded_costs(self.network, puzzles)
        if self.start != "lp":
            costs = [both_views(c) for c in costs]
        seconds = (time.perf_counter() - started) / len(puzzles)
        lay_out = partial(rg_lns_layout, start=self.start, neighbourhood=self.neighbourhood)
        return [
            SeamSession(self.name, c, grid, lay_out, seconds)
            for c, grid in zip(costs, grids, strict=True)
        ]


@torch.inference_mode()
def embedded_costs(network: EdgeEmbedding, puzzles: Sequence[Puzzle]) -> list[SeamCosts]:
    """Distances between facing sides, of puzzles that share grid and piece size."""
    size_px = network.config.piece_px
    sides = network(torch.stack([to_tensor(puzzle.pieces, size_px) for puzzle in puzzles]))
    right = side_distances(sides[:, :, Direction.RIGHT], sides[:, :, Direction.LEFT])  # (B, N, N)
    down = side_distances(sides[:, :, Direction.DOWN], sides[:, :, Direction.UP])
    return [SeamCosts(r.numpy(), d.numpy()) for r, d in zip(right, down, strict=True)]


def both_views(costs: SeamCosts) -> SeamCosts:
    """Each side's candidates scaled to [0, 1], then the mean of how both sides see a seam.

    As published for the greedy and the tree start; linear programming takes distances as
    they are.
    """
    return SeamCosts(*(_scaled(c, 1) + _scaled(c, 0) for c in (costs.right, costs.down)))


def _scaled(costs: FloatArray, axis: int) -> FloatArray:
    """Half of (costs − least) / (most − least) along ``axis``, without the diagonal."""
    finite = np.isfinite(costs)
    low = np.where(finite, costs, np.inf).min(axis=axis, keepdims=True, initial=np.inf)
    high = np.where(finite, costs, -np.inf).max(axis=axis, keepdims=True, initial=-np.inf)
    spread = np.where(high > low, high - low, 1.0)
    low = np.where(np.isfinite(low), low, 0.0)
    return np.where(finite, 0.5 * (costs - low) / spread, np.inf)


def _linear_start(costs: SeamCosts, grid: Grid, allowed: BoolArray) -> IntArray:
    """What linear programming joins, completed by a beam at every translation."""
    part = linear_part(costs, grid, allowed)
    found = best_refill(costs, grid, allowed, part, [START_BEAM])
    return found.position_of if found else complete(grid, Fits.of(costs), part, allowed)


STARTS: dict[str, Callable[[SeamCosts, Grid, BoolArray], IntArray]] = {
    "lp": _linear_start,
    "greedy": lambda costs, grid, allowed: greedy_layout(costs, grid, allowed).position_of,
    "tree": lambda costs, grid, allowed: tree_layout(costs, grid, allowed).position_of,
}


def rg_lns_layout(
    costs: SeamCosts,
    grid: Grid,
    allowed: BoolArray,
    seed: int = 0,
    *,
    start: str = "lp",
    neighbourhood: Neighbourhood | None = None,
) -> Found:
    """Start and one round of search; the seed changes nothing."""
    costs = costs.tamed()
    first = STARTS[start](costs, grid, allowed)
    better = improved(costs, grid, allowed, first, neighbourhood or Neighbourhood())
    if better is None:
        return Found(first, trace=first[None])
    return Found(better, trace=np.stack([first, better]), others=(first,))


def improved(
    costs: SeamCosts,
    grid: Grid,
    allowed: BoolArray,
    position_of: IntArray,
    neighbourhood: Neighbourhood,
) -> IntArray | None:
    """The best layout around the trusted part, if its mean distance is strictly lower."""
    part = largest_trusted_part(costs, grid, position_of, neighbourhood.max_rank)
    if len(part.pieces) < max(neighbourhood.min_pieces, 1):
        return None
    found = best_refill(costs, grid, allowed, part, [1, neighbourhood.beam_width])
    before = round(mean_distance(costs, grid, position_of), DIGITS)
    if found is None or found.rank[0] >= before:
        return None
    return found.position_of


def worse_rank(costs: FloatArray) -> IntArray:
    """(N, N) the rank of j among the candidates of i or of i among those of j, if that is worse.

    Ranks count from 1; equal costs share the better rank.
    """
    of_row = rankdata(costs, method="min", axis=1)
    of_column = rankdata(costs, method="min", axis=0)
    return np.asarray(np.maximum(of_row, of_column), dtype=np.int64)


def trusted_seams(
    costs: SeamCosts, grid: Grid, position_of: IntArray, max_rank: int
) -> tuple[BoolArray, BoolArray]:
    """(rows, cols-1) right seams and (rows-1, cols) down seams that can be trusted.

    A seam is good if both its pieces rank each other ``max_rank`` or better, and
    trusted if it belongs to a 2×2 block whose four seams are all good.
    """
    piece_at = invert(position_of)
    rows, cols = grid.shape
    right, down = (
        (worse_rank(matrix) <= max_rank)[tuple(piece_at[grid.neighbours(direction)].T)]
        for direction, matrix in ((Direction.RIGHT, costs.right), (Direction.DOWN, costs.down))
    )
    right, down = right.reshape(rows, cols - 1), down.reshape(rows - 1, cols)
    block = right[:-1] & right[1:] & down[:, :-1] & down[:, 1:]  # (rows-1, cols-1)
    trusted_right, trusted_down = np.zeros_like(right), np.zeros_like(down)
    trusted_right[:-1] |= block
    trusted_right[1:] |= block
    trusted_down[:, :-1] |= block
    trusted_down[:, 1:] |= block
    return trusted_right, trusted_down


def largest_trusted_part(
    costs: SeamCosts, grid: Grid, position_of: IntArray, max_rank: int
) -> Partial:
    """The most pieces joined by trusted seams, where they lie; among equals the first part."""
    right, down = trusted_seams(costs, grid, position_of, max_rank)
    across = grid.neighbours(Direction.RIGHT)[right.ravel()]
    along = grid.neighbours(Direction.DOWN)[down.ravel()]
    pairs = np.concatenate([across, along])  # (E, 2) positions
    size = (grid.num_pieces, grid.num_pieces)
    joined = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=size)
    _, label = connected_components(joined, directed=False)  # by position
    positions = np.flatnonzero(label == np.bincount(label).argmax())
    return Partial(invert(position_of)[positions], grid.coordinates[positions])
