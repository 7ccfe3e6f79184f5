"""Arrangements on the board, each made from the one before; undo walks back through them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from puzzleflow.core.assignment import as_placement, as_turns
from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Direction, Grid
from puzzleflow.core.puzzle import Layout, Solution
from puzzleflow.core.types import BoolArray, FloatArray, IntArray

Step = TypeVar("Step")
MAX_STEPS = 200
ASIDE = -1
UNTOLD: IntArray = np.empty(0, np.int64)  # upright, or as it lies


class Line(Generic[Step]):
    """At most ``most`` steps; the oldest are forgotten first."""

    def __init__(self, most: int, nothing: str) -> None:
        self.steps: list[Step] = []
        self.at = -1
        self.most = most
        self.nothing = nothing

    @property
    def now(self) -> Step:
        if not self.steps:
            raise InputError(self.nothing)
        return self.steps[self.at]

    def add(self, step: Step) -> None:
        """Make it the present; what was undone is forgotten."""
        self.steps = [*self.steps[: self.at + 1], step][-self.most :]
        self.at = len(self.steps) - 1

    def change(self, step: Step) -> None:
        """Put ``step`` in the place of the present one."""
        self.steps[self.at] = step

    @property
    def can_undo(self) -> bool:
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        return self.at + 1 < len(self.steps)

    def undo(self) -> None:
        if not self.can_undo:
            raise InputError("there is nothing to undo")
        self.at -= 1

    def redo(self) -> None:
        if not self.can_redo:
            raise InputError("there is nothing to redo")
        self.at += 1


@dataclass(frozen=True)
class GridGuess:
    """A grid that was tried: its energy per seam or its probability, as far as known."""

    grid: Grid
    cost: float | None = None
    probability: float | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """A solver's answer, and under what it was given.

    turns    (N,) quarter turns of the pieces as the solver saw them
    pinned   pieces that were fixed while it solved: its numbers hold given these
    seconds  that this solve took
    """

    solution: Solution
    grid: Grid
    turns: IntArray
    pinned: frozenset[int] = frozenset()
    seconds: float = 0.0

    def upright(self, layout: Layout | Solution) -> IntArray:
        """(N,) quarter turns of the pieces in one of its layouts."""
        turned: IntArray = self.turns if layout.turns is None else (self.turns + layout.turns) % 4
        return turned


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Where every piece lies, which ones a person fixed, and what a solver thinks of it.

    position_of  (N,) cell, or -1 for a piece in the tray
    turns        (N,) quarter turns to the left
    label        what the person or the solver did, for the undo button
    groups       pieces that a person said belong together
    answer       the solver's last answer; what lies here may be another layout by now
    laid         (N,) and (N,) positions and turns as the solver laid them: what differs
                 was moved by hand
    ranking      the grids that were tried, best first; empty where the grid was given
    """

    grid: Grid
    position_of: IntArray
    label: str
    turns: IntArray = field(default_factory=lambda: UNTOLD)
    pinned: frozenset[int] = frozenset()
    groups: tuple[frozenset[int], ...] = ()
    answer: Answer | None = None
    laid: tuple[IntArray, IntArray] = (UNTOLD, UNTOLD)
    ranking: tuple[GridGuess, ...] = ()
    piece_at: IntArray = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.position_of)
        checked = as_placement(self.position_of, count, self.grid.num_pieces)
        turns = as_turns(self.turns if len(self.turns) else np.zeros(count, np.int64), count)
        piece_at = np.full(self.grid.num_pieces, -1, np.int64)
        placed = np.flatnonzero(checked >= 0)
        piece_at[checked[placed]] = placed
        object.__setattr__(self, "position_of", checked)
        object.__setattr__(self, "turns", turns)
        object.__setattr__(self, "piece_at", piece_at)
        if not len(self.laid[0]):
            object.__setattr__(self, "laid", (checked, turns))

    @classmethod
    def solved(
        cls,
        answer: Answer,
        label: str,
        groups: tuple[frozenset[int], ...] = (),
        ranking: tuple[GridGuess, ...] = (),
    ) -> Arrangement:
        """As a solver laid it."""
        found = answer.solution
        return cls(
            answer.grid,
            found.position_of,
            label,
            answer.upright(found),
            answer.pinned,
            groups,
            answer,
            ranking=ranking,
        )

    @property
    def num_pieces(self) -> int:
        return len(self.position_of)

    @property
    def aside(self) -> list[int]:
        """Pieces in the tray."""
        return [int(piece) for piece in np.flatnonzero(self.position_of < 0)]

    @property
    def pins(self) -> dict[int, int]:
        """piece → position of every pinned piece; -1 says that it belongs nowhere."""
        return {piece: int(self.position_of[piece]) for piece in sorted(self.pinned)}

    # -- by hand -----------------------------------------------------------------

    def place(self, piece: int, position: int, *, pin: bool = False) -> Arrangement:
        """``piece`` in a cell, or in the tray (-1); what lay there takes its place.

        Pieces that belong together move together, except into the tray.
        """
        self._check(piece, position)
        home = int(self.position_of[piece])
        group = self.group_of(piece)
        if len(group) > 1 and home >= 0 and position >= 0:
            step = np.subtract(self.grid.cell(position), self.grid.cell(home))
            moved = self.shift(group, int(step[0]), int(step[1]))
        else:
            target = self.position_of.copy()
            target[piece] = position
            other = int(self.piece_at[position]) if position >= 0 else piece
            if other not in (-1, piece):
                target[other] = home
            moved = self._moved(target)
        label = f"move piece {piece + 1}" if position >= 0 else f"put piece {piece + 1} aside"
        pinned = self.pinned | {piece} if pin else self.pinned
        return replace(moved, pinned=pinned, label=label)

    def shift(self, pieces: Iterable[int], d_row: int, d_col: int) -> Arrangement:
        """A whole block by some rows and columns; what it covers fills what it leaves."""
        chosen = sorted({*pieces})
        for piece in chosen:
            self._check(piece, 0)
        block = [piece for piece in chosen if self.position_of[piece] >= 0]
        if not block:
            raise InputError("none of these pieces lies on the board")
        rows, cols = self.grid.shape
        target = self.position_of.copy()
        for piece in block:
            row, col = self.grid.cell(int(self.position_of[piece]))
            if not (0 <= row + d_row < rows and 0 <= col + d_col < cols):
                raise InputError("the block would leave the board")
            target[piece] = self.grid.position(row + d_row, col + d_col)
        left = sorted({*self.position_of[block].tolist()} - {*target[block].tolist()})
        covered = [int(self.piece_at[p]) for p in sorted({*target[block].tolist()})]
        for piece in covered:
            if piece >= 0 and piece not in block:
                target[piece] = left.pop(0)
        return replace(self._moved(target), label=f"move {len(block)} pieces")

    def _moved(self, position_of: IntArray) -> Arrangement:
        for piece in np.flatnonzero(position_of != self.position_of):
            if int(piece) in self.pinned:
                raise InputError(f"piece {piece + 1} is pinned: unpin it to move it")
        return replace(self, position_of=position_of)

    def turn(self, pieces: Iterable[int], quarter_turns: int) -> Arrangement:
        """Some pieces turned to the left by 90° a step; nothing else changes."""
        chosen = sorted({*pieces})
        for piece in chosen:
            self._check(piece, 0)
        turns = self.turns.copy()
        turns[chosen] = (turns[chosen] + quarter_turns) % 4
        return replace(self, turns=turns, label=several("turn", chosen))

    def pin(self, pieces: Iterable[int], pinned: bool) -> Arrangement:
        """Fix pieces where they lie, or let them go."""
        chosen = sorted({*pieces})
        for piece in chosen:
            self._check(piece, 0)
        pins = self.pinned.union(chosen) if pinned else self.pinned.difference(chosen)
        return replace(self, pinned=pins, label=several("pin" if pinned else "unpin", chosen))

    def unpin_all(self) -> Arrangement:
        return replace(self, pinned=frozenset(), label="unpin all pieces")

    def join(self, pieces: Iterable[int], together: bool) -> Arrangement:
        """Say that pieces on the board belong together as they lie, or no longer."""
        chosen = frozenset(pieces)
        for piece in chosen:
            self._check(piece, 0)
        touched = [group for group in self.groups if group & chosen]
        rest = tuple(group for group in self.groups if not group & chosen)
        if not together:
            return replace(self, groups=rest, label="let pieces go apart")
        whole = chosen.union(*touched)
        if len(whole) < 2 or any(self.position_of[piece] < 0 for piece in whole):
            raise InputError("choose two or more pieces that lie on the board")
        return replace(self, groups=(*rest, whole), label=f"keep {len(whole)} pieces together")

    def group_of(self, piece: int) -> frozenset[int]:
        """The pieces that belong to this one, itself among them."""
        return next((group for group in self.groups if piece in group), frozenset({piece}))

    def choose(self, index: int) -> Arrangement:
        """The whole layout number ``index`` among those that the solver listed."""
        layouts = self.layouts
        if not 0 <= index < len(layouts) or self.answer is None:
            raise InputError(f"there are {len(layouts)} whole layouts: no number {index + 1}")
        layout = layouts[index]
        grid = layout.grid or self.answer.grid
        for piece, position in self.pins.items():
            if grid != self.grid or layout.position_of[piece] != position:
                raise InputError(f"that layout moves piece {piece + 1}, which is pinned")
        return Arrangement(
            grid,
            layout.position_of,
            f"choose layout {index + 1}",
            self.answer.upright(layout),
            self.pinned,
            (),
            self.answer,
            ranking=self.ranking,
        )

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The best whole layouts that the solver listed."""
        return () if self.answer is None else self.answer.solution.alternatives

    def _check(self, piece: int, position: int) -> None:
        if not 0 <= piece < self.num_pieces:
            raise InputError(f"pieces have numbers from 0 to {self.num_pieces - 1}")
        if not ASIDE <= position < self.grid.num_pieces:
            raise InputError(f"cells have numbers from 0 to {self.grid.num_pieces - 1}")

    # -- what is known of it --------------------------------------------------------

    @property
    def untouched(self) -> BoolArray:
        """(N,) pieces that lie as the solver laid them and that nobody fixed."""
        same = (self.position_of == self.laid[0]) & (self.turns == self.laid[1])
        same[sorted(self.pinned)] = False
        return np.asarray(same)

    def confidence(self) -> FloatArray:
        """(N,) probability that each piece lies right; NaN for what was moved or fixed by hand,
        and where nobody knows."""
        known = np.full(self.num_pieces, np.nan)
        if self.answer is None or self.answer.grid != self.grid:
            return known
        found = self.answer.solution
        pieces = np.flatnonzero(self.untouched)
        as_told = (self.position_of == found.position_of) & (
            self.turns == self.answer.upright(found)
        )
        if found.confidence is not None:
            told = pieces[as_told[pieces]]
            known[told] = np.asarray(found.confidence)[told]
        if found.position_prob is not None:
            rest = pieces[np.isnan(known[pieces]) & (self.position_of[pieces] >= 0)]
            known[rest] = found.position_prob[rest, self.position_of[rest]]
        return np.asarray(np.clip(known, 0.0, 1.0))

    def seam_confidence(self) -> tuple[FloatArray, FloatArray]:
        """Right seams (rows, cols-1) and down seams (rows-1, cols); NaN where nobody knows."""
        rows, cols = self.grid.shape
        found = np.full((rows, cols - 1), np.nan), np.full((rows - 1, cols), np.nan)
        answer = self.answer
        if answer is None or answer.solution.seam_confidence is None or answer.grid != self.grid:
            return found
        told = answer.solution
        same = np.asarray(self.turns == answer.upright(told))
        kept = (self.piece_at == told.piece_at) & (self.piece_at >= 0)
        kept &= same[np.maximum(self.piece_at, 0)]
        for seams, known, direction in zip(
            found, told.seam_confidence or (), (Direction.RIGHT, Direction.DOWN), strict=True
        ):
            pairs = self.grid.neighbours(direction)  # (E, 2)
            both = (kept[pairs[:, 0]] & kept[pairs[:, 1]]).reshape(seams.shape)
            seams[both] = np.clip(np.asarray(known, dtype=float), 0.0, 1.0)[both]
        return found

    def candidates(self, num: int = 5) -> list[list[tuple[int, float]]]:
        """For every position the ``num`` most probable pieces; empty lists where nobody knows."""
        known = self.answer is not None and self.answer.grid == self.grid
        prob = self.answer.solution.position_prob if known and self.answer else None
        if prob is None:
            return [[] for _ in range(self.grid.num_pieces)]
        best = np.argsort(-prob, axis=0, kind="stable")[:num]  # (num, P)
        return [
            [(int(piece), float(np.clip(prob[piece, position], 0.0, 1.0))) for piece in column]
            for position, column in enumerate(best.T)
        ]


def several(verb: str, pieces: list[int]) -> str:
    """``move piece 3`` or ``move 4 pieces``: a step for the undo button."""
    return f"{verb} piece {pieces[0] + 1}" if len(pieces) == 1 else f"{verb} {len(pieces)} pieces"


class History(Line[Arrangement]):
    """The arrangements of one set of pieces."""

    def __init__(self) -> None:
        super().__init__(MAX_STEPS, "nothing lies on the board yet: solve first")

    @property
    def previous(self) -> Arrangement | None:
        """The last arrangement before this one that lay otherwise, to compare with."""
        for step in reversed(self.steps[: max(self.at, 0)]):
            same_grid = step.grid == self.now.grid
            if same_grid and not np.array_equal(step.position_of, self.now.position_of):
                return step
        return None
