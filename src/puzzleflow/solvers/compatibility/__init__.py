"""How well two pieces fit side by side: compatibilities by name.

border   predicted colour at the border of the bounding box (Pomeranz 2011)
mgc      Mahalanobis gradient compatibility, same border (Gallagher 2012)
alpha    as ``border``, but carried across the void from the real outline

Each is a function of (N, H, W, 4) uint8 pieces that returns :class:`SeamCosts`.
"""

from __future__ import annotations

from importlib import import_module

from puzzleflow.core.errors import check_known
from puzzleflow.core.types import ByteArray
from puzzleflow.solvers.compatibility.costs import SeamCosts

__all__ = ["COMPATIBILITIES", "SeamCosts", "check_compatibility", "seam_costs"]

COMPATIBILITIES: dict[str, str] = {
    "alpha": "puzzleflow.solvers.compatibility.measures:alpha_costs",
    "border": "puzzleflow.solvers.compatibility.measures:border_costs",
    "mgc": "puzzleflow.solvers.compatibility.measures:mgc_costs",
}


def check_compatibility(name: str) -> str:
    """``name`` itself, or an error that lists the known names."""
    return check_known("compatibility", name, COMPATIBILITIES)


def seam_costs(name: str, pieces: ByteArray) -> SeamCosts:
    """Costs of every pair of ``pieces`` by the compatibility called ``name``."""
    module_name, _, function = COMPATIBILITIES[check_compatibility(name)].partition(":")
    costs: SeamCosts = getattr(import_module(module_name), function)(pieces)
    return costs
