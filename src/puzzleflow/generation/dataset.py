"""Data sets on disk: planned once, rendered in parallel, resumed after a kill.

Everything that a killed run leaves behind is either in the hidden folder ``.work``
(two journals, which know the survey of the pictures and every finished puzzle, the
recipes, the payloads of the GAP files), or a file under its final name that is whole.
The next run with the same request goes on from there; as every puzzle
depends on its recipe alone, the files come out the same.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.types import IntArray
from puzzleflow.files import read_json, write_json
from puzzleflow.generation.card import set_statistics, write_card
from puzzleflow.generation.erosion import erosion_label
from puzzleflow.generation.plan import (
    SPLIT_NAMES,
    Request,
    picture_order,
    picture_statistics,
    pictures_digest,
    plan_recipes,
)
from puzzleflow.generation.recipe import Recipe, RecipeRow, Renderer, pieces_crc
from puzzleflow.generation.recipe_file import read_recipe, write_recipe
from puzzleflow.generation.survey import kinds_of, survey_pictures
from puzzleflow.generation.workfolder import STATISTICS, PuzzleLog, Work, work_folder
from puzzleflow.parallel import bounded_map
from puzzleflow.storage.gap_writer import PUZZLES, GapCodec, write_gap_files

_MASKS_AT_ONCE = 64

Progress = Callable[[str, int, int], None]  # stage, done, total


def generate_set(
    images: str | Path,
    out: str | Path,
    request: Request,
    *,
    num_workers: int = 1,
    on_progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Cut the pictures below ``images`` into the data set ``out``; returns its statistics.

    A data set that is complete already is left alone.
    """
    images, out = Path(images), Path(out)
    pictures = picture_order(images, request)
    if out.resolve().is_relative_to(images.resolve()):
        raise InputError(f"{out} lies inside the picture folder {images}; choose another folder")
    asked = request.record() | {"pictures": pictures_digest(images, pictures)}
    kinds = kinds_of(images, pictures) if request.foreign_kind != "any" else None
    with work_folder(out, asked) as work:
        if work is None:
            return _finished(out / STATISTICS)
        if not (work.folder / "plan").exists():
            surveyed = survey_pictures(
                images,
                pictures,
                work.survey,
                num_workers=num_workers,
                limit=request.limit,
                on_progress=lambda done: on_progress(
                    "survey", done, min(len(pictures), request.limit or len(pictures))
                ),
            )
            recipes, groups, usable = plan_recipes(request, surveyed, kinds)
            notes = picture_statistics(groups, usable)
            notes["unreadable"] = [
                {"picture": p.picture, "problem": p.problem} for p in surveyed if p.problem
            ]
            renderers = {
                split: Renderer(r.grid, r.piece_px, r.erosion, r.fingerprint, images, r.conditions)
                for split, r in recipes.items()
            }
            _write_plan(work.folder, recipes, renderers, notes)
        return _write_set(out, work, request, asked, num_workers, on_progress)


