"""What a solver claimed and whether it was right: pieces, seams and whole puzzles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from puzzleflow.core.assignment import invert
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.types import BoolArray, FloatArray, IntArray
from puzzleflow.evaluation.journal import Record
from puzzleflow.evaluation.results import Truth


@dataclass(frozen=True, eq=False)
class Answers:
    """K answers of one solver.

    confidence  (K,) the probability that the solver gave each of being right
    right       (K,) whether it was
    puzzle      (K,) which puzzle it belongs to, 0 … M - 1
    """

    confidence: FloatArray
    right: BoolArray
    puzzle: IntArray

    def __len__(self) -> int:
        return len(self.right)

    @property
    def num_puzzles(self) -> int:
        return int(self.puzzle.max()) + 1 if len(self) else 0


Claims = tuple[Sequence[float], BoolArray]  # (k,) confidence and (k,) right, of one puzzle


def piece_answers(records: Sequence[Record], truths: Sequence[Truth]) -> Answers | None:
    """Every piece that was not given away; None if the solver has no confidence to show."""

    def claims(record: Record, truth: Truth) -> Claims | None:
        if record.confidence is None:
            return None
        right = np.array(record.position_of) == truth.position_of
        free = ~np.isin(truth.position_of, truth.given)
        return np.array(record.confidence)[free].tolist(), right[free]

    return _collect(records, truths, claims)


def seam_answers(records: Sequence[Record], truths: Sequence[Truth]) -> Answers | None:
    """Every seam of the layouts; right if the two pieces truly touch that way round."""

    def claims(record: Record, truth: Truth) -> Claims | None:
        if record.seams is None:
            return None
        right = seams_right(np.array(record.position_of), truth.position_of, truth.grid)
        if len(record.seams) != len(right):
            raise InputError(
                f"puzzle {record.index}: {len(record.seams)} confidences for the {len(right)} "
                f"seams of a {truth.grid} layout"
            )
        return record.seams, right

    return _collect(records, truths, claims)


def puzzle_answers(records: Sequence[Record], truths: Sequence[Truth]) -> Answers | None:
    """Every puzzle, as sure as its least sure piece; right if all its pieces are."""

    def claims(record: Record, truth: Truth) -> Claims | None:
        if record.confidence is None:
            return None
        right = np.array_equal(np.array(record.position_of), truth.position_of)
        return [min(record.confidence)], np.array([right])

    return _collect(records, truths, claims)


def seams_right(position_of: IntArray, truth: IntArray, grid: Grid) -> BoolArray:
    """(E,) for every seam of a layout, right seams and then down seams, whether it is one."""
    truth_at = truth[invert(position_of)]  # (N,) true position of what lies at each position
    found = []
    for direction in (Direction.RIGHT, Direction.DOWN):
        first, second = truth_at[grid.neighbours(direction)].T  # (E,) each
        cells = grid.coordinates
        found.append((cells[second] - cells[first] == direction.step).all(axis=1))
    return np.concatenate(found)


def _collect(
    records: Sequence[Record],
    truths: Sequence[Truth],
    claims: Callable[[Record, Truth], Claims | None],
) -> Answers | None:
    """The claims of all answered puzzles in a row; ``truths[i]`` belongs to puzzle index i."""
    confidence: list[float] = []
    right: list[BoolArray] = []
    puzzle: list[IntArray] = []
    for record in records:
        claimed = None if record.position_of is None else claims(record, truths[record.index])
        if claimed is None:
            continue
        confidence.extend(claimed[0])
        puzzle.append(np.full(len(claimed[1]), len(right), dtype=np.int64))
        right.append(claimed[1])
    if not confidence:
        return None
    return Answers(np.array(confidence), np.concatenate(right), np.concatenate(puzzle))
