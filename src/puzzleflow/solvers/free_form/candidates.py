"""Candidates of all pairs: coarse search, then each peak refined and scored exactly.

The work goes row by row: one fragment against all before it. Rows may be spread over
processes, and kept in a journal from which a killed run goes on.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from puzzleflow.core.assembly import Candidate
from puzzleflow.core.errors import FormatError, InputError, UnknownName
from puzzleflow.core.fragments import Fragment
from puzzleflow.core.pose import Pose, angle_between
from puzzleflow.journal import Journal
from puzzleflow.lock import locked
from puzzleflow.parallel import bounded_map
from puzzleflow.solvers.free_form.coarse import angles_of, row_peaks
from puzzleflow.solvers.free_form.contact import Rim, refined, rims
from puzzleflow.solvers.free_form.contour import Contour, contours
from puzzleflow.solvers.free_form.extended import REACH
from puzzleflow.solvers.free_form.palette import Palette
from puzzleflow.solvers.free_form.scaled import GAP, ScaledSet

ROTATIONS = {"free": 180.0, "small": 10.0, "none": 0.0}  # how far two fragments may be turned
VERSION = 3  # of the candidates: a journal of another version is not used
SAME_SHARE, SAME_ANGLE = 0.05, 4.0  # of √area, degrees: nearer candidates are one

Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Search:
    """How candidates are looked for.

    rotation     "free", "small" (two fragments are turned by at most 10 degrees against
                 each other) or "none" (all lie as they belong)
    reach        of √area: how far fragments are extended
    gap          of √area: what is expected between neighbours
    coarse_px    median √area in the coarse search
    fine_px      median √area where candidates are refined and scored
    angle_step   of the coarse search, in degrees
    peaks        of the coarse search that are refined, for each pair
    kept         candidates of each pair
    """

    rotation: str = "free"
    reach: float = REACH
    gap: float = GAP
    coarse_px: float = 40.0
    fine_px: float = 80.0
    angle_step: float = 10.0
    peaks: int = 40
    kept: int = 20

    def __post_init__(self) -> None:
        if self.rotation not in ROTATIONS:
            raise UnknownName("rotation", self.rotation, ROTATIONS)
        if not 0.01 <= self.reach <= 0.5:
            raise InputError(f"a reach of {self.reach}: expected 0.01 to 0.5")
        if not 0 <= self.gap < self.reach:
            raise InputError(f"a gap of {self.gap}: expected 0 or more, less than the reach")
        if not 1 <= self.angle_step <= 45 or self.peaks < 1 or self.kept < 1:
            raise InputError("angle_step lies between 1 and 45, peaks and kept are at least 1")
        if not 8 <= self.coarse_px <= self.fine_px <= 1000:
            raise InputError("coarse_px and fine_px: expected 8 <= coarse_px <= fine_px <= 1000")

    @property
    def angles(self) -> list[float]:
        """Of the coarse search."""
        limit = ROTATIONS[self.rotation]
        return angles_of(limit, min(self.angle_step, 5.0) if limit < 180 else self.angle_step)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A set made ready: pictures for the coarse search, rims for the fine one."""

    search: Search
    coarse: ScaledSet
    rims: tuple[Rim, ...]
    contours: tuple[Contour, ...]
    scale: float

    @classmethod
    def of(cls, fragments: Sequence[Fragment], search: Search) -> Prepared:
        palette = Palette.of(fragments)
        fine = ScaledSet.of(fragments, palette, search.fine_px, reach=search.reach, gap=search.gap)
        coarse = ScaledSet.of(fragments, palette, search.coarse_px, reach=search.reach)
        return cls(search, coarse, rims(fine), contours(fine), fine.scale)


def row_candidates(
    prepared: Prepared, row: int, others: Sequence[int] | None = None
) -> list[Candidate]:
    """Candidates of fragment ``row`` beside each of the others, best first for each pair.

    others  by default all before it
    """
    search, scale = prepared.search, prepared.scale
    free = search.rotation != "none"
    shift = 2 * scale / prepared.coarse.scale
    answer = []
    others = range(row) if others is None else others
    for other, peaks in zip(
        others,
        row_peaks(prepared.coarse, row, others, search.angles, search.peaks),
        strict=True,
    ):
        first, second = prepared.rims[other], prepared.rims[row]
        found = [
            Candidate(
                other,
                row,
                *refined(
                    first, second, peak.pose, scale, turn=4.0 if free else 0.0, shift_px=shift
                ),
            )
            for peak in peaks
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
    """Candidates of all pairs; rows that the journal holds are not computed again.

    Progress counts pairs.
    """
    count = len(fragments)
    total = count * (count - 1) // 2
    with ExitStack() as stack:
        known: dict[int, list[Candidate]] = {}
        book = None
        if journal is not None:
            stack.enter_context(locked(journal.parent))
            book = stack.enter_context(
                Journal(journal, "assemble", _heading(fragments, prepared.search), Row)
            )
            known = _read(book, count)
        done = sum(known)
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
            done += row
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
