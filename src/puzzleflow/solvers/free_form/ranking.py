"""Candidates put in order by the learned scorer, and laid anew at the gap that a set shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from puzzleflow.core.assembly import Candidate
from puzzleflow.solvers.free_form.candidates import Prepared, distinct
from puzzleflow.solvers.free_form.contact import refined
from puzzleflow.solvers.free_form.scaled import GAP
from puzzleflow.solvers.free_form.seams import Seams

WITNESSES = 2  # candidates of a fragment that are asked for the gap
WITNESS_SCORE = 1.0  # less says nothing of it
REFITTED = 8  # candidates of a pair that are laid anew


def ranked(seams: Seams, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with what their seams say as scores, best first; none twice."""
    told = seams.scores([(each.first, each.second, each.pose) for each in candidates])[:, 0]
    pairs: dict[tuple[int, int], list[Candidate]] = defaultdict(list)
    for each, score in zip(candidates, told.tolist(), strict=True):
        pairs[each.first, each.second].append(replace(each, score=score))
    rims, scale = seams.prepared.rims, seams.prepared.scale
    kept = [distinct(found, rims[i], rims[j], scale) for (i, j), found in pairs.items()]
    return sorted((each for found in kept for each in found), key=lambda each: -each.score)


def expected_gap(seams: Seams, candidates: Sequence[Candidate]) -> float:
    """The gap over √area that the likeliest joins of a set tell; candidates come best first."""
    asked: dict[int, int] = defaultdict(int)
    witnesses = []
    for each in candidates:
        if each.score < WITNESS_SCORE:
            break
        if min(asked[each.first], asked[each.second]) < WITNESSES:
            witnesses.append(each)
            asked[each.first] += 1
            asked[each.second] += 1
    if not witnesses:
        return GAP
    told = seams.scores([(each.first, each.second, each.pose) for each in witnesses])
    order = np.argsort(told[:, 1])
    weight = np.cumsum(np.minimum(told[order, 0], 6.0))
    middle = int(np.searchsorted(weight, weight[-1] / 2))
    return round(float(np.clip(told[order[middle], 1], 0.0, 0.2)), 2)


def refitted(prepared: Prepared, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The best candidates of each pair, moved to where they fit best as ``prepared`` says."""
    pairs: dict[tuple[int, int], list[Candidate]] = defaultdict(list)
    for each in candidates:
        if len(pairs[each.first, each.second]) < REFITTED:
            pairs[each.first, each.second].append(each)
    answer = []
    turn = 0.0 if prepared.search.rotation == "none" else 2.0
    for (i, j), found in pairs.items():
        first, second = prepared.rims[i], prepared.rims[j]
        shift_px = 0.05 * min(first.root, second.root)
        moved = [
            Candidate(
                i, j, *refined(first, second, c.pose, prepared.scale, turn=turn, shift_px=shift_px)
            )
            for c in found
        ]
        answer += distinct(moved, first, second, prepared.scale)
    return answer
