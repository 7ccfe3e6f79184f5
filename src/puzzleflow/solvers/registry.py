"""Solvers by name.

Other packages add theirs through the entry-point group ``puzzleflow.solvers``
(see ``docs/example_plugin``); ``path/to/file.py:Class`` needs no package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from puzzleflow.core.errors import InputError
from puzzleflow.models.pretrained import weights_at
from puzzleflow.registry import Registry
from puzzleflow.solvers.base import Solver

SOLVERS = Registry(
    what="solver",
    group="puzzleflow.solvers",
    files=True,
    builtin={
        "deepzzle": "puzzleflow.solvers.rivals.deepzzle:DeepzzleSolver",
        "diffassemble": "puzzleflow.solvers.rivals.diffassemble:DiffAssembleSolver",
        "diffassemble+": "puzzleflow.solvers.rivals.diffassemble:DiffAssemblePlusSolver",
        "fcvit": "puzzleflow.solvers.rivals.fcvit:FcvitSolver",
        "fcvit+": "puzzleflow.solvers.rivals.fcvit:FcvitPlusSolver",
        "flow": "puzzleflow.solvers.flow:FlowSolver",
        "flow-seams": "puzzleflow.solvers.flow:FlowSeamsSolver",
        "genetic": "puzzleflow.solvers.genetic:GeneticSolver",
        "genetic-alpha": "puzzleflow.solvers.genetic:genetic_alpha",
        "genetic-kernel": "puzzleflow.solvers.genetic:genetic_kernel",
        "genetic-kernel-alpha": "puzzleflow.solvers.genetic:genetic_kernel_alpha",
        "greedy": "puzzleflow.solvers.greedy:GreedySolver",
        "greedy-alpha": "puzzleflow.solvers.greedy:greedy_alpha",
        "jigsawgan": "puzzleflow.solvers.rivals.jigsawgan:JigsawGanSolver",
        "jigsawgan+": "puzzleflow.solvers.rivals.jigsawgan:JigsawGanPlusSolver",
        "jpdvt": "puzzleflow.solvers.rivals.jpdvt:JpdvtSolver",
        "jpdvt+": "puzzleflow.solvers.rivals.jpdvt:JpdvtPlusSolver",
        "linear": "puzzleflow.solvers.linear:LinearSolver",
        "linear-alpha": "puzzleflow.solvers.linear:linear_alpha",
        "mgc-tree": "puzzleflow.solvers.mgc_tree:MgcTreeSolver",
        "pdn-ga": "puzzleflow.solvers.rivals.pdn_ga:PdnGaSolver",
        "puzlm": "puzzleflow.solvers.rivals.puzlm:PuzlmSolver",
        "puzlm+": "puzzleflow.solvers.rivals.puzlm:PuzlmPlusSolver",
        "random": "puzzleflow.solvers.random:RandomSolver",
        "relational": "puzzleflow.solvers.relational:RelationalSolver",
        "rg-lns": "puzzleflow.solvers.rg_lns:RgLnsSolver",
        "sd2rl": "puzzleflow.solvers.rivals.sd2rl:Sd2rlSolver",
        "search-alpha": "puzzleflow.solvers.search_alpha:SearchAlphaSolver",
        "tabu": "puzzleflow.solvers.tabu:TabuSolver",
        "tabu-alpha": "puzzleflow.solvers.tabu:tabu_alpha",
        "tree-alpha": "puzzleflow.solvers.mgc_tree:tree_alpha",
    },
)

DEFAULT_SOLVER = "relational"


def list_solvers() -> list[str]:
    """The names of all solvers, sorted; imports none of them."""
    return SOLVERS.names()


def offered_solvers() -> list[str]:
    """The solvers for somebody with pieces: without those that are there for comparison alone."""
    return [name for name in list_solvers() if ".rivals." not in str(SOLVERS.builtin.get(name, ""))]


def load_solver(name: str, **options: Any) -> Solver:
    """The solver called ``name``, built with ``options``.

    ``weights`` may be a file, a folder that holds one, or an address such as hf://OWNER/NAME.
    """
    if isinstance(options.get("weights"), str | Path):
        options["weights"] = weights_at(options["weights"])
    solver = SOLVERS.build(name, **options)
    if not isinstance(solver, Solver):
        raise InputError(f"solver {name!r} ({SOLVERS.target(name)}) has no name and prepare()")
    return solver
