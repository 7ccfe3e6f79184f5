"""The folder of a workbench: ``workbench.json`` beside its arrays, written after every change.

A kill at any moment leaves the state before or after a change: arrays are written first, the
JSON takes its name atomically, and arrays that nothing needs are removed last.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from puzzleflow.core.assignment import as_placement
from puzzleflow.core.errors import FormatError, PuzzleFlowError, naming
from puzzleflow.core.grid import Grid
from puzzleflow.files import write_bytes
from puzzleflow.web.free import FreeHistory
from puzzleflow.web.history import Answer, Arrangement, History
from puzzleflow.web.kept import Kept, kept_before
from puzzleflow.web.limits import Limits
from puzzleflow.web.photo import Photo
from puzzleflow.web.saved import (
    DIGITS,
    SavedAnswer,
    SavedGuess,
    SavedLayoutChoice,
    SavedNote,
    SavedPhoto,
    SavedSheet,
    SavedStep,
    SavedTable,
    SavedWorkbench,
    load_history,
    load_sheet,
    load_tables,
)
from puzzleflow.web.stock import Piece, Sheet, Stock, plain_names
from puzzleflow.web.workbench import Workbench

KEPT_ANSWERS = 20
JSON = "workbench.json"
SUMMARY = "summary.json"
MAX_BYTES = 256 << 20


def save_history(
    history: History, most_answers: int = KEPT_ANSWERS
) -> tuple[list[SavedStep], list[SavedAnswer]]:
    """All steps, and the answers of the latest ones."""
    latest: dict[int, Answer] = {}
    for step in [*history.steps[history.at : history.at + 1], *reversed(history.steps)]:
        if step.answer is not None and len(latest) < most_answers:
            latest.setdefault(id(step.answer), step.answer)
    number = {key: index for index, key in enumerate(latest)}
    steps = [_save_step(step, number.get(id(step.answer))) for step in history.steps]
    return steps, [_save_answer(answer) for answer in latest.values()]


def _save_step(step: Arrangement, answer: int | None) -> SavedStep:
    return SavedStep(
        rows=step.grid.rows,
        cols=step.grid.cols,
        position_of=step.position_of.tolist(),
        label=step.label,
        pinned=sorted(step.pinned),
        answer=answer,
        ranking=[
            SavedGuess(
                rows=guess.grid.rows,
                cols=guess.grid.cols,
                cost=guess.cost,
                probability=guess.probability,
            )
            for guess in step.ranking
        ],
        turns=step.turns.tolist(),
        groups=[sorted(group) for group in step.groups],
        laid=(step.laid[0].tolist(), step.laid[1].tolist()),
    )


def _save_answer(answer: Answer) -> SavedAnswer:
    found = answer.solution
    seams = found.seam_confidence or (None, None)
    right, down = (None if s is None else np.asarray(s, dtype=float) for s in seams)
    return SavedAnswer(
        rows=answer.grid.rows,
        cols=answer.grid.cols,
        position_of=found.position_of.tolist(),
        solver=found.solver,
        seconds=answer.seconds,
        energy=_finite(found.energy),
        confidence=None if found.confidence is None else _numbers(found.confidence),
        right_seams=None if right is None else [_numbers_or_none(row) for row in right],
        down_seams=None if down is None else [_numbers_or_none(row) for row in down],
        position_prob=None
        if found.position_prob is None
        else [_numbers(row) for row in found.position_prob],
        alternatives=[
            SavedLayoutChoice(
                position_of=layout.position_of.tolist(),
                energy=_finite(layout.energy),
                probability=_finite(layout.probability),
                grid=None if layout.grid is None else layout.grid.shape,
                turns=None if layout.turns is None else layout.turns.tolist(),
            )
            for layout in found.alternatives
        ],
        trace=None if found.trace is None else found.trace.tolist(),
        is_open=found.grid is not None,
        turns=None if found.turns is None else found.turns.tolist(),
        seen_turns=answer.turns.tolist(),
        pinned=sorted(answer.pinned),
    )


def save_tables(free: FreeHistory) -> list[SavedTable]:
    """All tables of free placing."""
    return [
        SavedTable(
            poses={piece: (pose.x, pose.y, pose.angle) for piece, pose in table.poses.items()},
            label=table.label,
            pinned=sorted(table.pinned),
            components=[sorted(component) for component in table.components],
            confidence=dict(table.confidence),
        )
        for table in free.steps
    ]


def save_sheet(sheet: Sheet) -> SavedSheet:
    """Author, date, scale."""
    return SavedSheet(
        author=sheet.author,
        date=sheet.date,
        px_per_mm=sheet.px_per_mm,
        remarks=list(sheet.remarks),
    )


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _numbers(values: object) -> list[float]:
    return [round(float(v), DIGITS) for v in np.nan_to_num(np.asarray(values, dtype=float))]


def _numbers_or_none(values: object) -> list[float | None]:
    found = (_finite(float(v)) for v in np.asarray(values, dtype=float))
    return [None if value is None else round(value, DIGITS) for value in found]


class Summary(BaseModel):
    """What the list of recent workbenches tells."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    title: str = Field(max_length=200)
    origin: str = Field(max_length=200)
    num_pieces: int
    solved: bool
    changed_at: float
    num_bytes: int


class _Folder(BaseModel):
    """All stocks, so that what was undone or removed can still be brought back."""

    model_config = ConfigDict(extra="forbid")

    stocks: list[SavedWorkbench] = Field(min_length=1)
    at: int
    changed_at: float


