"""Energies whose best layout is known, or can be found by trying all."""

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.search import Energy


def random_energy(grid: Grid, seed: int, *, forbidden: float = 0.0) -> Energy:
    """Noise in every term; a share of ``forbidden`` placements beside a feasible layout."""
    rng = child_rng(seed, "random energy", str(grid))
    num = grid.num_pieces
    unary, right, down = rng.normal(size=(3, num, num))
    ruled_out = rng.random((num, num)) < forbidden
    ruled_out[np.arange(num), rng.permutation(num)] = False
    unary[ruled_out] = np.inf
    return Energy(grid, unary, right, down)


def planted(grid: Grid, seed: int, *, seam: float, place: float = 0.0) -> tuple[Energy, IntArray]:
    """Unit noise, and a hidden layout whose seams and places are cheaper by so much."""
    rng = child_rng(seed, "planted", str(grid))
    num = grid.num_pieces
    position_of = rng.permutation(num)
    cells = invert(position_of).reshape(grid.shape)
    unary, right, down = rng.normal(size=(3, num, num))
    if not place:
        unary[:] = 0.0
    unary[np.arange(num), position_of] -= place
    right[cells[:, :-1], cells[:, 1:]] -= seam
    down[cells[:-1], cells[1:]] -= seam
    return Energy(grid, unary, right, down), position_of


def constrained(
    energy: Energy,
    pins: Mapping[int, int] | None = None,
    forbidden: Sequence[tuple[int, int]] = (),
) -> Energy:
    """The same energy with pins (piece → position) compulsory and some placements ruled out."""
    allowed = np.ones(energy.unary.shape, dtype=bool)
    for piece, position in (pins or {}).items():
        allowed[piece] = np.arange(len(allowed)) == position
        allowed[:, position] = np.arange(len(allowed)) == piece
    for placement in forbidden:
        allowed[placement] = False
    unary = np.where(allowed, energy.unary, np.inf)
    return Energy(energy.grid, unary, energy.right, energy.down)


def all_layouts(energy: Energy) -> tuple[IntArray, FloatArray]:
    """Every permutation (N!, N) ``position_of`` and its energy."""
    layouts = np.array(list(permutations(range(energy.grid.num_pieces))))
    return layouts, np.array([energy.of_layout(layout) for layout in layouts])
