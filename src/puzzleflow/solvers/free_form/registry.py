"""Solvers of free-form fragments by name.

Other packages add theirs through the entry-point group ``puzzleflow.free_form_solvers``;
``path/to/file.py:Class`` needs no package.
"""

from __future__ import annotations

from typing import Any

from puzzleflow.core.errors import InputError
from puzzleflow.registry import Registry
from puzzleflow.solvers.free_form.base import FreeFormSolver

FREE_FORM_SOLVERS = Registry(
    what="free-form solver",
    group="puzzleflow.free_form_solvers",
    files=True,
    builtin={
        "assemble": "puzzleflow.solvers.free_form.session:AssembleSolver",
        "extrapolate-greedy": "puzzleflow.solvers.free_form.derech:ExtrapolateGreedySolver",
    },
)


def load_free_form_solver(name: str, **options: Any) -> FreeFormSolver:
    """The solver called ``name``, built with ``options``."""
    solver = FREE_FORM_SOLVERS.build(name, **options)
    if not isinstance(solver, FreeFormSolver):
        target = FREE_FORM_SOLVERS.target(name)
        raise InputError(f"free-form solver {name!r} ({target}) has no name and prepare()")
    return solver
