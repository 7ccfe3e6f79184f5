"""Solvers of free-form fragments by name."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.solvers.free_form.base import FreeFormSolver

FREE_FORM_SOLVERS = {
    "assemble": "puzzleflow.solvers.free_form.session:AssembleSolver",
    "extrapolate-greedy": "puzzleflow.solvers.free_form.derech:ExtrapolateGreedySolver",
}
DEFAULT_FREE_FORM_SOLVER = "assemble"


def load_free_form_solver(name: str, **options: Any) -> FreeFormSolver:
    """The solver called ``name``, built with ``options``."""
    if name not in FREE_FORM_SOLVERS:
        raise UnknownName("free-form solver", name, FREE_FORM_SOLVERS)
    module_name, _, attribute = FREE_FORM_SOLVERS[name].partition(":")
    factory = getattr(import_module(module_name), attribute)
    try:
        inspect.signature(factory).bind(**options)
    except TypeError as error:
        parameters = ", ".join(inspect.signature(factory).parameters) or "none"
        raise InputError(f"solver {name!r}: {error}; its options: {parameters}") from error
    solver: FreeFormSolver = factory(**options)
    return solver
