"""Gallagher's tree solver (CVPR 2012): a spanning tree of seams that never overlap.

Seams come in the order of their cost relative to the best rival on either
side; each joins two groups unless pieces would collide (constrained Kruskal).
The tree is then trimmed to the frame that holds most of it, and the pieces
left over fill the holes. Where pieces may be turned, each enters in four copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Puzzle
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.solvers.classical import Found, SeamSession, prepare_seams
from puzzleflow.solvers.compatibility import SeamCosts, check_compatibility
from puzzleflow.solvers.components import Components
from puzzleflow.solvers.placer import Fits, complete

TINY = 1e-12  # keeps ratios of vanishing costs finite


@dataclass(frozen=True)
class MgcTreeSolver:
    """Constrained minimum spanning tree, trimmed and filled.

    compatibility  "mgc" as published, "alpha" for irregular pieces
    fit_frame      whether no group may outgrow the frame; as published it may, and is trimmed
    """

    compatibility: str = "mgc"
    fit_frame: bool = False

    def __post_init__(self) -> None:
        check_compatibility(self.compatibility)

    @property
    def name(self) -> str:
        return "mgc-tree" if self.compatibility == "mgc" else f"tree-{self.compatibility}"

    def prepare(self, puzzle: Puzzle) -> SeamSession:
        lay_out = partial(tree_layout, fit_frame=self.fit_frame)
        return prepare_seams(self.name, self.compatibility, puzzle, lay_out, turned=True)


tree_alpha = partial(MgcTreeSolver, compatibility="alpha", fit_frame=True)


def tree_layout(
    costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int = 0, *, fit_frame: bool = True
) -> Found:
    """The spanning tree as a layout; the seed changes nothing."""
    costs = costs.tamed()
    seams = seams_by_ratio(costs)
    fit_frame = fit_frame or len(allowed) > grid.num_pieces  # or the whole lying on its side wins
    tree = Components.single(grid, allowed).joined(seams, grid, allowed, fit_frame=fit_frame)
    start = tree.largest().trimmed(grid)
    return Found(complete(grid, Fits.of(costs), start, allowed))


def seams_by_ratio(costs: SeamCosts) -> IntArray:
    """(E, 3) direction, i, j of all right and down seams, the most certain first."""
    ratios = np.stack([rival_ratio(costs.right), rival_ratio(costs.down)])  # (2, N, N)
    order = np.argsort(ratios, axis=None, kind="stable")
    axis, first, second = np.unravel_index(order, ratios.shape)
    direction = np.where(axis == 0, Direction.RIGHT, Direction.DOWN)
    seams = np.stack([direction, first, second], axis=1)
    return np.asarray(seams[first != second], dtype=np.int64)


def rival_ratio(costs: FloatArray) -> FloatArray:
    """(N, N) each cost over the least of its rivals: the same i with another j, or vice versa.

    Below 1 only for the best of both its row and its column; 1 where there is no
    rival; infinite where the cost is.
    """
    if len(costs) < 3:
        return costs
    least = np.sort(costs, axis=1)[:, :2]  # (N, 2)
    row_rival = np.where(costs == least[:, :1], least[:, 1:], least[:, :1])
    least = np.sort(costs, axis=0)[:2]  # (2, N)
    col_rival = np.where(costs == least[:1], least[1:], least[:1])
    rival = np.minimum(row_rival, col_rival)
    ratio = np.where(np.isfinite(costs), 1.0, np.inf)
    known = np.isfinite(costs) & np.isfinite(rival)
    ratio[known] = (costs[known] + TINY) / (rival[known] + TINY)
    return ratio
