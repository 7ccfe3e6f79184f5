"""The solver ``assemble``: candidates along outlines, seams judged, assembly by growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from puzzleflow.core.assembly import Assembly, Candidate
from puzzleflow.core.errors import CannotSolve
from puzzleflow.core.fragments import FragmentSet
from puzzleflow.core.pose import IDENTITY, Pose
from puzzleflow.models.checkpoint import bundled_weights
from puzzleflow.models.seam_scorer import SeamScorer
from puzzleflow.options import Within
from puzzleflow.solvers.free_form.assembling import assemble
from puzzleflow.solvers.free_form.base import Report, Snap, Together, check_wishes, silent
from puzzleflow.solvers.free_form.board import Board
from puzzleflow.solvers.free_form.candidates import Prepared, Search, all_candidates
from puzzleflow.solvers.free_form.confidence import (
    LEARNED,
    UNLEARNED,
    Limits,
    confidences,
    pruned,
)
from puzzleflow.solvers.free_form.extended import REACH
from puzzleflow.solvers.free_form.growth import snaps
from puzzleflow.solvers.free_form.ranking import ranked
from puzzleflow.solvers.free_form.scaled import GAP
from puzzleflow.solvers.free_form.seams import Seams, load_scorer

LISTED = 200  # candidates that an answer carries
WEIGHTS = "seams.safetensors"
BEYOND_GAP = 0.05  # of √area: how far beyond the gap a fragment is extended at least


class AssembleSolver:
    """Fragments of any shape → poses; see docs/free-form.md.

    gap       of √area, expected between neighbours; None: as the set shows
    reach     of √area: how far fragments are extended
    weights   a safetensors file of ``train seams``, by default the bundled one
    learned   False: seams are judged by likeness of colours alone
    partners  of each fragment, by a first look at colours, that are searched in full;
              None: all up to 80 fragments, 30 beyond
    searches  for the assembly, the best of which is the answer; 0: growth alone, quick
    min_gain  what must speak for a placement; None: what is usual
    min_margin  how much more must speak for it than for any other; None: what is usual
    """

    name = "assemble"

    def __init__(
        self,
        *,
        rotation: str = "free",
        gap: Annotated[float | None, Within(0, 0.4)] = None,
        reach: Annotated[float, Within(0.01, 0.5)] = REACH,
        peaks: Annotated[int, Within(1)] = 40,
        partners: Annotated[int | None, Within(1)] = None,
        searches: Annotated[int, Within(0)] = 1,
        min_gain: float | None = None,
        min_margin: float | None = None,
        weights: str | Path | None = None,
        learned: bool = True,
    ) -> None:
        self.gap = gap
        self.searches = searches
        expected = GAP if gap is None or learned else gap
        reach = max(reach, expected + BEYOND_GAP)
        self.search = Search(rotation, reach=reach, gap=expected, peaks=peaks, partners=partners)
        self.weights: Path | None = None
        self.network: SeamScorer | None = None
        if learned:
            self.weights = bundled_weights(WEIGHTS) if weights is None else Path(weights)
            self.network = load_scorer(self.weights)
        usual = UNLEARNED if self.network is None else LEARNED
        self.limits = Limits(
            usual.min_gain if min_gain is None else min_gain,
            usual.min_margin if min_margin is None else min_margin,
            usual.at_no_margin,
            usual.per_margin,
        )

    def prepare(
        self,
        fragments: FragmentSet,
        *,
        journal: Path | None = None,
        num_workers: int = 1,
        on_progress: Report = silent,
    ) -> AssembleSession:
        """Candidates of all pairs."""
        cropped = [fragment.cropped() for fragment in fragments.fragments]
        parts = [part for part, _ in cropped]
        prepared = Prepared.of(parts, self.search)
        found = all_candidates(
            parts, prepared, journal=journal, num_workers=num_workers, on_progress=on_progress
        )
        seams = None
        if self.network is not None:
            seams, ordered = ranked(
                Seams(prepared, self.network, self.gap),
                found,
                turning=self.search.rotation != "none",
            )
            found = tuple(ordered)
        offsets = tuple(Pose(float(x), float(y)) for _, (x, y) in cropped)
        board = Board(
            prepared.rims,
            prepared.scale,
            found,
            turning=self.search.rotation != "none",
            seams=seams,
        )
        return AssembleSession(board, offsets, self.limits, self.searches)


@dataclass(frozen=True, eq=False)
class AssembleSession:
    """A prepared set.

    board    rims and candidates, of fragments cut down to their material
    offsets  (N) centre of what was left, from the centre of the fragment's picture
    limits   what must speak for a placement, and how margins become confidence
    searches  for the assembly
    """

    board: Board
    offsets: tuple[Pose, ...]
    limits: Limits
    searches: int

    def solve(
        self,
        *,
        seed: int = 0,
        pinned: Mapping[int, Pose] | None = None,
        together: Sequence[Together] = (),
        never: Sequence[tuple[int, int]] = (),
    ) -> Assembly:
        """See :class:`puzzleflow.solvers.free_form.base.FreeFormSession`."""
        pins = dict(pinned or {})
        board = replace(self.board, never=check_wishes(len(self.board), pins, together, never))
        units, fixed = self._units(pins, together)
        components = assemble(
            board,
            units,
            seed=seed,
            pinned=fixed,
            min_gain=self.limits.min_gain,
            searches=self.searches,
        )
        held = set(pins).union(*(unit for unit in units if len(unit) > 1))
        components = pruned(board, components, held, self.limits)
        sure = confidences(board, components, set(pins), self.limits)
        return Assembly(
            len(board),
            tuple(self._outward(each) for each in components),
            sure,
            self.candidates[:LISTED],
        )

    def rank(self, fragment: int, k: int = 10) -> list[Candidate]:
        """The likeliest partners of one fragment, the best pose of each, best first."""
        check_wishes(len(self.board), {fragment: IDENTITY}, (), ())
        best: dict[int, Candidate] = {}
        for each in self.candidates:
            if fragment in (each.first, each.second):
                seen = each if each.first == fragment else each.swapped()
                best.setdefault(seen.second, seen)
        return list(best.values())[:k]

    def fits(
        self,
        fragment: int,
        near: Pose,
        placed: Mapping[int, Pose],
        *,
        k: int = 5,
        within: float = 0.5,
    ) -> list[Snap]:
        """See :class:`puzzleflow.solvers.free_form.base.FreeFormSession`."""
        check_wishes(len(self.board), {fragment: near, **placed}, (), ())
        inward = {i: pose @ self.offsets[i] for i, pose in placed.items() if i != fragment}
        own = self.offsets[fragment]
        found = snaps(self.board, fragment, near @ own, inward, within)[:k]
        return [replace(each, pose=each.pose @ own.inverse()) for each in found]

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates of pairs, best first, between centres of the fragments' pictures."""
        ranked = sorted(self.board.candidates, key=lambda each: -each.score)
        return tuple(
            replace(
                each,
                pose=self.offsets[each.first] @ each.pose @ self.offsets[each.second].inverse(),
            )
            for each in ranked
        )

    def _outward(self, poses: Mapping[int, Pose]) -> dict[int, Pose]:
        return {i: pose @ self.offsets[i].inverse() for i, pose in poses.items()}

    def _units(
        self, pins: Mapping[int, Pose], together: Sequence[Together]
    ) -> tuple[list[dict[int, Pose]], list[int]]:
        """Groups that hold together by wish, single fragments, and which group is pinned."""
        group: dict[int, dict[int, Pose]] = {i: {i: IDENTITY} for i in range(len(self.board))}
        if pins:
            held = {i: pose @ self.offsets[i] for i, pose in pins.items()}
            group |= dict.fromkeys(held, held)
        for each in together:
            one, two = group[each.first], group[each.second]
            if one is two:
                continue
            if pins and two is group[next(iter(pins))]:
                each = Together(each.second, each.first, each.pose and each.pose.inverse())
                one, two = two, one
            relative = self._relative(each)
            motion = one[each.first] @ relative @ two[each.second].inverse()
            for index, pose in two.items():
                one[index] = motion @ pose
                group[index] = one
        units = list({id(each): each for each in group.values()}.values())
        fixed = [n for n, unit in enumerate(units) if pins and next(iter(pins)) in unit]
        return units, fixed

    def _relative(self, wish: Together) -> Pose:
        """As wished, else the best candidate of the pair."""
        if wish.pose is not None:
            inward = self.offsets[wish.first].inverse()
            return inward @ wish.pose @ self.offsets[wish.second]
        ends = {wish.first, wish.second}
        found = [each for each in self.board.candidates if {each.first, each.second} == ends]
        if not found:
            raise CannotSolve(
                f"fragments {wish.first} and {wish.second}: nothing speaks for a pose; give one"
            )
        best = max(found, key=lambda each: each.score)
        return best.pose if best.first == wish.first else best.pose.inverse()