def save_stock(
    workbench: Workbench, stock: Stock, most_answers: int = KEPT_ANSWERS
) -> SavedWorkbench:
    """One stock as JSON; names of files are its own affair."""
    steps, answers = save_history(stock.history, most_answers)
    photo = stock.photo
    return SavedWorkbench(
        title=workbench.sheet.title,
        origin=workbench.origin,
        pieces=[piece.name for piece in stock.pieces],
        quarter_turns=[piece.quarter_turns for piece in stock.pieces],
        grid=None if stock.grid is None else stock.grid.shape,
        truth=None if stock.truth is None else stock.truth.tolist(),
        truth_grid=None if stock.truth_grid is None else stock.truth_grid.shape,
        photo=None
        if photo is None
        else SavedPhoto(
            threshold=photo.threshold,
            automatic=photo.automatic,
            warnings=list(photo.warnings),
            aside=list(photo.aside),
        ),
        steps=steps,
        at=stock.history.at,
        answers=answers,
        label=stock.label,
        sheet=save_sheet(workbench.sheet),
        notes=[
            SavedNote(inventory=piece.inventory, note=piece.note, sharp=piece.sharp)
            for piece in stock.pieces
        ],
        tables=save_tables(stock.free),
        table_at=stock.free.at,
    )


def load_stock(saved: SavedWorkbench, kept: list[Kept], photo: Photo | None) -> Stock:
    """A stock from JSON and its arrays, checked."""
    count = len(saved.pieces)
    if plain_names(saved.pieces) != saved.pieces:
        raise FormatError("the names of the pieces are no distinct plain file names")
    turns = saved.quarter_turns or [0] * count
    notes = saved.notes or [SavedNote()] * count
    if not len(turns) == len(notes) == count:
        raise FormatError("not every piece says how it was turned")
    pieces = tuple(
        Piece(name, array, turn, note.sharp, note.inventory, note.note)
        for name, array, turn, note in zip(saved.pieces, kept, turns, notes, strict=True)
    )
    truth = None if saved.truth is None else np.array(saved.truth, dtype=np.int64)
    truth_grid = None if saved.truth_grid is None else Grid(*saved.truth_grid)
    if truth is not None:
        as_placement(truth, count, count if truth_grid is None else truth_grid.num_pieces)
    return Stock(
        pieces,
        saved.label,
        photo,
        None if saved.grid is None else Grid(*saved.grid),
        truth,
        truth_grid,
        load_history(saved),
        load_tables(saved),
    )


def write_folder(workbench: Workbench) -> None:
    """Save a workbench into its folder."""
    stocks = []
    for index, stock in enumerate(workbench.stocks.steps):
        here = index == workbench.stocks.at
        saved = save_stock(workbench, stock, KEPT_ANSWERS // 2 if here else 1)
        for note, piece in zip(saved.notes, stock.pieces, strict=True):
            note.file = piece.kept.path.name
        if saved.photo is not None and stock.photo is not None:
            saved.photo.whole = stock.photo.whole.path.name
            saved.photo.work = stock.photo.work.path.name
            saved.photo.labels = stock.photo.labels.path.name
        stocks.append(saved)
    whole = _Folder(stocks=stocks, at=workbench.stocks.at, changed_at=workbench.changed_at)
    write_bytes(workbench.folder / JSON, whole.model_dump_json(by_alias=True).encode())
    now = workbench.stock
    summary = Summary(
        title=workbench.sheet.title,
        origin=workbench.origin,
        num_pieces=len(now.pieces),
        solved=bool(now.history.steps or now.free.steps),
        changed_at=workbench.changed_at,
        num_bytes=workbench.kept_bytes(),
    )
    write_bytes(workbench.folder / SUMMARY, summary.model_dump_json().encode())


def read_summary(folder: Path) -> Summary | None:
    """What a kept workbench is; None where nothing readable lies."""
    try:
        if (folder / SUMMARY).stat().st_size > 1 << 16:
            return None
        return Summary.model_validate_json((folder / SUMMARY).read_bytes())
    except (OSError, ValidationError):
        return None


def read_folder(folder: Path, limits: Limits) -> Workbench:
    """A workbench as it was left; raises PuzzleFlowError where it cannot be read."""
    path = folder / JSON
    with naming(folder.name):
        try:
            if path.stat().st_size > MAX_BYTES:
                raise FormatError("the saved workbench is too large")
            whole = _Folder.model_validate_json(path.read_bytes())
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror}") from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise FormatError(f"damaged: {first['msg']}") from error
        if not 0 <= whole.at < len(whole.stocks):
            raise FormatError("the place in the history does not exist")
        now = whole.stocks[whole.at]
        workbench = Workbench(folder, limits, now.title, now.origin)
        workbench.sheet = load_sheet(now)
        workbench.changed_at = min(whole.changed_at, os.path.getmtime(path) + 1)  # noqa: PTH204
        for saved in whole.stocks:
            try:
                photo = _photo(folder, saved.photo)
                kept = [kept_before(folder, note.file) for note in saved.notes]
                stock = load_stock(saved, kept, photo)
            except PuzzleFlowError:
                if saved is now:
                    raise
                continue  # what could only be undone to is not worth the whole
            workbench.stocks.add(stock)
            if saved is now:
                at = workbench.stocks.at
        workbench.stocks.at = at
    return workbench


def _photo(folder: Path, saved: SavedPhoto | None) -> Photo | None:
    if saved is None:
        return None
    return Photo(
        kept_before(folder, saved.whole),
        kept_before(folder, saved.work),
        kept_before(folder, saved.labels),
        saved.threshold,
        saved.automatic,
        tuple(saved.warnings),
        tuple(saved.aside),
    )
