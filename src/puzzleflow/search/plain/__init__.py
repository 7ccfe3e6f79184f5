"""The search loops in plain NumPy, for machines without numba.

The functions are those of :class:`puzzleflow.search.backend.Backend`.
"""

from puzzleflow.search.plain.growth import grow, regrow
from puzzleflow.search.plain.metropolis import anneal, temper

PACE = 0.1

__all__ = ["PACE", "anneal", "grow", "regrow", "temper"]
