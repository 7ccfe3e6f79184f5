"""Candidates of all pairs: outlines swept along each other, then each peak refined.

The work goes row by row: one fragment against all before it. Rows may be spread over
processes, and kept in a journal from which a killed run goes on.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from puzzleflow.core.assembly import Candidate
from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose, angle_between
from puzzleflow.journal import Journal
from puzzleflow.lock import locked
from puzzleflow.parallel import bounded_map
from puzzleflow.solvers.free_form.contact import Rim, refined, rims
from puzzleflow.solvers.free_form.contour import Contour, contours
from puzzleflow.solvers.free_form.extended import REACH
from puzzleflow.solvers.free_form.first_look import partners
from puzzleflow.solvers.free_form.palette import Palette
from puzzleflow.solvers.free_form.scaled import GAP, ScaledSet
from puzzleflow.solvers.free_form.sweep import peaks, thinned

ROTATIONS = {"free": 180.0, "small": 10.0, "none": 0.0}  # how far two fragments may be turned
VERSION = 5  # of the candidates: a journal of another version is not used
SHIFT_PX = 4.0  # with which refining begins
FEW = 80  # fragments: all pairs of so many are searched in full
PARTNERS = 30  # of each fragment of a larger set
SAME_SHARE, SAME_ANGLE = 0.05, 4.0  # of √area, degrees: nearer candidates are one

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Search:
    """How candidates are looked for.

    rotation     "free", "small" (two fragments are turned by at most 10 degrees against
                 each other) or "none" (all lie as they belong)
    reach        of √area: how far fragments are extended
    gap          of √area: what is expected between neighbours
    fine_px      median √area where candidates are looked for and refined
    peaks        of the coarse search that are refined, for each pair
    kept         candidates of each pair
    partners     of each fragment that are searched; None: all up to ``FEW`` fragments, else
                 ``PARTNERS``
    """

    rotation: str = "free"
    reach: float = REACH
    gap: float = GAP
    fine_px: float = 80.0
    peaks: int = 40
    kept: int = 20
    partners: int | None = None

    def __post_init__(self) -> None:
        if self.rotation not in ROTATIONS:
            raise UnknownName("rotation", self.rotation, ROTATIONS)
        if not 0.01 <= self.reach <= 0.5:
            raise InputError(f"a reach of {self.reach}: expected 0.01 to 0.5")
        if not 0 <= self.gap < self.reach:
            raise InputError(f"a gap of {self.gap}: expected 0 or more, less than the reach")
        if min(self.peaks, self.kept, self.partners or 1) < 1:
            raise InputError("peaks, kept and partners are at least 1")
        if not 8 <= self.fine_px <= 1000:
            raise InputError(f"fine_px is {self.fine_px}: expected 8 to 1000")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A set made ready: outlines and rims."""

    search: Search
    rims: tuple[Rim, ...]
    contours: tuple[Contour, ...]
    scale: float

    @classmethod
    def of(cls, fragments: Sequence[Fragment], search: Search) -> Prepared:
        palette = Palette.of(fragments)
        fine = ScaledSet.of(fragments, palette, search.fine_px, reach=search.reach, gap=search.gap)
        return cls(search, rims(fine), contours(fine), fine.scale)

    @cached_property
    def others(self) -> tuple[tuple[int, ...], ...]:
        """(N) of each fragment those before it beside which it is searched."""
        count = len(self.contours)
        wanted = self.search.partners or (PARTNERS if count > FEW else count)
        if wanted >= count - 1:
            return tuple(tuple(range(row)) for row in range(count))
        return partners(self.contours, wanted)

    @cached_property
    def edges(self) -> tuple[tuple[Contour, Rim], ...]:
        """What the coarse search looks at."""
        return tuple(zip(self.contours, map(thinned, self.rims), strict=True))


