"""Solvers by name.

Built-in solvers are *import strings*, so that listing them loads nothing;
other packages add theirs through the entry-point group ``puzzleflow.solvers``
(see ``docs/example_plugin``). Both are resolved by the same function.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.solvers.base import Solver

ENTRY_POINT_GROUP = "puzzleflow.solvers"

BUILTIN_SOLVERS: dict[str, str] = {
    "flow": "puzzleflow.solvers.flow:FlowSolver",
    "genetic": "puzzleflow.solvers.genetic:GeneticSolver",
    "genetic-alpha": "puzzleflow.solvers.genetic:genetic_alpha",
    "genetic-kernel": "puzzleflow.solvers.genetic:genetic_kernel",
    "genetic-kernel-alpha": "puzzleflow.solvers.genetic:genetic_kernel_alpha",
    "greedy": "puzzleflow.solvers.greedy:GreedySolver",
    "greedy-alpha": "puzzleflow.solvers.greedy:greedy_alpha",
    "linear": "puzzleflow.solvers.linear:LinearSolver",
    "linear-alpha": "puzzleflow.solvers.linear:linear_alpha",
    "mgc-tree": "puzzleflow.solvers.mgc_tree:MgcTreeSolver",
    "random": "puzzleflow.solvers.random:RandomSolver",
    "relational": "puzzleflow.solvers.relational:RelationalSolver",
    "rg-lns": "puzzleflow.solvers.rg_lns:RgLnsSolver",
    "search-alpha": "puzzleflow.solvers.search_alpha:SearchAlphaSolver",
    "tabu": "puzzleflow.solvers.tabu:TabuSolver",
    "tabu-alpha": "puzzleflow.solvers.tabu:tabu_alpha",
    "tree-alpha": "puzzleflow.solvers.mgc_tree:tree_alpha",
}

DEFAULT_SOLVER = "relational"


def known_solvers() -> dict[str, str]:
    """Name → import string of every solver, built in or from a plugin."""
    known = dict(BUILTIN_SOLVERS)
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name in known:
            raise InputError(
                f"two solvers are called {entry.name!r}: {known[entry.name]} and {entry.value}"
                f"{f' (package {entry.dist.name})' if entry.dist else ''}; "
                "uninstall one of them or rename it"
            )
        known[entry.name] = entry.value
    return known


def list_solvers() -> list[str]:
    """The names of all solvers, sorted; imports none of them."""
    return sorted(known_solvers())


def load_solver(name: str, **options: Any) -> Solver:
    """The solver called ``name``, built with ``options``."""
    known = known_solvers()
    if name not in known:
        raise UnknownName("solver", name, known)
    factory = _resolve(name, known[name])
    try:
        inspect.signature(factory).bind(**options)
    except TypeError as error:
        parameters = ", ".join(inspect.signature(factory).parameters) or "none"
        raise InputError(f"solver {name!r}: {error}; its options: {parameters}") from error
    solver = factory(**options)
    if not isinstance(solver, Solver):
        raise InputError(f"solver {name!r} ({known[name]}) has no name and prepare()")
    return solver


def _resolve(name: str, target: str) -> Any:
    """The class or function behind ``"package.module:attribute"``."""
    module_name, _, attribute = target.partition(":")
    try:
        found: Any = import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(f"solver {name!r} cannot be loaded from {target}: {error}") from error
    return found
