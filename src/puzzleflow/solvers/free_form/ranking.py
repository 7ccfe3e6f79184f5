"""Candidates moved to where most speaks for them, and put in order, by the learned scorer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from puzzleflow.core.assembly import Candidate
from puzzleflow.solvers.free_form.candidates import distinct
from puzzleflow.solvers.free_form.measures import GAPS, JoinPose
from puzzleflow.solvers.free_form.scaled import GAP
from puzzleflow.solvers.free_form.seams import Seams

OPENINGS = (0.04, 0.08, 0.12)  # of √area: candidates lie close, worn fragments do not
POLISHED = 10  # candidates of a pair that are moved, with great steps and with small
WITNESSES = 2  # candidates of a fragment that are asked for the gap
WITNESS_SCORE = 1.0  # less says nothing of it
TRUST = 0.5  # in what one join says of the gap beside others, which say much the same


def ranked(
    seams: Seams, candidates: Iterable[Candidate], *, turning: bool = True
) -> tuple[Seams, list[Candidate]]:
    """The scorer that knows the gap of the set, and candidates that it has moved, best first."""
    joins = [(each.first, each.second, each.pose) for each in candidates]
    joins = _best(seams, seams.opened(joins, OPENINGS), POLISHED)
    found = _best(seams, seams.polished(joins, shift=0.04, turn=4.0 * turning, levels=3), POLISHED)
    if seams.gap is None:
        seams = seams.knowing(expected_gap(seams, found))
    found = _best(seams, found, POLISHED)
    moved = seams.polished(found, shift=0.02, turn=2.0 * turning, levels=2)
    return seams, _candidates(seams, moved)


def _candidates(seams: Seams, joins: Sequence[JoinPose]) -> list[Candidate]:
    """Joins with their scores, best first, without those that repeat a better one of their pair."""
    pairs: dict[tuple[int, int], list[Candidate]] = defaultdict(list)
    for (i, j, pose), score in zip(joins, seams.scores(joins)[:, 0].tolist(), strict=True):
        pairs[i, j].append(Candidate(i, j, pose, score))
    rims, scale = seams.prepared.rims, seams.prepared.scale
    kept = [distinct(found, rims[i], rims[j], scale) for (i, j), found in pairs.items()]
    return sorted((each for found in kept for each in found), key=lambda each: -each.score)


def _best(seams: Seams, joins: Sequence[JoinPose], count: int) -> list[JoinPose]:
    """The best of each pair, none twice, best first."""
    seen: dict[tuple[int, int], int] = defaultdict(int)
    chosen = []
    for each in _candidates(seams, joins):
        seen[each.first, each.second] += 1
        if seen[each.first, each.second] <= count:
            chosen.append((each.first, each.second, each.pose))
    return chosen


def expected_gap(seams: Seams, joins: Sequence[JoinPose]) -> float:
    """The gap over √area that the likeliest joins of a set tell; joins come best first.

    Each says how much likelier than usual it makes every gap; a false one says little.
    """
    asked: dict[int, int] = defaultdict(int)
    witnesses = []
    for join, score in zip(joins, seams.scores(joins)[:, 0].tolist(), strict=True):
        i, j, _ = join
        if score < WITNESS_SCORE:
            break
        if min(asked[i], asked[j]) < WITNESSES:
            witnesses.append(join)
            asked[i] += 1
            asked[j] += 1
    if not witnesses:
        return GAP
    told = TRUST * seams.gaps_of_set(witnesses).sum(axis=0) + seams.network.usual.log().numpy()
    likely = np.exp(told - told.max())  # (G,)
    return round(float(likely @ np.array(GAPS) / likely.sum()), 3)
