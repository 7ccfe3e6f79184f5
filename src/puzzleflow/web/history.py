"""Arrangements on the board, each made from the one before; undo walks back through them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from puzzleflow.core.assignment import as_permutation, invert
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Solution
from puzzleflow.core.types import FloatArray, IntArray

MAX_STEPS = 200


@dataclass(frozen=True)
class GridGuess:
    """A grid that was tried; ``cost`` is energy per seam, None where the solver has none."""

    grid: Grid
    cost: float | None


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Where every piece lies, which ones a person fixed, and what a solver thinks of it.

    position_of  (N,) permutation
    answer       the solver's last answer on this grid; its layout may be another by now
    label        what the person or the solver did, for the undo button
    ranking      the grids that were tried, best first; empty where the grid was given
    """

    grid: Grid
    position_of: IntArray
    label: str
    pinned: frozenset[int] = frozenset()
    answer: Solution | None = None
    ranking: tuple[GridGuess, ...] = ()

    def __post_init__(self) -> None:
        checked = as_permutation(self.position_of, self.grid.num_pieces)
        object.__setattr__(self, "position_of", checked)

    @property
    def piece_at(self) -> IntArray:
        return invert(self.position_of)

    @property
    def pins(self) -> dict[int, int]:
        """piece → position of every pinned piece."""
        return {piece: int(self.position_of[piece]) for piece in sorted(self.pinned)}

    def place(self, piece: int, position: int, *, pin: bool = False) -> Arrangement:
        """``piece`` in the cell ``position``; the piece that lay there takes its place."""
        self._check(piece, position)
        other, home = int(self.piece_at[position]), int(self.position_of[piece])
        for moved in (piece, other):
            if moved in self.pinned and other != piece:
                raise InputError(f"piece {moved + 1} is pinned: unpin it to move it")
        position_of = self.position_of.copy()
        position_of[[piece, other]] = position, home
        pinned = self.pinned | {piece} if pin else self.pinned
        label = f"move piece {piece + 1}"
        return replace(self, position_of=position_of, pinned=pinned, label=label)

    def pin(self, piece: int, pinned: bool) -> Arrangement:
        """Fix a piece where it lies, or let it go."""
        self._check(piece, 0)
        pins = self.pinned | {piece} if pinned else self.pinned - {piece}
        label = f"{'pin' if pinned else 'unpin'} piece {piece + 1}"
        return replace(self, pinned=pins, label=label)

    def unpin_all(self) -> Arrangement:
        return replace(self, pinned=frozenset(), label="unpin all pieces")

    def choose(self, index: int) -> Arrangement:
        """The whole layout number ``index`` among those that the solver listed."""
        layouts = self.answer.alternatives if self.answer else ()
        if not 0 <= index < len(layouts):
            raise InputError(f"there are {len(layouts)} whole layouts: no number {index + 1}")
        position_of = layouts[index].position_of
        for piece, position in self.pins.items():
            if position_of[piece] != position:
                raise InputError(f"that layout moves piece {piece + 1}, which is pinned")
        return replace(self, position_of=position_of, label=f"choose layout {index + 1}")

    def _check(self, piece: int, position: int) -> None:
        count = self.grid.num_pieces
        if not (0 <= piece < count and 0 <= position < count):
            raise InputError(f"pieces and cells have numbers from 0 to {count - 1}")

    def confidence(self) -> FloatArray:
        """(N,) probability that each piece belongs where it lies; NaN where nobody knows."""
        unknown = np.full(self.grid.num_pieces, np.nan)
        if self.answer is None:
            return unknown
        if self.answer.position_prob is not None:
            pieces = np.arange(self.grid.num_pieces)
            return np.clip(self.answer.position_prob[pieces, self.position_of], 0.0, 1.0)
        if self.answer.confidence is None:
            return unknown
        untouched = self.position_of == self.answer.position_of
        return np.where(untouched, np.clip(self.answer.confidence, 0.0, 1.0), np.nan)

    def seam_confidence(self) -> tuple[FloatArray, FloatArray]:
        """Right seams (rows, cols-1) and down seams (rows-1, cols); NaN where nobody knows."""
        rows, cols = self.grid.shape
        found = np.full((rows, cols - 1), np.nan), np.full((rows - 1, cols), np.nan)
        if self.answer is None or self.answer.seam_confidence is None:
            return found
        kept = self.position_of[self.answer.piece_at] == np.arange(self.grid.num_pieces)
        for seams, known, direction in zip(
            found, self.answer.seam_confidence, (Direction.RIGHT, Direction.DOWN), strict=True
        ):
            pairs = self.grid.neighbours(direction)  # (E, 2)
            both = (kept[pairs[:, 0]] & kept[pairs[:, 1]]).reshape(seams.shape)
            seams[both] = np.clip(np.asarray(known, dtype=float), 0.0, 1.0)[both]
        return found

    def candidates(self, num: int = 5) -> list[list[tuple[int, float]]]:
        """For every position the ``num`` most probable pieces; empty lists where nobody knows."""
        prob = None if self.answer is None else self.answer.position_prob
        if prob is None:
            return [[] for _ in range(self.grid.num_pieces)]
        best = np.argsort(-prob, axis=0, kind="stable")[:num]  # (num, N)
        return [
            [(int(piece), float(np.clip(prob[piece, position], 0.0, 1.0))) for piece in column]
            for position, column in enumerate(best.T)
        ]


class History:
    """A line of arrangements with a place on it."""

    def __init__(self) -> None:
        self.steps: list[Arrangement] = []
        self.at = -1

    @property
    def now(self) -> Arrangement:
        if not self.steps:
            raise InputError("nothing lies on the board yet: solve first")
        return self.steps[self.at]

    def add(self, arrangement: Arrangement) -> None:
        """Make it the present; what was undone is forgotten."""
        self.steps = [*self.steps[: self.at + 1], arrangement][-MAX_STEPS:]
        self.at = len(self.steps) - 1

    def undo(self) -> None:
        if self.at < 1:
            raise InputError("there is nothing to undo")
        self.at -= 1

    def redo(self) -> None:
        if self.at + 1 >= len(self.steps):
            raise InputError("there is nothing to redo")
        self.at += 1

    @property
    def previous(self) -> Arrangement | None:
        """The last arrangement before this one that lay otherwise, to compare with."""
        for step in reversed(self.steps[: max(self.at, 0)]):
            same_grid = step.grid == self.now.grid
            if same_grid and not np.array_equal(step.position_of, self.now.position_of):
                return step
        return None
