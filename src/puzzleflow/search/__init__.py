"""Search over any energy of unary, pairwise and border costs; a library of its own.

energy = Energy.of(grid, unary=…, right=…, down=…, border=…)
best, second = minimise(energy, seed=0, num_layouts=2)
marginals = posterior(energy, seed=0)
"""

from puzzleflow.search.energy import Energy
from puzzleflow.search.posterior import Posterior, most_pieces_right
from puzzleflow.search.solve import minimise, posterior

__all__ = ["Energy", "Posterior", "minimise", "most_pieces_right", "posterior"]
