"""``python -m puzzleflow.search``: compile the search ahead of its first use; run when installing.

The machine code is kept beside the modules, so the first large puzzle waits for none.
"""

from __future__ import annotations

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.search import minimise, posterior
from puzzleflow.search.energy import Energy
from puzzleflow.search.mending import mend
from puzzleflow.search.tables import Tables


def main() -> None:
    """Search one small layout that is too large for exact search, and mend it as large ones are."""
    grid = Grid(4, 4)
    costs = np.random.default_rng(0).random((3, grid.num_pieces, grid.num_pieces))
    energy = Energy(grid, *costs)
    (found,) = minimise(energy, effort=0.01)
    posterior(energy, start=found, effort=0.01)
    mend(Tables.of(energy), np.argsort(found.position_of)[None], num_turns=1, noise=0.0, seed=0)


if __name__ == "__main__":
    main()
