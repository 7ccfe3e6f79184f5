"""What is written into the JSON of a workbench; read back and checked by saved.py."""

from __future__ import annotations

import numpy as np

from puzzleflow.web.free import FreeHistory
from puzzleflow.web.history import Answer, Arrangement, History
from puzzleflow.web.saved import (
    DIGITS,
    SavedAnswer,
    SavedGuess,
    SavedLayoutChoice,
    SavedSheet,
    SavedStep,
    SavedTable,
)
from puzzleflow.web.sheet import Sheet

KEPT_ANSWERS = 20


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
