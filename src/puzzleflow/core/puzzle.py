"""What goes into a solver and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from puzzleflow.core.assignment import (
    as_assignments,
    as_permutation,
    as_placement,
    as_turns,
    invert,
)
from puzzleflow.core.conditions import CLOSED, Conditions
from puzzleflow.core.errors import CannotSolve, FormatError, NotAGrid
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray, IntArray


def _frozen(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Puzzle:
    """Shuffled RGBA pieces, the grid they fill, and the truth where it is known.

    pieces      (N, H, W, 4) uint8; alpha 255 where there is material
    known_grid  rows × cols, or None where nobody knows; ``grid`` where it must be known
    truth       (N,) int64 ``position_of[piece]``, -1 for a foreign piece, or None
    names       one per piece, for example file names, or None
    conditions  what may be amiss: by default nothing
    true_turns  (N,) quarter turns against the clock that bring each piece upright, or None
    """

    pieces: ByteArray
    known_grid: Grid | None
    truth: IntArray | None = None
    names: tuple[str, ...] | None = None
    puzzle_id: str = ""
    conditions: Conditions = CLOSED
    true_turns: IntArray | None = None

    def __repr__(self) -> str:
        height, width = self.pieces.shape[1:3]
        grid = self.known_grid or "unknown grid"
        told = "known" if self.truth is not None else "unknown"
        amiss = "" if self.conditions.is_closed else f", {self.conditions}"
        return (
            f"Puzzle({self.puzzle_id!r}, {len(self.pieces)} pieces of {width}x{height} px, {grid}, "
            f"truth {told}{amiss})"
        )

    def __post_init__(self) -> None:
        pieces = self.pieces
        if not isinstance(pieces, np.ndarray) or pieces.dtype != np.uint8:
            raise FormatError(f"pieces must be uint8, not {getattr(pieces, 'dtype', type(pieces))}")
        if pieces.ndim != 4 or pieces.shape[-1] != 4 or 0 in pieces.shape:
            raise FormatError(f"pieces must have shape (N, H, W, 4), not {pieces.shape}")
        if self.conditions.turned and pieces.shape[1] != pieces.shape[2]:
            raise FormatError(f"pieces that may be turned must be square, not {pieces.shape[1:3]}")
        if self.known_grid is not None:
            self.conditions.check(len(pieces), self.known_grid)
        object.__setattr__(self, "pieces", _frozen(pieces))
        if self.truth is not None:
            object.__setattr__(self, "truth", _frozen(self._checked_truth()))
        if self.true_turns is not None:
            turns = as_turns(self.true_turns, len(pieces))
            object.__setattr__(self, "true_turns", _frozen(turns))
        if self.names is not None:
            object.__setattr__(self, "names", tuple(self.names))
            if len(self.names) != len(pieces):
                raise FormatError(f"{len(self.names)} names for {len(pieces)} pieces")

    def _checked_truth(self) -> IntArray:
        if self.conditions.is_complete:
            return as_permutation(self.truth, len(self.pieces))  # type: ignore[arg-type]
        if self.known_grid is None:
            raise NotAGrid("the truth of an incomplete puzzle needs its grid")
        return as_placement(self.truth, len(self.pieces), self.known_grid.num_pieces)  # type: ignore[arg-type]

    @property
    def grid(self) -> Grid:
        """The grid; raises :class:`CannotSolve` where nobody knows it."""
        if self.known_grid is None:
            raise CannotSolve("the grid of this puzzle is not known")
        return self.known_grid

    @property
    def is_closed(self) -> bool:
        """All pieces are there and no other, upright, on a known grid."""
        return self.conditions.is_closed and self.known_grid is not None

    @property
    def closed_grid(self) -> Grid:
        """The grid of a closed puzzle, for methods that know no other world."""
        if not self.conditions.is_closed:
            raise CannotSolve("this method wants every piece, upright, and no other")
        return self.grid

    @property
    def complete_grid(self) -> Grid:
        """The same for methods that take turned pieces, too."""
        if not self.conditions.is_complete or self.conditions.hidden:
            raise CannotSolve("this method wants every piece, no other, and the grid")
        return self.grid

    @property
    def num_pieces(self) -> int:
        return len(self.pieces)

    @property
    def piece_px(self) -> tuple[int, int]:
        """(height, width) of a piece."""
        return int(self.pieces.shape[1]), int(self.pieces.shape[2])

    @property
    def masks(self) -> BoolArray:
        """(N, H, W) True where there is material."""
        return self.pieces[..., 3] > 127

    def without_truth(self) -> Puzzle:
        """What a solver is shown: no truth, and no grid where the conditions hide it."""
        grid = None if self.conditions.hidden else self.known_grid
        return replace(self, truth=None, true_turns=None, known_grid=grid)


def turned_pieces(pieces: ByteArray, turns: IntArray) -> ByteArray:
    """(N, S, S, 4) each piece turned by its quarter turns against the clock."""
    if not np.any(turns):
        return pieces
    return np.stack([np.rot90(p, t) for p, t in zip(pieces, np.asarray(turns), strict=True)])


def all_turns(pieces: ByteArray) -> ByteArray:
    """(4 N, S, S, 4): number 4 i + t is piece i after t quarter turns against the clock."""
    turned = np.stack([np.rot90(pieces, turn, (1, 2)) for turn in range(4)], axis=1)
    return turned.reshape(-1, *pieces.shape[1:])


@dataclass(frozen=True, eq=False)
class Layout:
    """One whole arrangement among several, with what its solver thinks of it.

    grid and turns are told where the puzzle leaves them open; see :class:`Solution`.
    """

    position_of: IntArray
    energy: float | None = None
    probability: float | None = None
    grid: Grid | None = None
    turns: IntArray | None = None

    def __post_init__(self) -> None:
        _check_arrangement(self)


@dataclass(frozen=True, eq=False)
class Solution:
    """A solver's answer.

    position_of      (N,) permutation; where ``grid`` is told, -1 leaves a piece aside
                     and cells may stay empty
    confidence       (N,) probability that the piece lies where it was put (or is rightly aside)
    seam_confidence  (rows, cols-1) right seams and (rows-1, cols) down seams
    position_prob    (N, P) probability of piece (row) at position (column)
    alternatives     the best whole layouts, best first
    trace            (S, N) the layout after every step
    grid             the grid that was laid, where the puzzle is not closed
    turns            (N,) quarter turns against the clock that bring each piece upright
    aside_prob       (N,) probability that the piece belongs nowhere
    grid_prob        grids with their probabilities, the likeliest first
    """

    position_of: IntArray
    solver: str
    seconds: float = 0.0
    energy: float | None = None
    confidence: FloatArray | None = None
    seam_confidence: tuple[FloatArray, FloatArray] | None = None
    position_prob: FloatArray | None = None
    alternatives: tuple[Layout, ...] = ()
    trace: IntArray | None = None
    scores: dict[str, float] = field(default_factory=dict)
    grid: Grid | None = None
    turns: IntArray | None = None
    aside_prob: FloatArray | None = None
    grid_prob: tuple[tuple[Grid, float], ...] = ()

    def __post_init__(self) -> None:
        _check_arrangement(self)
        n = len(self.position_of)
        cells = n if self.grid is None else self.grid.num_pieces
        for name, shape in (
            ("confidence", (n,)),
            ("position_prob", (n, cells)),
            ("aside_prob", (n,)),
        ):
            array = getattr(self, name)
            if array is not None and np.shape(array) != shape:
                raise FormatError(f"{name} must have shape {shape}, not {np.shape(array)}")
        if self.trace is not None:
            trace = as_assignments(self.trace, n)  # (S, N): steps on the way may collide
            object.__setattr__(self, "trace", _frozen(trace))

    @property
    def num_pieces(self) -> int:
        return len(self.position_of)

    @property
    def piece_at(self) -> IntArray:
        """(P,) the piece at each position, -1 where there is none."""
        if self.grid is None:
            return invert(self.position_of)
        piece_at = np.full(self.grid.num_pieces, -1, dtype=np.int64)
        placed = np.flatnonzero(self.position_of >= 0)
        piece_at[self.position_of[placed]] = placed
        return piece_at


def _check_arrangement(it: Layout | Solution) -> None:
    """Positions and turns of a layout or solution, checked and frozen."""
    n = int(np.size(it.position_of))
    if it.grid is None:
        position_of = as_permutation(it.position_of, n)
    else:
        position_of = as_placement(it.position_of, n, it.grid.num_pieces)
    object.__setattr__(it, "position_of", _frozen(position_of))
    if it.turns is not None:
        object.__setattr__(it, "turns", _frozen(as_turns(it.turns, n)))
