"""The JSON inside a workbench file: history with every answer, checked when read."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from puzzleflow.core.errors import FormatError
from puzzleflow.core.grid import Grid
from puzzleflow.core.puzzle import Layout, Solution
from puzzleflow.core.types import FloatArray
from puzzleflow.web.history import MAX_STEPS, Arrangement, GridGuess, History

SCHEMA: Final = "puzzleflow/workbench"
VERSION: Final = 1
KEPT_ANSWERS = 20

Positions = list[int]
Rows = list[list[float | None]]
Text = Annotated[str, Field(max_length=200)]
Side = Annotated[int, Field(ge=1, le=10_000)]


class _Saved(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class SavedLayoutChoice(_Saved):
    """One whole layout among the best."""

    position_of: Positions
    energy: float | None = None
    probability: float | None = None


class SavedAnswer(_Saved):
    """A solver's answer, and the grid it was found on."""

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


class SavedGuess(_Saved):
    """A grid that was tried."""

    rows: Side
    cols: Side
    cost: float | None


class SavedStep(_Saved):
    """One arrangement; ``answer`` counts within the list of answers."""

    rows: Side
    cols: Side
    position_of: Positions
    label: Text
    pinned: list[int] = []
    answer: int | None = None
    ranking: list[SavedGuess] = []


class SavedPhoto(_Saved):
    """How the photograph was cut apart."""

    threshold: float
    automatic: bool


class SavedWorkbench(_Saved):
    """The whole file; pieces are named in order, their pictures lie in ``pieces/``."""

    format: Literal["puzzleflow/workbench"] = Field(alias="schema", default=SCHEMA)
    version: Literal[1] = VERSION
    title: Text
    origin: Text
    pieces: Annotated[list[Text], Field(min_length=1)]
    quarter_turns: list[Annotated[int, Field(ge=0, le=3)]] = []
    grid: tuple[Side, Side] | None = None
    truth: Positions | None = None
    truth_grid: tuple[Side, Side] | None = None
    photo: SavedPhoto | None = None
    steps: Annotated[list[SavedStep], Field(max_length=MAX_STEPS)] = []
    at: int = -1
    answers: Annotated[list[SavedAnswer], Field(max_length=MAX_STEPS)] = []

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)


def save_history(history: History) -> tuple[list[SavedStep], list[SavedAnswer]]:
    """All steps, and the answers of the latest ones."""
    latest: dict[int, tuple[Solution, Grid]] = {}
    for step in reversed(history.steps):
        if step.answer is not None and len(latest) < KEPT_ANSWERS:
            latest.setdefault(id(step.answer), (step.answer, step.grid))
    number = {key: index for index, key in enumerate(latest)}
    steps = [
        SavedStep(
            rows=step.grid.rows,
            cols=step.grid.cols,
            position_of=step.position_of.tolist(),
            label=step.label,
            pinned=sorted(step.pinned),
            answer=number.get(id(step.answer)),
            ranking=[
                SavedGuess(rows=guess.grid.rows, cols=guess.grid.cols, cost=guess.cost)
                for guess in step.ranking
            ],
        )
        for step in history.steps
    ]
    return steps, [_save_answer(answer, grid) for answer, grid in latest.values()]


def _save_answer(answer: Solution, grid: Grid) -> SavedAnswer:
    seams = answer.seam_confidence or (None, None)
    right, down = (None if s is None else np.asarray(s, dtype=float) for s in seams)
    return SavedAnswer(
        rows=grid.rows,
        cols=grid.cols,
        position_of=answer.position_of.tolist(),
        solver=answer.solver,
        seconds=answer.seconds,
        energy=_finite(answer.energy),
        confidence=None if answer.confidence is None else _numbers(answer.confidence),
        right_seams=None if right is None else [_numbers_or_none(row) for row in right],
        down_seams=None if down is None else [_numbers_or_none(row) for row in down],
        position_prob=None
        if answer.position_prob is None
        else [_numbers(row) for row in answer.position_prob],
        alternatives=[
            SavedLayoutChoice(
                position_of=layout.position_of.tolist(),
                energy=_finite(layout.energy),
                probability=_finite(layout.probability),
            )
            for layout in answer.alternatives
        ],
        trace=None if answer.trace is None else answer.trace.tolist(),
    )


def load_history(saved: SavedWorkbench) -> History:
    """The history of a saved workbench; raises InputError where it contradicts itself."""
    answers = [_load_answer(answer) for answer in saved.answers]
    history = History()
    for step in saved.steps:
        if step.answer is not None and not 0 <= step.answer < len(answers):
            raise FormatError("a step refers to an answer that is not there")
        answer = None if step.answer is None else answers[step.answer]
        grid = Grid(step.rows, step.cols)
        if grid.num_pieces != len(saved.pieces):
            raise FormatError(f"{len(saved.pieces)} pieces do not fill a {grid} grid")
        if step.answer is not None:
            found_on = saved.answers[step.answer]
            if (found_on.rows, found_on.cols) != grid.shape:
                raise FormatError("a step and its answer lie on different grids")
        if not set(step.pinned) <= set(range(grid.num_pieces)):
            raise FormatError("a pinned piece does not exist")
        guesses = (GridGuess(Grid(guess.rows, guess.cols), guess.cost) for guess in step.ranking)
        history.add(
            Arrangement(
                grid,
                np.array(step.position_of, dtype=np.int64),
                step.label,
                frozenset(step.pinned),
                answer,
                tuple(guesses),
            )
        )
    if not -1 <= saved.at < len(history.steps) or (history.steps and saved.at < 0):
        raise FormatError("the place in the history does not exist")
    history.at = saved.at
    return history


def _load_answer(saved: SavedAnswer) -> Solution:
    grid = Grid(saved.rows, saved.cols)
    if len(saved.position_of) != grid.num_pieces:
        raise FormatError("an answer has another number of pieces than its grid")
    try:
        seams = None
        if saved.right_seams is not None and saved.down_seams is not None:
            seams = (
                _matrix(saved.right_seams, grid.rows, grid.cols - 1),
                _matrix(saved.down_seams, grid.rows - 1, grid.cols),
            )
        return Solution(
            np.array(saved.position_of, dtype=np.int64),
            saved.solver,
            saved.seconds,
            saved.energy,
            None if saved.confidence is None else np.array(saved.confidence, dtype=float),
            seams,
            None if saved.position_prob is None else np.array(saved.position_prob, dtype=float),
            tuple(
                Layout(np.array(c.position_of, dtype=np.int64), c.energy, c.probability)
                for c in saved.alternatives
                if len(c.position_of) == grid.num_pieces
            ),
            None if saved.trace is None else np.array(saved.trace, dtype=np.int64),
        )
    except (ValueError, OverflowError) as error:  # ragged rows, numbers beyond 64 bits
        raise FormatError(f"an answer holds no array ({error})") from error


def _matrix(rows: Rows, height: int, width: int) -> FloatArray:
    filled = [[np.nan if value is None else value for value in row] for row in rows]
    return np.array(filled, dtype=float).reshape(height, width)


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _numbers(values: object) -> list[float]:
    return [float(v) for v in np.nan_to_num(np.asarray(values, dtype=float))]


def _numbers_or_none(values: object) -> list[float | None]:
    return [_finite(float(v)) for v in np.asarray(values, dtype=float)]
