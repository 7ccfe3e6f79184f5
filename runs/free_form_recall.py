"""How often the true pose of two neighbours is among the candidates of `assemble`.

``python runs/free_form_recall.py SET [assemble:gap=0+rotation=none]`` prints, for every set of
fragments at a path, the share of true neighbours whose relative pose is the best of its pair,
and among the best twenty: the recall columns of docs/free-form.md.
"""

from __future__ import annotations

import sys

from puzzleflow.core.assembly_metrics import pair_recall
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.formats.open import open_fragments
from puzzleflow.solvers.free_form.session import AssembleSolver


def main(path: str, solver_text: str = "assemble") -> None:
    """One line for every set."""
    solver = AssembleSolver(**dict(SolverSpec.parse(solver_text).options))
    for fragments in open_fragments(path):
        candidates = solver.prepare(fragments.without_truth()).candidates
        first, twenty = (pair_recall(fragments, candidates, k) for k in (1, 20))
        print(f"{fragments.name}: {len(fragments)} fragments, @1 {first:.2f}, @20 {twenty:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
