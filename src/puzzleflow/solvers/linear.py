"""Linear programming (Yu, Russell & Agapito, BMVC 2016).

Every side proposes its best neighbour; a weighted L1 program finds real
coordinates that break as few proposals as possible. What it satisfies and
both sides want joins pieces into rigid groups; what it breaks is struck off.
The next round has one translation per group and new proposals from the sides
still open. Groups that no program joins are joined as in the tree solver where
they fit; the largest is trimmed to the frame and the rest filled in. Where pieces may
be turned every piece enters four times, once a turn, and of its copies one is laid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack

from puzzleflow.core.cancelling import check_cancelled
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.solvers.classical import Found, SeamSolver
from puzzleflow.solvers.compatibility import SeamCosts
from puzzleflow.solvers.mgc_tree import NONE, Components, rival_ratio, seams_by_ratio
from puzzleflow.solvers.placer import Fits, Partial, complete

TOLERANCE = 1e-4
MAX_ROUNDS = 5
SHARPNESS = 5.0  # weight of a proposal: exp(-SHARPNESS * ratio**2)
STEPS = np.array([direction.step for direction in Direction])  # (4, 2)


@dataclass(frozen=True)
class LinearSolver(SeamSolver):
    """Coordinates by linear programming.

    compatibility  "mgc" as published, "alpha" for irregular pieces
    """

    names = ("linear", "linear")
    turned = True
    compatibility: str = "mgc"

    def layout(self, costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int) -> Found:
        return linear_layout(costs, grid, allowed, seed)


linear_alpha = partial(LinearSolver, compatibility="alpha")


def linear_layout(costs: SeamCosts, grid: Grid, allowed: BoolArray, seed: int = 0) -> Found:
    """The joined part, the rest filled in greedily; the seed changes nothing."""
    return Found(complete(grid, Fits.of(costs), linear_part(costs, grid, allowed), allowed))


def linear_part(costs: SeamCosts, grid: Grid, allowed: BoolArray) -> Partial:
    """Rounds of proposals, program and joining: the largest group, trimmed to the frame."""
    costs = costs.tamed()
    groups = Components.single(grid, allowed)
    right, down = rival_ratio(costs.right), rival_ratio(costs.down)
    all_ratios = np.stack([right, down, right.T, down.T])  # (4, N, N) by direction
    struck = np.zeros(all_ratios.shape, dtype=bool)
    for _ in range(MAX_ROUNDS if grid.num_pieces > 1 else 0):
        ratio = _of_open_sides(all_ratios, struck, groups)
        seams = _proposals(ratio)
        if not len(seams):
            break
        broken = _broken(seams, ratio, groups)
        direction, first, second = seams[broken].T
        struck[direction, first, second] = True
        struck[(direction + 2) % 4, second, first] = True
        wanted = seams[~broken]
        wanted = wanted[ratio[tuple(wanted.T)] < 1]  # the best of both sides
        looped = wanted[_in_loops(wanted, groups)]
        wanted = looped if len(looped) else wanted
        wanted = wanted[np.argsort(ratio[tuple(wanted.T)], kind="stable")]
        before = groups
        groups = groups.joined(wanted, grid, allowed, fit_frame=True)
        refused = groups.label[wanted[:, 1]] != groups.label[wanted[:, 2]]
        struck[tuple(wanted[refused].T)] = True
        if not broken.any() and not refused.any() and np.array_equal(before.label, groups.label):
            break
    groups = groups.joined(seams_by_ratio(costs), grid, allowed, fit_frame=True)  # leftovers
    return groups.largest().trimmed(grid)


def _of_open_sides(ratio: FloatArray, struck: BoolArray, groups: Components) -> FloatArray:
    """(4, N, N) ``ratio`` where both sides are open and the pair is not struck; else infinite."""
    same = groups.label[:, None] == groups.label  # (N, N)
    closed = struck | same  # (4, N, N)
    for direction, step in enumerate(STEPS):  # a side with a neighbour in its group is closed
        taken = (same & (groups.cells[:, None] + step == groups.cells).all(axis=2)).any(axis=1)
        closed[direction, taken, :] = True
        closed[(direction + 2) % 4, :, taken] = True
    return np.where(closed, np.inf, ratio)


def _proposals(ratio: FloatArray) -> IntArray:
    """(E, 3) direction, i, j: the best neighbour of every open side."""
    direction, first = np.nonzero(np.isfinite(ratio.min(axis=2)))
    return np.stack([direction, first, ratio.argmin(axis=2)[direction, first]], axis=1)


def _in_loops(seams: IntArray, groups: Components) -> BoolArray:
    """(E,) which seams close a loop of four around a corner, with others or within groups."""
    num_pieces = len(groups.label)
    beside = np.full((4, num_pieces + 1), num_pieces)  # the last column stands for no piece
    same = groups.label[:, None] == groups.label
    for direction, step in enumerate(STEPS):
        next_to = same & (groups.cells[:, None] + step == groups.cells).all(axis=2)  # (N, N)
        first, second = np.nonzero(next_to)
        beside[direction, first] = second
    towards, first, second = seams.T
    beside[towards, first] = second
    beside[(towards + 2) % 4, second] = first
    closed = np.zeros(len(seams), dtype=bool)
    for turn in (1, 3):
        aside = (towards + turn) % 4
        corner, opposite = beside[aside, first], beside[aside, second]
        closed |= (beside[towards, corner] == opposite) & (opposite != num_pieces)
    return closed


def _broken(seams: IntArray, ratio: FloatArray, groups: Components) -> BoolArray:
    """(E,) which proposals the best coordinates do not satisfy."""
    labels, group = np.unique(groups.label, return_inverse=True)
    direction, first, second = seams.T
    weight = np.exp(-SHARPNESS * np.minimum(ratio[direction, first, second], 3.0) ** 2)
    fixed = int(np.searchsorted(labels, groups.anchored)) if groups.anchored != NONE else 0
    broken = np.zeros(len(seams), dtype=bool)
    for axis in (0, 1):
        wished = (  # translation of the second group minus that of the first
            STEPS[direction, axis] + groups.cells[first, axis] - groups.cells[second, axis]
        )
        moved = _translations(group[first], group[second], wished, weight, len(labels), fixed)
        broken |= np.abs(moved[group[second]] - moved[group[first]] - wished) > TOLERANCE
    return broken


def _translations(
    first: IntArray,
    second: IntArray,
    wished: IntArray,
    weight: FloatArray,
    num_groups: int,
    fixed: int,
) -> FloatArray:
    """(G,) t that minimises Σ weight · |t[second] − t[first] − wished|, with t[fixed] = 0."""
    check_cancelled()
    num = len(wished)
    rows = np.arange(num)
    signs = csr_array(
        (
            np.concatenate([np.ones(num), -np.ones(num)]),
            (np.concatenate([rows, rows]), np.concatenate([second, first])),
        ),
        shape=(num, num_groups),
    )
    slack = eye_array(num, format="csr")
    bounds = np.concatenate([np.full(num_groups, -np.inf), np.zeros(2 * num)])  # lower
    bounds = np.stack([bounds, np.full_like(bounds, np.inf)], axis=1)  # (variables, 2)
    bounds[fixed] = 0.0
    answer = linprog(
        np.concatenate([np.zeros(num_groups), weight, weight]),
        A_eq=hstack([signs, -slack, slack], format="csr"),
        b_eq=wished.astype(np.float64),
        bounds=bounds,
        method="highs",
    )
    return np.asarray(answer.x[:num_groups], dtype=np.float64)
