"""Which cases each section of the report needs; a case that two sections need is run once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from puzzleflow.core.errors import InputError, UnknownName
from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.limits.cases import Case
from puzzleflow.evaluation.limits.pictures import PictureSet
from puzzleflow.generation.erosion import SHRINK, erosion_label, erosion_model

SECTIONS = ("calibration", "kind", "gap", "grid", "samples")
SHRINKS = (-12, -8, -4, 0, 2, 4, 7, 10)  # percent of the side: from 94 to 41 % kept
STRAIGHT_GAPS = (0.03, 0.055, 0.09, 0.155, 0.19, 0.24, 0.295, 0.36)  # of the side: as much kept
WHOLE_PIECES = 25  # up to so many pieces a case has all its puzzles
LEAST_PUZZLES = 20


@dataclass(frozen=True)
class Plan:
    """What is measured.

    optional     leave out the sections whose pictures or kinds are missing
    num_puzzles  of every case; larger grids than 5x5 get fewer, see :meth:`count`
    base_grids   calibration and samples on all of them, kinds and gaps on the first
    grids        of the sweep over grid sizes
    """

    sections: tuple[str, ...] = SECTIONS
    optional: bool = False
    num_puzzles: int = 120
    base_grids: tuple[Grid, ...] = (Grid(3, 3), Grid(5, 5))
    grids: tuple[Grid, ...] = tuple(Grid(n, n) for n in (2, 3, 4, 5, 6, 7, 8, 10))
    erosion: str = "vae"
    piece_px: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        for section in self.sections:
            if section not in SECTIONS:
                raise UnknownName("section", section, SECTIONS)
        if not self.sections:
            raise InputError(f"no section given; known: {', '.join(SECTIONS)}")
        if self.num_puzzles < 1:
            raise InputError(f"{self.num_puzzles} puzzles: expected at least 1")
        if not self.base_grids or ("grid" in self.sections and not self.grids):
            raise InputError("no grid given; write ROWSxCOLS,ROWSxCOLS, for example 3x3,5x5")
        erosion_model(self.erosion)

    def possible(self, pictures: PictureSet | None) -> Plan:
        """The plan for these pictures: what cannot be done is an error, or left out."""
        lacking = {}
        if pictures is None:
            why = "needs a folder of pictures"
            lacking = {section: why for section in SECTIONS if section != "samples"}
        elif not pictures.kinds:
            lacking["kind"] = (
                f"needs kinds: no table is given and {pictures.folder} has no subfolders"
            )
        left = tuple(section for section in self.sections if section not in lacking)
        if not self.optional and left != self.sections:
            section = next(section for section in self.sections if section in lacking)
            raise InputError(f"section {section!r} {lacking[section]}")
        return replace(self, sections=left)

    def count(self, grid: Grid) -> int:
        """Puzzles of a grid: fewer, but not below 20, where each takes long."""
        if grid.num_pieces <= WHOLE_PIECES:
            return self.num_puzzles
        fewer = self.num_puzzles * 9 // grid.num_pieces
        return min(self.num_puzzles, max(LEAST_PUZZLES, fewer))


@dataclass(frozen=True, eq=False)
class Point:
    """One case as a section shows it: a point of the curve ``series``."""

    section: str
    series: str
    label: str
    case: Case


def points(plan: Plan, pictures: PictureSet | None, samples: PictureSet | None) -> list[Point]:
    """Every point of the sections asked for, in the order of :data:`SECTIONS`."""
    found: list[Point] = []
    if pictures is not None:
        makers = {"calibration": _calibration, "kind": _kinds, "gap": _gaps, "grid": _grids}
        for section, make in makers.items():
            if section in plan.sections:
                found += make(plan, pictures)
    if samples is not None and "samples" in plan.sections:
        found += _samples(plan, pictures, samples)
    return found


def _held_out(plan: Plan, pictures: PictureSet, grid: Grid, erosion: str) -> Case:
    return Case(
        name=f"{grid}-{_file_stem(erosion_label(erosion))}",
        folder=pictures.folder,
        pictures=pictures.pictures[: plan.count(grid)],
        grid=grid,
        erosion=erosion,
        piece_px=plan.piece_px,
        seed=plan.seed,
    )


def _calibration(plan: Plan, pictures: PictureSet) -> Iterator[Point]:
    for grid in plan.base_grids:
        case = _held_out(plan, pictures, grid, plan.erosion)
        yield Point("calibration", "", str(grid), case)


def _kinds(plan: Plan, pictures: PictureSet) -> Iterator[Point]:
    grid = plan.base_grids[0]
    for number, kind in enumerate(pictures.kinds, start=1):
        case = Case(
            name=f"{grid}-kind{number}-{_file_stem(kind)}",
            folder=pictures.folder,
            pictures=pictures.of_kind(kind)[: plan.count(grid)],
            grid=grid,
            erosion=plan.erosion,
            piece_px=plan.piece_px,
            seed=plan.seed,
        )
        yield Point("kind", "", kind, case)


def _gaps(plan: Plan, pictures: PictureSet) -> Iterator[Point]:
    grid = plan.base_grids[0]
    for shrink in SHRINKS:
        erosion = f"{plan.erosion}{SHRINK}{shrink}" if shrink else plan.erosion
        label = f"outlines {abs(shrink)} % {'in' if shrink > 0 else 'out'}" if shrink else "as made"
        case = _held_out(plan, pictures, grid, erosion)
        yield Point("gap", erosion_label(plan.erosion), label, case)
    for gap_px in dict.fromkeys(round(part * plan.piece_px) for part in STRAIGHT_GAPS):
        case = _held_out(plan, pictures, grid, f"fixed:{gap_px}")
        yield Point("gap", "straight", f"gap of {gap_px} px", case)


def _grids(plan: Plan, pictures: PictureSet) -> Iterator[Point]:
    for grid in plan.grids:
        yield Point("grid", "", str(grid), _held_out(plan, pictures, grid, plan.erosion))


def _samples(plan: Plan, pictures: PictureSet | None, samples: PictureSet) -> Iterator[Point]:
    for grid in plan.base_grids:
        case = Case(
            name=f"{grid}-samples",
            folder=samples.folder,
            pictures=samples.pictures,
            grid=grid,
            erosion=plan.erosion,
            piece_px=plan.piece_px,
            seed=plan.seed,
            copies=max(1, plan.num_puzzles // len(samples.pictures)),
        )
        yield Point("samples", "", f"samples, {grid}", case)
        if pictures is not None:
            case = _held_out(plan, pictures, grid, plan.erosion)
            yield Point("samples", "", f"given pictures, {grid}", case)


def _file_stem(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._=+-]", "_", name.replace(":", "@"))
