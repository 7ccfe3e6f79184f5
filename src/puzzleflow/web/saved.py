"""The JSON of a workbench: history with every answer, checked when read (written by saving.py)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from puzzleflow.core.errors import FormatError, InputError
from puzzleflow.core.grid import Grid
from puzzleflow.core.pose import Pose
from puzzleflow.core.puzzle import Layout, Solution
from puzzleflow.core.types import FloatArray, IntArray
from puzzleflow.web.free import FreeHistory, FreeTable
from puzzleflow.web.history import MAX_STEPS, UNTOLD, Answer, Arrangement, GridGuess, History
from puzzleflow.web.stock import MAX_PX_PER_MM, Sheet

SCHEMA: Final = "puzzleflow/workbench"
VERSION: Final = 2
DIGITS = 6

Positions = list[int]
Rows = list[list[float | None]]
Text = Annotated[str, Field(max_length=200)]
Long = Annotated[str, Field(max_length=2000)]
Side = Annotated[int, Field(ge=1, le=10_000)]
Turns = list[Annotated[int, Field(ge=0, le=3)]]


class _Saved(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class SavedLayoutChoice(_Saved):
    """One whole layout among the best; grid and turns where the solver told them."""

    position_of: Positions
    energy: float | None = None
    probability: float | None = None
    grid: tuple[Side, Side] | None = None
    turns: Turns | None = None


class SavedAnswer(_Saved):
    """A solver's answer, and the grid it was found on.

    Since version 2: ``is_open`` where cells may be empty, ``turns`` that the solver found,
    ``seen_turns`` of the pieces as it saw them, and the pins it was given.
    """

    rows: Side
    cols: Side
    position_of: Positions
    solver: Text
    seconds: float = 0.0
    energy: float | None = None
    confidence: list[float] | None = None
    right_seams: Rows | None = None
    down_seams: Rows | None = None
    position_prob: list[list[float]] | None = None
    alternatives: list[SavedLayoutChoice] = []
    trace: list[Positions] | None = None
    is_open: bool = False
    turns: Turns | None = None
    seen_turns: Turns | None = None
    pinned: list[int] = []


class SavedGuess(_Saved):
    """A grid that was tried."""

    rows: Side
    cols: Side
    cost: float | None = None
    probability: float | None = None


class SavedStep(_Saved):
    """One arrangement; ``answer`` counts within the list of answers."""

    rows: Side
    cols: Side
    position_of: Positions
    label: Text
    pinned: list[int] = []
    answer: int | None = None
    ranking: list[SavedGuess] = []
    turns: Turns | None = None
    groups: list[list[int]] = []
    laid: tuple[Positions, Turns] | None = None


class SavedTable(_Saved):
    """One table of free placing: piece → x, y, angle."""

    poses: dict[int, tuple[float, float, float]]
    label: Text
    pinned: list[int] = []
    components: list[list[int]] = []
    confidence: dict[int, float] = {}


class SavedPhoto(_Saved):
    """How the photograph was cut apart; names of files only in a workbench's own folder."""

    threshold: float
    automatic: bool
    warnings: list[Long] = []
    aside: list[tuple[int, Text]] = []
    whole: Text = ""
    work: Text = ""
    labels: Text = ""


class SavedSheet(_Saved):
    """Author, date, scale."""

    author: Text = ""
    date: Text = ""
    px_per_mm: Annotated[float, Field(gt=0, le=MAX_PX_PER_MM)] | None = None
    remarks: list[tuple[Text, float]] = []


class SavedNote(_Saved):
    """What is noted of one piece."""

    inventory: Text = ""
    note: Long = ""
    sharp: bool = True
    file: Text = ""


class SavedWorkbench(_Saved):
    """The whole file; pieces are named in order, their pictures lie in ``pieces/``."""

    format: Literal["puzzleflow/workbench"] = Field(alias="schema", default=SCHEMA)
    version: Literal[1, 2] = VERSION
    title: Text
    origin: Text
    pieces: list[Text]
    quarter_turns: Turns = []
    grid: tuple[Side, Side] | None = None
    truth: Positions | None = None
    truth_grid: tuple[Side, Side] | None = None
    photo: SavedPhoto | None = None
    steps: Annotated[list[SavedStep], Field(max_length=MAX_STEPS)] = []
    at: int = -1
    answers: Annotated[list[SavedAnswer], Field(max_length=MAX_STEPS)] = []
    label: Text = "begin"
    sheet: SavedSheet = SavedSheet()
    notes: list[SavedNote] = []
    tables: Annotated[list[SavedTable], Field(max_length=MAX_STEPS)] = []
    table_at: int = -1

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)


def load_sheet(saved: SavedWorkbench) -> Sheet:
    """Title, author, date, scale."""
    sheet = saved.sheet
    return Sheet(saved.title[:120], sheet.author, sheet.date, sheet.px_per_mm, tuple(sheet.remarks))


