"""Best layouts and marginals of an energy: exact on small grids, found by search on others."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from puzzleflow.core.puzzle import Layout
from puzzleflow.search.energy import Energy
from puzzleflow.search.exact import ExactSearch, can_be_exact
from puzzleflow.search.local import sample_posterior, search
from puzzleflow.search.posterior import Posterior


def minimise(
    energy: Energy, *, seed: int = 0, num_layouts: int = 1, effort: float = 1.0
) -> list[Layout]:
    """The ``num_layouts`` layouts of lowest energy, best first, all distinct.

    Up to 12 pieces (and long thin grids) the answer is exact; beyond, it is
    the best that was found, with more ``effort`` more surely. Fewer layouts
    are returned where there are no more. Infinite costs are never paid:
    :class:`CannotSolve` if they leave no layout.
    """
    if num_layouts < 1:
        raise ValueError(f"num_layouts must be at least 1, not {num_layouts}")
    if can_be_exact(energy):
        return list(islice(_exact(energy).layouts(), num_layouts))
    return search(energy, seed=seed, num_layouts=num_layouts, effort=effort)


def posterior(
    energy: Energy,
    *,
    seed: int = 0,
    temperature: float = 1.0,
    start: Layout | None = None,
    effort: float = 1.0,
) -> Posterior:
    """Marginals of p(π) ∝ exp(−E(π) / temperature): summed exactly, or sampled if too many.

    ``start``, a layout that :func:`minimise` found, spares sampling a search of its own.
    """
    if can_be_exact(energy):
        return _exact(energy).posterior(temperature)
    return sample_posterior(energy, seed=seed, temperature=temperature, start=start, effort=effort)


@lru_cache(maxsize=1)
def _exact(energy: Energy) -> ExactSearch:
    """The same search for best layouts and marginals, which are asked for one after the other."""
    return ExactSearch(energy)