def row_candidates(
    prepared: Prepared, row: int, others: Sequence[int] | None = None
) -> list[Candidate]:
    """Candidates of fragment ``row`` beside each of the others, best first for each pair.

    others  by default those before it that are worth a search
    """
    search, scale = prepared.search, prepared.scale
    limit = ROTATIONS[search.rotation]
    answer = []
    for other in prepared.others[row] if others is None else others:
        first, second = prepared.rims[other], prepared.rims[row]
        edges = prepared.edges[other], prepared.edges[row]
        found = [
            Candidate(
                other,
                row,
                *refined(
                    first, second, peak.pose, scale, turn=4.0 if limit else 0.0, shift_px=SHIFT_PX
                ),
            )
            for peak in peaks(*edges, scale, search.peaks, limit)
        ]
        able = [each for each in found if each.score > 0]
        answer += distinct(able, first, second, scale)[: search.kept]
    return answer


def distinct(candidates: list[Candidate], first: Rim, second: Rim, scale: float) -> list[Candidate]:
    """Candidates of one pair, best first, without those that repeat a better one."""
    near = SAME_SHARE * min(first.root, second.root) / scale
    kept: list[Candidate] = []
    for each in sorted(candidates, key=lambda c: -c.score):
        if not any(
            math.hypot(each.pose.x - other.pose.x, each.pose.y - other.pose.y) < near
            and angle_between(each.pose.angle, other.pose.angle) < SAME_ANGLE
            for other in kept
        ):
            kept.append(each)
    return kept


def all_candidates(
    fragments: Sequence[Fragment],
    prepared: Prepared,
    *,
    journal: Path | None = None,
    num_workers: int = 1,
    on_progress: Report = lambda stage, done, total: None,
) -> tuple[Candidate, ...]:
    """Candidates of all pairs worth a search; rows that the journal holds are not computed again.

    Progress counts pairs.
    """
    count = len(fragments)
    total = sum(map(len, prepared.others))
    with ExitStack() as stack:
        known: dict[int, list[Candidate]] = {}
        book = None
        if journal is not None:
            stack.enter_context(locked(journal.parent))
            book = stack.enter_context(
                Journal(journal, "assemble", _heading(fragments, prepared.search), Row)
            )
            known = _read(book, count)
        done = sum(len(prepared.others[row]) for row in known)
        on_progress("pairs", done, total)
        rows = [row for row in range(1, count) if row not in known]
        for row, found in zip(
            rows,
            bounded_map(partial(row_candidates, prepared), rows, num_workers=num_workers, ahead=1),
            strict=True,
        ):
            known[row] = found
            if book is not None:
                book.append(Row(row, tuple(map(_values, found))))
            done += len(prepared.others[row])
            on_progress("pairs", done, total)
    return tuple(each for row in sorted(known) for each in known[row])


def _heading(fragments: Sequence[Fragment], search: Search) -> dict[str, Any]:
    digest = hashlib.blake2b(digest_size=16)
    for fragment in fragments:
        digest.update(repr(fragment.pixels.shape).encode())
        digest.update(fragment.pixels.tobytes())
    return {"version": VERSION, "fragments": digest.hexdigest(), "search": asdict(search)}


@dataclass(frozen=True)
class Row:
    """Candidates of one fragment beside each one before it, as the journal keeps them."""

    row: int
    candidates: tuple[tuple[float, ...], ...]


def _read(book: Journal[Row], count: int) -> dict[int, list[Candidate]]:
    """Rows of a journal."""
    known = {}
    for entry in book.entries:
        try:
            if not 0 < entry.row < count:
                raise ValueError
            known[entry.row] = list(_candidates(entry.row, entry.candidates))
        except ValueError:
            raise FormatError(f"{book.path}: expected rows of pairs of {count}") from None
    return known


def _values(candidate: Candidate) -> tuple[float, ...]:
    pose = candidate.pose
    return candidate.first, pose.x, pose.y, pose.angle, candidate.score


def _candidates(row: int, rows: Sequence[Sequence[float]]) -> Iterator[Candidate]:
    for first, x, y, angle, score in rows:
        if not 0 <= int(first) < row:
            raise ValueError
        yield Candidate(int(first), row, Pose(x, y, angle), float(score))
