"""Mending: never worse, settled pieces stay, and parts that lie beside their place slide home."""

from __future__ import annotations

import numpy as np
from instances import constrained, planted, random_energy

from puzzleflow.core.assignment import as_permutations
from puzzleflow.core.grid import Grid
from puzzleflow.search.energy import Energy
from puzzleflow.search.mending import mend
from puzzleflow.search.tables import Tables


def test_mending_never_makes_a_layout_worse() -> None:
    tables = Tables.of(random_energy(Grid(4, 5), 3))
    rng = np.random.default_rng(1)
    layouts = np.stack([rng.permutation(20) for _ in range(4)])
    kept = layouts.copy()
    before = tables.energy_of(layouts)
    mended, energies = mend(tables, layouts, num_turns=200, noise=0.5, seed=1)
    assert (energies < before).all()
    assert np.allclose(tables.energy_of(mended), energies)
    assert np.array_equal(layouts, kept)
    as_permutations(list(mended), 20)
    again, _ = mend(tables, layouts, num_turns=200, noise=0.5, seed=1)
    assert np.array_equal(mended, again)


def test_pieces_that_lie_in_each_others_places_are_exchanged() -> None:
    energy, truth = planted(Grid(8, 8), 0, seam=4)
    right = np.argsort(truth)  # (P,) pieces by position
    wrong = right.copy()
    wrong[[3, 9, 40, 54]] = right[[40, 54, 9, 3]]
    mended, _ = mend(Tables.of(energy), wrong[None], num_turns=300, noise=0.25, seed=0)
    assert np.array_equal(mended[0], right)


def test_settled_pieces_stay() -> None:
    energy, truth = planted(Grid(4, 5), 0, seam=4)
    piece, elsewhere = 0, (int(truth[0]) + 7) % 20
    layout = np.argsort(truth)
    layout[[truth[0], elsewhere]] = layout[[elsewhere, truth[0]]]
    tables = Tables.of(constrained(energy, {piece: elsewhere}))
    mended, _ = mend(tables, layout[None], num_turns=200, noise=0.5, seed=0)
    assert mended[0, elsewhere] == piece


def test_parts_slide_to_where_they_have_room() -> None:
    """Two pictures side by side; the left one lies a row too low, its last row above it."""
    grid = Grid(6, 8)
    pieces = np.arange(48).reshape(grid.shape)
    right, down = np.full((2, 48, 48), 5.0)
    for picture in (pieces[:, :4], pieces[:, 4:]):
        right[picture[:, :-1], picture[:, 1:]] = 0.0
        down[picture[:-1], picture[1:]] = 0.0
    layout = pieces.copy()
    layout[:, :4] = np.roll(layout[:, :4], 1, axis=0)
    tables = Tables.of(Energy.of(grid, right=right, down=down))
    _, energies = mend(tables, layout.reshape(1, -1), num_turns=200, noise=0.25, seed=0)
    assert energies[0] == 6 * 5.0 < tables.energy_of(layout.reshape(-1))  # between the pictures
