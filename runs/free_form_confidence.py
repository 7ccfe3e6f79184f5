"""The two constants of confidence of `assemble`, fitted by likelihood, and how far it is off.

``python runs/free_form_confidence.py SETS [SETS ...]``: folders of broken *validation* pictures.
Prints the constants for ``solvers/free_form/confidence.py``, and the calibration error (ten bins,
over the placed fragments of a folder) with the constants there and with the fitted ones.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from puzzleflow.core.assembly_metrics import rightly_placed
from puzzleflow.evaluation.assembly_bench import calibration_error
from puzzleflow.formats.open import open_fragments
from puzzleflow.solvers.free_form.session import AssembleSolver


def placements(path: str, solver: AssembleSolver) -> tuple[np.ndarray, np.ndarray]:
    """(M,) margins of the placed fragments of all sets, and (M,) which lie right."""
    margins, right = [], []
    source = open_fragments(path)
    for fragments in source:
        answer = solver.prepare(fragments.without_truth()).solve()
        for index, is_right in rightly_placed(fragments, answer).items():
            sure = answer.confidence[index]
            if np.isfinite(sure):
                odds = logit(sure)
                margins.append((odds - solver.limits.at_no_margin) / solver.limits.per_margin)
                right.append(is_right)
    return np.array(margins), np.array(right, dtype=np.bool_)


def fitted(margins: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(2,) log of the odds at no margin, and more of it for each unit of margin."""
    sign = np.where(right, 1.0, -1.0)

    def cost(constants: np.ndarray) -> float:
        return float(np.logaddexp(0, -sign * (constants[0] + constants[1] * margins)).mean())

    return np.asarray(minimize(cost, np.array([0.0, 0.3])).x)


def main(*paths: str) -> None:
    """Fit on all folders; one line for each."""
    solver = AssembleSolver()
    found = {path: placements(path, solver) for path in paths}
    both = fitted(*(np.concatenate(parts) for parts in zip(*found.values(), strict=True)))
    now = np.array([solver.limits.at_no_margin, solver.limits.per_margin])
    print(f"at_no_margin {both[0]:.2f}, per_margin {both[1]:.3f}")
    for path, (margins, right) in found.items():
        share = f"{path}: {len(right)} placed, {right.mean():.3f} right"
        told = [expit(constants[0] + constants[1] * margins) for constants in (now, both)]
        off = [calibration_error(sure.tolist(), right.tolist()) for sure in told]
        print(f"{share}, off by {off[0]:.3f}, {off[1]:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
