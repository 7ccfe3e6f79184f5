"""A greedy baseline after Derech, Tal and Shimshoni ("Solving Archaeological Puzzles").

Fragments are extrapolated beyond their edges; the dissimilarity of two placed
fragments is the mean difference of colours where one's extrapolation meets the
other's material; the confidence of a pair's best pose is its margin to the second
best; the surest placement is taken first, if it overlaps nothing. Poses, the
extrapolation and the test of overlap are those of ``assemble``, the order and the
measure are theirs. Their image melding is replaced by the nearest colour.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import IDENTITY, Pose
from puzzleflow.solvers.free_form.base import Report, Snap, Together, check_wishes, silent
from puzzleflow.solvers.free_form.board import MAX_OVERLAP, Board
from puzzleflow.solvers.free_form.extended import REACH
from puzzleflow.solvers.free_form.scaled import GAP
from puzzleflow.solvers.free_form.session import AssembleSession, AssembleSolver

MIN_CONTACT = 0.25  # shorter contacts say nothing of colours


class ExtrapolateGreedySolver:
    """Greedy by confidence of pairs; places every fragment that it can."""

    name = "extrapolate-greedy"

    def __init__(self, *, rotation: str = "free", reach: float = REACH) -> None:
        self.pairs = AssembleSolver(rotation=rotation, reach=reach, gap=GAP, learned=False)
        self.search = self.pairs.search

    def prepare(
        self,
        fragments: FragmentSet,
        *,
        journal: Path | None = None,
        num_workers: int = 1,
        on_progress: Report = silent,
    ) -> GreedySession:
        """Candidates of all pairs, by dissimilarity, with the confidence of each pair's best."""
        session = self.pairs.prepare(
            fragments, journal=journal, num_workers=num_workers, on_progress=on_progress
        )
        board = session.board
        pairs: dict[tuple[int, int], list[Candidate]] = {}
        for each in board.candidates:
            found = board.fit(each.first, IDENTITY, each.second, each.pose)
            if found.contact < MIN_CONTACT or found.overlap_share > MAX_OVERLAP:
                continue
            unlike = -math.log(max(found.likeness, 1e-9))
            pairs.setdefault((each.first, each.second), []).append(replace(each, score=-unlike))
        chosen = []
        for ranked in pairs.values():
            ranked.sort(key=lambda each: -each.score)
            second = ranked[1].score if len(ranked) > 1 else -1.0
            margin = 1 - ranked[0].score / second if second < 0 else 0.0
            chosen += [replace(ranked[0], score=margin)]
        return GreedySession(replace(session, board=replace(board, candidates=tuple(chosen))))


@dataclass(frozen=True, eq=False)
class GreedySession:
    """Pairs with one pose each; their scores are confidences."""

    pairs: AssembleSession

    def solve(
        self,
        *,
        seed: int = 0,
        pinned: Mapping[int, Pose] | None = None,
        together: Sequence[Together] = (),
        never: Sequence[tuple[int, int]] = (),
    ) -> Assembly:
        """Surest pair first, then always the surest pair that adds a fragment."""
        board = self.pairs.board
        apart = check_wishes(len(board), dict(pinned or {}), together, never)
        if pinned or together:
            raise CannotSolve("extrapolate-greedy knows nothing of pinned fragments")
        board = replace(board, never=apart)
        left = set(range(len(board)))
        components = []
        while left:
            grown = _grown(board, left)
            if grown is None:
                break
            components.append({i: p @ self.pairs.offsets[i].inverse() for i, p in grown.items()})
            left -= set(grown)
        return Assembly(
            len(board), tuple(components), np.full(len(board), np.nan), self.pairs.candidates
        )

    def rank(self, fragment: int, k: int = 10) -> list[Candidate]:
        """Partners by confidence."""
        return self.pairs.rank(fragment, k)

    def fits(
        self,
        fragment: int,
        near: Pose,
        placed: Mapping[int, Pose],
        *,
        k: int = 5,
        within: float = 0.5,
    ) -> list[Snap]:
        """As ``assemble`` does."""
        return self.pairs.fits(fragment, near, placed, k=k, within=within)


def _grown(board: Board, left: set[int]) -> dict[int, Pose] | None:
    """The component that the surest free pair begins; None without a pair."""
    ranked = sorted(board.candidates, key=lambda each: -each.score)
    usable = [c for c in ranked if {c.first, c.second} <= left and _apart(c) not in board.never]
    if not usable:
        return None
    poses = {usable[0].first: IDENTITY, usable[0].second: usable[0].pose}
    grew = True
    while grew:
        grew = False
        for each in usable:
            seen = each if each.first in poses else each.swapped()
            if seen.first not in poses or seen.second in poses:
                continue
            pose = poses[seen.first] @ seen.pose
            if all(
                _clear(board, index, other, seen.second, pose) for index, other in poses.items()
            ):
                poses[seen.second] = pose
                grew = True
                break
    return poses


def _apart(candidate: Candidate) -> tuple[int, int]:
    return min(candidate.first, candidate.second), max(candidate.first, candidate.second)


def _clear(board: Board, i: int, first: Pose, j: int, second: Pose) -> bool:
    """Whether two placed fragments do not overlap."""
    return board.value(i, first, j, second) > -math.inf
