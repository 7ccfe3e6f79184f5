"""What goes into a solver and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from puzzleflow.core.assignment import as_assignments, as_permutation, invert
from puzzleflow.core.errors import FormatError, NotAGrid
from puzzleflow.core.grid import Grid
from puzzleflow.core.types import BoolArray, ByteArray, FloatArray, IntArray


def _frozen(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Puzzle:
    """Shuffled RGBA pieces, the grid they fill, and the truth where it is known.

    pieces  (N, H, W, 4) uint8; alpha 255 where there is material
    truth   (N,) int64 ``position_of[piece]`` or None
    names   one per piece, for example file names, or None
    """

    pieces: ByteArray
    grid: Grid
    truth: IntArray | None = None
    names: tuple[str, ...] | None = None
    puzzle_id: str = ""

    def __post_init__(self) -> None:
        pieces = self.pieces
        if not isinstance(pieces, np.ndarray) or pieces.dtype != np.uint8:
            raise FormatError(f"pieces must be uint8, not {getattr(pieces, 'dtype', type(pieces))}")
        if pieces.ndim != 4 or pieces.shape[-1] != 4 or 0 in pieces.shape:
            raise FormatError(f"pieces must have shape (N, H, W, 4), not {pieces.shape}")
        if len(pieces) != self.grid.num_pieces:
            raise NotAGrid(f"{len(pieces)} pieces do not fill a {self.grid} grid")
        object.__setattr__(self, "pieces", _frozen(pieces))
        if self.truth is not None:
            truth = as_permutation(self.truth, len(pieces))
            object.__setattr__(self, "truth", _frozen(truth))
        if self.names is not None:
            object.__setattr__(self, "names", tuple(self.names))
            if len(self.names) != len(pieces):
                raise FormatError(f"{len(self.names)} names for {len(pieces)} pieces")

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
        return replace(self, truth=None)


@dataclass(frozen=True, eq=False)
class Layout:
    """One whole arrangement among several, with what its solver thinks of it."""

    position_of: IntArray
    energy: float | None = None
    probability: float | None = None

    def __post_init__(self) -> None:
        position_of = as_permutation(self.position_of, np.size(self.position_of))
        object.__setattr__(self, "position_of", _frozen(position_of))


@dataclass(frozen=True, eq=False)
class Solution:
    """A solver's answer.

    position_of      (N,) permutation
    confidence       (N,) probability that the piece lies where it was put
    seam_confidence  (rows, cols-1) right seams and (rows-1, cols) down seams
    position_prob    (N, N) probability of piece (row) at position (column)
    alternatives     the best whole layouts, best first
    trace            (S, N) the layout after every step
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

    def __post_init__(self) -> None:
        n = np.size(self.position_of)
        position_of = as_permutation(self.position_of, n)
        object.__setattr__(self, "position_of", _frozen(position_of))
        for name, shape in (("confidence", (n,)), ("position_prob", (n, n))):
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
        return invert(self.position_of)
