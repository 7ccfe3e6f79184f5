"""What is compared: sections of conditions, each the same pictures cut in one way.

A new condition is a line in the function of its section, a new section an entry of
:data:`SECTIONS`; running, scoring and showing them is the same for all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from puzzleflow.core.errors import InputError, check_known
from puzzleflow.core.grid import Grid
from puzzleflow.core.rng import child_rng
from puzzleflow.files import write_bytes
from puzzleflow.generation.erosion import SHRINK, erosion_label, erosion_model
from puzzleflow.generation.plan import Request, make_recipe, pictures_digest
from puzzleflow.generation.recipe import Renderer
from puzzleflow.generation.recipe_file import RecipeSource, write_recipe
from puzzleflow.generation.survey import Surveyed, survey_pictures
from puzzleflow.generation.survey import kind_of as known_kind
from puzzleflow.journal import Journal
from puzzleflow.pictures import list_pictures
from puzzleflow.samples import list_samples, sample_file

SHRINKS = (-12, -8, -4, 0, 2, 4, 7, 10)  # percent of the side: from 94 to 41 % kept
STRAIGHT_GAPS = (0.03, 0.055, 0.09, 0.155, 0.19, 0.24, 0.295, 0.36)  # of the side: as much kept
PAPER_KEPT = 65.0  # percent of a cell that the paper's fragments keep
AS_MADE = "as made"
WHOLE_PIECES = 25  # up to so many pieces a condition has all its puzzles
LEAST_PUZZLES = 20


@dataclass(frozen=True, eq=False)
class PictureSet:
    """Readable pictures below ``folder`` in the order in which they were drawn.

    kind_of     picture → kind, as far as it is known
    num_unread  pictures that were drawn and could not be read
    """

    folder: Path
    pictures: tuple[Surveyed, ...]
    kind_of: Mapping[str, str]
    num_unread: int = 0

    @property
    def kinds(self) -> dict[str, tuple[Surveyed, ...]]:
        """Pictures by kind, the most frequent kind first."""
        found: dict[str, list[Surveyed]] = {}
        for picture in self.pictures:
            if kind := self.kind_of.get(picture.picture):
                found.setdefault(kind, []).append(picture)
        ordered = sorted(found, key=lambda kind: (-len(found[kind]), kind))
        return {kind: tuple(found[kind]) for kind in ordered}


def draw_pictures(
    folder: Path, journal: Path, kinds: Mapping[str, str] | None, *, count: int, seed: int
) -> PictureSet:
    """``count`` pictures below ``folder`` drawn at random, and so many of each kind.

    kinds    file → kind as ``read_kinds`` gives it; None takes the uppermost
             subfolder of a picture for its kind
    journal  folder in which a survey that was stopped finds what it had seen
    """
    names = [path.relative_to(folder).as_posix() for path in list_pictures(folder)]
    if not names:
        raise InputError(f"{folder}: no pictures in it")
    kind_of = {name: kind for name in names if (kind := known_kind(name, kinds))}
    if kinds is not None and not kind_of:
        raise InputError(f"{folder}: none of its {len(names)} pictures has a kind in the table")
    taken: Counter[str] = Counter()
    wanted = []
    for place, index in enumerate(child_rng(seed, "limits").permutation(len(names))):
        kind = kind_of.get(names[index], "")
        taken[kind] += 1
        if place < count or (kind and taken[kind] <= count):
            wanted.append(names[index])
    surveyed = _survey(folder, wanted, journal)
    usable = tuple(picture for picture in surveyed if not picture.problem)
    if not usable:
        raise InputError(f"{folder}: none of {len(surveyed)} pictures can be read")
    return PictureSet(folder, usable, kind_of, len(surveyed) - len(usable))


def sample_pictures(folder: Path) -> PictureSet:
    """The bundled pictures, written to ``folder`` so that recipes can point at them."""
    names = [f"{sample.name}.webp" for sample in list_samples()]
    for name in names:
        write_bytes(folder / name, sample_file(name.removesuffix(".webp")))
    return PictureSet(folder, tuple(_survey(folder, names, folder / ".survey")), {})


def _survey(folder: Path, names: list[str], journals: Path) -> list[Surveyed]:
    """Look at these pictures, or remember what was seen of the same files."""
    digest = pictures_digest(folder, names)
    path = journals / f"{digest[:16]}.jsonl"
    with Journal(path, "survey", {"pictures": digest}, Surveyed) as journal:
        return survey_pictures(folder, names, journal)


@dataclass(frozen=True)
class Condition:
    """Pictures below ``folder`` and how they are cut: a point of the curve ``series``.

    A puzzle's masks and truth follow from seed, picture and copy alone: the conditions
    of a sweep over the erosion have the same masks but for what the sweep changes.
    Conditions of the same ``request.name`` are the same puzzles and run once.
    """

    label: str
    folder: Path
    pictures: tuple[Surveyed, ...]
    request: Request
    series: str = ""
    section: str = ""

    @property
    def content_px(self) -> float:
        """Pixels of the pictures behind one side of a cell, median; a cell may be enlarged."""
        rows, cols = self.request.grid.shape
        return float(np.median([min(p.height / rows, p.width / cols) for p in self.pictures]))

    def open(self, folder: Path) -> RecipeSource:
        """The puzzles, whose recipe is written to ``folder``."""
        recipe = make_recipe(self.request, self.pictures)
        renderer = Renderer(
            recipe.grid, recipe.piece_px, recipe.erosion, recipe.fingerprint, self.folder
        )
        write_recipe(folder, recipe.located(renderer, folder))
        return RecipeSource(folder)


@dataclass(frozen=True)
class Plan:
    """What is measured.

    sections     of :data:`SECTIONS`; None takes all that the pictures allow
    num_puzzles  of every condition; larger grids than 5x5 get fewer, see :meth:`count`
    base_grids   calibration and samples on all of them, kinds and gaps on the first
    grids        of the sweep over grid sizes
    """

    sections: tuple[str, ...] | None = None
    num_puzzles: int = 120
    base_grids: tuple[Grid, ...] = (Grid(3, 3), Grid(5, 5))
    grids: tuple[Grid, ...] = tuple(Grid(n, n) for n in (2, 3, 4, 5, 6, 7, 8, 10))
    erosion: str = "vae"
    piece_px: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        sections = SECTIONS if self.sections is None else self.sections
        for section in sections:
            check_known("section", section, SECTIONS)
        if not sections:
            raise InputError(f"no section given; known: {', '.join(SECTIONS)}")
        if self.num_puzzles < 1:
            raise InputError(f"{self.num_puzzles} puzzles: expected at least 1")
        if not self.base_grids or ("grid" in sections and not self.grids):
            raise InputError("no grid given; write ROWSxCOLS,ROWSxCOLS, for example 3x3,5x5")
        erosion_model(self.erosion)

    def count(self, grid: Grid) -> int:
        """Puzzles of a grid: fewer, but not below 20, where each takes long."""
        if grid.num_pieces <= WHOLE_PIECES:
            return self.num_puzzles
        fewer = self.num_puzzles * 9 // grid.num_pieces
        return min(self.num_puzzles, max(LEAST_PUZZLES, fewer))

    def cut(
        self,
        label: str,
        pool: PictureSet,
        *,
        grid: Grid | None = None,
        erosion: str | None = None,
        pictures: tuple[Surveyed, ...] | None = None,
        copies: int | None = None,
        series: str = "",
        name: str = "",
    ) -> Condition:
        """Pictures of ``pool`` on the first base grid with the masks of the plan, or others.

        pictures  of the pool, by default all
        copies    puzzles of every picture; without it one of as many as the grid allows
        series    of the curve
        name      of the folder, by default from the masks
        """
        grid, erosion = grid or self.base_grids[0], erosion or self.erosion
        taken = pool.pictures if pictures is None else pictures
        if copies is None:
            taken = taken[: self.count(grid)]
        stem = (name or erosion_label(erosion)).replace(":", "@")
        folder = f"{grid}-{re.sub(r'[^A-Za-z0-9._=+-]', '_', stem)}"
        request = Request(folder, grid, self.piece_px, erosion, self.seed, per_picture=copies or 1)
        return Condition(label, pool.folder, taken, request, series)


@dataclass(frozen=True)
class Section:
    """A question of the report and the conditions that answer it.

    make     conditions of the given pictures and of the samples
    head     of the column of labels
    columns  further columns, see ``page.COLUMNS``
    chart    metrics as "dots" or as a "line" over the labels, over the share of a cell "kept",
             or "" for reliability diagrams
    """

    title: str
    make: Callable[[Plan, PictureSet, PictureSet], Iterable[Condition]]
    head: str
    columns: tuple[str, ...] = ()
    chart: str = "dots"


def conditions(plan: Plan, given: PictureSet, samples: PictureSet) -> list[Condition]:
    """Every condition of the sections asked for, in the order of :data:`SECTIONS`.

    What cannot be done with these pictures is an error, or left out if nothing was asked for.
    """
    lacking = {}
    if not given.pictures:
        lacking = dict.fromkeys(SECTIONS.keys() - {"samples"}, "needs a folder of pictures")
    elif not given.kinds:
        lacking["kind"] = f"needs kinds: no table is given and {given.folder} has no subfolders"
    found = []
    for name, section in SECTIONS.items():
        if name in lacking and name in (plan.sections or ()):
            raise InputError(f"section {name!r} {lacking[name]}")
        if name not in lacking and name in (plan.sections or SECTIONS):
            made = section.make(plan, given, samples)
            found += [replace(condition, section=name) for condition in made]
    return found


def _kinds(plan: Plan, given: PictureSet, _: PictureSet) -> Iterable[Condition]:
    for number, (kind, pictures) in enumerate(given.kinds.items(), start=1):
        yield plan.cut(kind, given, pictures=pictures, name=f"kind{number}-{kind}")


def _gaps(plan: Plan, given: PictureSet, _: PictureSet) -> Iterable[Condition]:
    made = erosion_label(plan.erosion)
    for shrink in SHRINKS:
        erosion = f"{plan.erosion}{SHRINK}{shrink}" if shrink else plan.erosion
        label = f"outlines {abs(shrink)} % {'in' if shrink > 0 else 'out'}" if shrink else AS_MADE
        yield plan.cut(label, given, erosion=erosion, series=made)
    for gap_px in dict.fromkeys(round(part * plan.piece_px) for part in STRAIGHT_GAPS):
        label, erosion = f"gap of {gap_px} px", f"fixed:{gap_px}"
        yield plan.cut(label, given, erosion=erosion, series="straight")


def _samples(plan: Plan, given: PictureSet, samples: PictureSet) -> Iterable[Condition]:
    copies = max(1, plan.num_puzzles // len(samples.pictures))
    for grid in plan.base_grids:
        yield plan.cut(f"samples, {grid}", samples, grid=grid, name="samples", copies=copies)
        if given.pictures:
            yield plan.cut(f"given pictures, {grid}", given, grid=grid)


def _base_grids(plan: Plan, given: PictureSet, _: PictureSet) -> Iterable[Condition]:
    return [plan.cut(str(grid), given, grid=grid) for grid in plan.base_grids]


def _grids(plan: Plan, given: PictureSet, _: PictureSet) -> Iterable[Condition]:
    return [plan.cut(str(grid), given, grid=grid) for grid in plan.grids]


SECTIONS = {
    "calibration": Section("Can its confidence be trusted?", _base_grids, "grid", chart=""),
    "kind": Section("By kind of picture", _kinds, "kind"),
    "gap": Section("By width of the gap", _gaps, "gap", ("masks", "kept %"), "kept"),
    "grid": Section("By number of pieces", _grids, "grid", ("picture px",), "line"),
    "samples": Section("On the Met sample pictures", _samples, "pictures"),
}
"""What the report asks; ``templates/limits.md`` has a note on each."""