def load_history(saved: SavedWorkbench) -> History:
    """The history of a saved workbench; raises InputError where it contradicts itself."""
    count = len(saved.pieces)
    base = np.array(saved.quarter_turns or [0] * count, dtype=np.int64)
    answers = [_load_answer(answer, count, base) for answer in saved.answers]
    history = History()
    for step in saved.steps:
        if step.answer is not None and not 0 <= step.answer < len(answers):
            raise FormatError("a step refers to an answer that is not there")
        answer = None if step.answer is None else answers[step.answer]
        grid = Grid(step.rows, step.cols)
        if saved.version == 1 and grid.num_pieces != count:
            raise FormatError(f"{count} pieces do not fill a {grid} grid")
        if saved.version == 1 and answer is not None and answer.grid != grid:
            raise FormatError("a step and its answer lie on different grids")
        members = {*step.pinned, *(piece for group in step.groups for piece in group)}
        if not members <= set(range(count)):
            raise FormatError("a pinned piece does not exist")
        guesses = (
            GridGuess(Grid(guess.rows, guess.cols), guess.cost, guess.probability)
            for guess in step.ranking
        )
        history.add(
            Arrangement(
                grid,
                _positions(step.position_of, count),
                step.label,
                _positions(step.turns, count) if step.turns is not None else base,
                frozenset(step.pinned),
                tuple(frozenset(group) for group in step.groups),
                answer,
                _laid(step, answer, count),
                tuple(guesses),
            )
        )
    _check_place(saved.at, len(history.steps))
    history.at = saved.at
    return history


def _laid(step: SavedStep, answer: Answer | None, count: int) -> tuple[IntArray, IntArray]:
    if step.laid is not None:
        return _positions(step.laid[0], count), _positions(step.laid[1], count)
    if answer is None:
        return UNTOLD, UNTOLD
    return answer.solution.position_of, answer.upright(answer.solution)


def _check_place(at: int, count: int) -> None:
    if not -1 <= at < count or (count and at < 0):
        raise FormatError("the place in the history does not exist")


def load_tables(saved: SavedWorkbench) -> FreeHistory:
    """The tables of free placing."""
    free = FreeHistory()
    everything = set(range(len(saved.pieces)))
    for table in saved.tables:
        named = {*table.poses, *table.pinned, *table.confidence}
        named.update(piece for component in table.components for piece in component)
        if not named <= everything or not set(table.pinned) <= set(table.poses):
            raise FormatError("a piece on the table does not exist")
        free.add(
            FreeTable(
                {piece: Pose(*values) for piece, values in table.poses.items()},
                table.label,
                frozenset(table.pinned),
                tuple(frozenset(component) for component in table.components),
                dict(table.confidence),
            )
        )
    _check_place(saved.table_at, len(free.steps))
    free.at = saved.table_at
    return free


def _load_answer(saved: SavedAnswer, count: int, base: IntArray) -> Answer:
    grid = Grid(saved.rows, saved.cols)
    if len(saved.position_of) != count or (not saved.is_open and grid.num_pieces != count):
        raise FormatError("an answer has another number of pieces than its grid")
    try:
        seams = None
        if saved.right_seams is not None and saved.down_seams is not None:
            seams = (
                _matrix(saved.right_seams, grid.rows, grid.cols - 1),
                _matrix(saved.down_seams, grid.rows - 1, grid.cols),
            )
        solution = Solution(
            np.array(saved.position_of, dtype=np.int64),
            saved.solver,
            saved.seconds,
            saved.energy,
            None if saved.confidence is None else np.array(saved.confidence, dtype=float),
            seams,
            None if saved.position_prob is None else np.array(saved.position_prob, dtype=float),
            tuple(
                _load_layout(choice, saved.is_open)
                for choice in saved.alternatives
                if len(choice.position_of) == count
            ),
            None if saved.trace is None else np.array(saved.trace, dtype=np.int64),
            grid=grid if saved.is_open else None,
            turns=None if saved.turns is None else np.array(saved.turns, dtype=np.int64),
        )
        seen = base if saved.seen_turns is None else _positions(saved.seen_turns, count)
    except (ValueError, OverflowError) as error:  # ragged rows, numbers beyond 64 bits
        if isinstance(error, InputError):
            raise
        raise FormatError(f"an answer holds no array ({error})") from error
    return Answer(solution, grid, seen, frozenset(saved.pinned), saved.seconds)


def _load_layout(saved: SavedLayoutChoice, is_open: bool) -> Layout:
    grid = None if saved.grid is None or not is_open else Grid(*saved.grid)
    return Layout(
        np.array(saved.position_of, dtype=np.int64),
        saved.energy,
        saved.probability,
        grid,
        None if saved.turns is None else np.array(saved.turns, dtype=np.int64),
    )


def _positions(values: list[int], count: int) -> IntArray:
    if len(values) != count:
        raise FormatError(f"{len(values)} numbers for {count} pieces")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError as error:
        raise FormatError("a number beyond 64 bits") from error


def _matrix(rows: Rows, height: int, width: int) -> FloatArray:
    filled = [[np.nan if value is None else value for value in row] for row in rows]
    return np.array(filled, dtype=float).reshape(height, width)
