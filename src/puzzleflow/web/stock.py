"""The pieces at hand and all that was done with them: what undo before the board brings back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import IntArray
from puzzleflow.web.free import FreeHistory
from puzzleflow.web.history import History
from puzzleflow.web.kept import Kept
from puzzleflow.web.line import Line
from puzzleflow.web.photo import Photo
from puzzleflow.web.pieces import Piece

MAX_STOCKS = 20


@dataclass(frozen=True, eq=False)
class Stock:
    """Pieces, the photograph they came from, and the boards they lie on.

    grid   as given, None while it is to be guessed
    truth  (N,) where known, on ``truth_grid``: for pictures that the workbench itself cut
    """

    pieces: tuple[Piece, ...]
    label: str
    photo: Photo | None = None
    grid: Grid | None = None
    truth: IntArray | None = None
    truth_grid: Grid | None = None
    history: History = field(default_factory=History)
    free: FreeHistory = field(default_factory=FreeHistory)

    @property
    def turns(self) -> IntArray:
        """(N,) quarter turns to the left of the pieces as they lie now."""
        if self.history.steps:
            return self.history.now.turns
        return np.array([piece.quarter_turns for piece in self.pieces], np.int64)

    def files(self) -> list[Kept]:
        """The arrays it needs."""
        kept = [piece.kept for piece in self.pieces]
        if self.photo is not None:
            kept += [self.photo.whole, self.photo.work, self.photo.labels]
        return kept


class Stocks(Line[Stock]):
    """The stocks of one workbench, the latest last."""

    def __init__(self) -> None:
        super().__init__(MAX_STOCKS, "there are no pieces yet")