def materialise_set(
    folders: Mapping[str, Path],
    out: str | Path,
    *,
    compression: str = "gzip",
    reference: bool = False,
    recipe_only: bool = False,
    images: Path | None = None,
    outlines: Path | None = None,
    num_workers: int = 1,
    on_progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Render recipe folders (by split) into the data set ``out``; returns its statistics.

    ``images`` and ``outlines`` say where pictures and outlines are now, if they moved.
    """
    out = Path(out)
    recipes = {split: read_recipe(folder) for split, folder in folders.items()}
    first = next(iter(recipes.values()))
    request = Request(
        name=first.name,
        grid=first.grid,
        piece_px=first.piece_px,
        erosion=first.erosion,
        seed=first.seed,
        compression=compression,
        reference=reference,
        recipe_only=recipe_only,
        conditions=first.conditions,
    )
    digest = hashlib.sha256(_told(recipes).encode()).hexdigest()
    asked = request.record() | {"recipes": digest}
    with work_folder(out, asked) as work:
        if work is None:
            return _finished(out / STATISTICS)
        if not (work.folder / "plan").exists():
            renderers = {
                split: recipe.renderer(folders[split], images, outlines)
                for split, recipe in recipes.items()
            }
            pictures = {row.picture for recipe in recipes.values() for row in recipe.rows}
            _write_plan(work.folder, recipes, renderers, {"num_pictures": len(pictures)})
        return _write_set(out, work, request, asked, num_workers, on_progress)


def _told(recipes: Mapping[str, Recipe]) -> str:
    """Everything that recipes say, as one text."""
    text = repr(sorted(recipes.items()))
    for _, recipe in sorted(recipes.items()):
        if not recipe.conditions.is_closed:
            text += repr((recipe.conditions, [(row.turns, row.stranger) for row in recipe.rows]))
    return text


def recipe_folders(path: str | Path) -> dict[str, Path]:
    """The recipe folders by split of a recipe, of its root, or of a data set that has one."""
    path = Path(path)
    for root in (path, path / "recipe"):
        folders = {s: root / s for s in SPLIT_NAMES if (root / s / "recipe.json").is_file()}
        if folders:
            return folders
    if (path / "recipe.json").is_file():
        return {path.name if path.name in SPLIT_NAMES else "test": path}
    raise InputError(f"{path}: no recipe.json in it or in its splits")


def _write_plan(
    work: Path,
    recipes: Mapping[str, Recipe],
    renderers: Mapping[str, Renderer],
    notes: dict[str, Any],
) -> None:
    """Recipes and notes in ``work/plan``, all at once."""
    fresh, plan = work / "plan.new", work / "plan"
    shutil.rmtree(fresh, ignore_errors=True)
    for split, recipe in recipes.items():
        # plan.new and plan lie in the same folder: paths relative to one hold for the other
        write_recipe(fresh / split, recipe.located(renderers[split], fresh / split))
    write_json(fresh / "notes.json", notes)
    fresh.rename(plan)


def _write_set(
    out: Path,
    work: Work,
    request: Request,
    asked: dict[str, Any],
    num_workers: int,
    on_progress: Progress,
) -> dict[str, Any]:
    plan = work.folder / "plan"
    notes = read_json(plan / "notes.json")
    splits = [split for split in SPLIT_NAMES if (plan / split).exists()]
    recipes = {split: read_recipe(plan / split) for split in splits}
    total = sum(len(recipe.rows) for recipe in recipes.values())
    done = 0
    areas: dict[str, IntArray] = {}
    finished: dict[str, Recipe] = {}
    differing: list[str] = []
    renderer = recipes[splits[0]].renderer(plan / splits[0])
    for split, recipe in recipes.items():

        def report(made: int, before: int = done) -> None:
            on_progress("puzzles", before + made, total)

        log = PuzzleLog(work, split, recipe.num_pieces)
        _render_split(out / split, recipe, renderer, log, request, num_workers, report)
        done += len(recipe.rows)
        rows = []
        for row, crc32 in zip(recipe.rows, log.checksums(), strict=True):
            if row.crc32 not in ("", crc32):
                differing.append(row.picture)
            rows.append(replace(row, crc32=crc32))
        folder = out / split if request.recipe_only else out / "recipe" / split
        finished[split] = replace(recipe, rows=tuple(rows)).located(renderer, folder)
        write_recipe(folder, finished[split])
        areas[split] = log.areas()
    statistics = {"request": asked} | set_statistics(out, finished, areas, notes, differing)
    write_card(out, request, statistics, finished, renderer)
    write_json(out / STATISTICS, statistics)  # last: it says that the set is complete
    return statistics


def _render_split(
    target: Path,
    recipe: Recipe,
    renderer: Renderer,
    log: PuzzleLog,
    request: Request,
    num_workers: int,
    report: Callable[[int], None],
) -> None:
    """Render what is missing of a split into GAP files, or into its log alone."""
    codec = None
    if not request.recipe_only:
        level = None if request.compression == "none" else 4
        px = (recipe.piece_px, recipe.piece_px)
        codec = GapCodec(
            recipe.grid, px, level, reference=request.reference, conditions=recipe.conditions
        )
    is_written = codec is not None and (target / PUZZLES).exists()
    if not is_written:
        log.keep_whole()
        report(len(log))
    for made in _rendered(recipe.rows[len(log) :], renderer, codec, num_workers):
        log.append(made.crc32, made.areas, made.payload)
        report(len(log))
    if codec is not None and not is_written:
        metadata = {
            "name": recipe.name,
            "split": target.name,
            "erosion": erosion_label(recipe.erosion),
            "seed": recipe.seed,
        }
        if request.foreign_kind != "any":
            metadata["foreign_kind"] = request.foreign_kind
        write_gap_files(target, log.payloads(), len(log), codec, metadata)
        log.drop_payloads()


@dataclass(frozen=True)
class _Made:
    crc32: str
    areas: IntArray  # (N,) material pixels
    payload: bytes


def _rendered(
    rows: tuple[RecipeRow, ...], renderer: Renderer, codec: GapCodec | None, num_workers: int
) -> Iterator[_Made]:
    """The puzzles of ``rows`` in order; a worker takes some at a time, as generators like it."""
    size = max(1, _MASKS_AT_ONCE // renderer.grid.num_pieces)
    blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
    make = partial(_make, renderer, codec)
    for block in bounded_map(make, blocks, num_workers=num_workers if len(blocks) > 1 else 1):
        yield from block


def _make(renderer: Renderer, codec: GapCodec | None, rows: tuple[RecipeRow, ...]) -> list[_Made]:
    """Render and compress a few puzzles; runs in a worker."""
    made = []
    for row, masks in zip(rows, renderer.masks(rows), strict=True):
        canvas = renderer.canvas(row)
        pieces = renderer.cut(row, canvas, masks)
        payload = b""
        if codec is not None:
            puzzle = renderer.puzzle(row, pieces)
            payload = codec.encode(puzzle, canvas if codec.reference else None)
        areas = np.count_nonzero(pieces[..., 3], axis=(1, 2))  # (N,)
        made.append(_Made(pieces_crc(pieces), areas, payload))
    return made


def _finished(path: Path) -> dict[str, Any]:
    """The statistics of a set that is complete."""
    match read_json(path):
        case {"num_puzzles": int(), "unreadable": list(), "splits": dict(splits)} as found if all(
            isinstance(split, dict) and "num_puzzles" in split for split in splits.values()
        ):
            return dict(found)
    raise FormatError(f"{path}: expected the statistics of a data set")
