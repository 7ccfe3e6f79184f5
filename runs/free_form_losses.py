"""Where `assemble` loses: candidates, their poses, the gap of the set, or the assembly.

``python runs/free_form_losses.py SETS [assemble:OPTIONS] [FOLDER]`` prints one line for every set
of fragments with a known truth. FOLDER keeps the pairs that were compared, so that assembling can
be tried again without making candidates again.

@1, @6    share of true neighbours whose true relative pose (10°, 0.2 √area) is the best of its
          pair, or among its best six
fragment  share of fragments whose best candidate of all is right
exact     share of these right candidates that lie within 5° and 0.1 √area
gap       that was expected, against the median at the true poses
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from puzzleflow.core.assembly_metrics import (
    candidate_is_right,
    fragment_recall,
    pair_is_right,
    pair_recall,
    score_assembly,
)
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import Pose
from puzzleflow.evaluation.spec import SolverSpec
from puzzleflow.formats.open import open_fragments
from puzzleflow.solvers.free_form.measures import measured, placed
from puzzleflow.solvers.free_form.session import AssembleSession, AssembleSolver


def true_pose(fragments: FragmentSet, i: int, j: int) -> Pose:
    """Of the second, seen from the first."""
    first, second = fragments.poses[i], fragments.poses[j]
    assert first is not None
    assert second is not None
    return second.relative_to(first)


def gap_at_truth(fragments: FragmentSet, session: AssembleSession) -> float:
    """Median over true neighbours, over √area; NaN without a learned scorer."""
    seams = session.board.seams
    pairs = np.argwhere(np.triu(fragments.true_neighbours, 1)).tolist()
    if seams is None or not pairs:
        return float("nan")
    inward = [
        (i, j, session.offsets[i].inverse() @ true_pose(fragments, i, j) @ session.offsets[j])
        for i, j in pairs
    ]
    contours, scale = seams.prepared.contours, seams.prepared.scale
    return float(np.median(measured(contours, *placed(inward, scale)).gaps))


def main(path: str, solver_text: str = "assemble", folder: str = "") -> None:
    """One line for every set."""
    solver = AssembleSolver(**dict(SolverSpec.parse(solver_text).options))
    source = open_fragments(path)
    for name, fragments in zip(source.names, source, strict=True):
        journal = Path(folder) / name / "candidates.jsonl" if folder else None
        began = time.process_time()
        session = solver.prepare(fragments.without_truth(), journal=journal)
        ready = time.process_time()
        scores = score_assembly(fragments, session.solve())
        done = time.process_time()
        found = session.candidates
        right = [each for each in found if candidate_is_right(fragments, each)]
        exact = [
            pair_is_right(
                fragments.fragments[each.first],
                fragments.fragments[each.second],
                each.pose,
                true_pose(fragments, each.first, each.second),
                factor=1.0,
            )
            for each in right
        ]
        seams = session.board.seams
        print(
            f"{name}: {len(fragments)} fragments, @1 {pair_recall(fragments, found, 1):.2f}, "
            f"@6 {pair_recall(fragments, found, 6):.2f}, "
            f"fragment {fragment_recall(fragments, found, 1):.2f}, "
            f"exact {np.mean(exact) if exact else float('nan'):.2f}, "
            f"gap {seams.gap if seams else float('nan'):.3f} "
            f"({gap_at_truth(fragments, session):.3f}); "
            f"neighbour F1 {scores.neighbour_f1:.2f}, joins F1 {scores.joined_f1:.2f}, "
            f"Q_pos {scores.q_pos:.2f}, right {scores.right:.2f}; "
            f"CPU {ready - began:.1f} + {done - ready:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
