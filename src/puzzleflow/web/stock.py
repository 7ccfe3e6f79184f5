"""Pieces at hand, what is noted of them and of the whole, and what was done before the board."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from puzzleflow.core.grid import Grid
from puzzleflow.core.types import ByteArray, IntArray
from puzzleflow.web.free import FreeHistory
from puzzleflow.web.history import History, Line
from puzzleflow.web.kept import Kept
from puzzleflow.web.photo import Photo

MM_PER_INCH = 25.4
MAX_PX_PER_MM = 10_000.0
MAX_STOCKS = 20


@dataclass(frozen=True)
class Sheet:
    """Facts about the whole.

    date       as the person wrote it
    px_per_mm  pixels of the pieces, where somebody measured a ruler
    remarks    (what, a number): said once, for example how much was cropped
    """

    title: str
    author: str = ""
    date: str = ""
    px_per_mm: float | None = None
    remarks: tuple[tuple[str, float], ...] = ()

    @property
    def dpi(self) -> float | None:
        """Pixels an inch."""
        return None if self.px_per_mm is None else self.px_per_mm * MM_PER_INCH


@dataclass(frozen=True, eq=False)
class Piece:
    """One fragment as it came.

    kept           (h, w, 4) uint8
    quarter_turns  by which it lies turned to the left while nothing is on the board
    sharp          False while it is cut from a reduced copy of the photograph
    inventory      number in a museum's books
    """

    name: str
    kept: Kept
    quarter_turns: int = 0
    sharp: bool = True
    inventory: str = ""
    note: str = ""

    @property
    def pixels(self) -> ByteArray:
        """(h, w, 4) as it came."""
        return self.kept.load()

    def turned(self, quarter_turns: int) -> ByteArray:
        """(h, w, 4) turned to the left by 90° a step."""
        return np.rot90(self.pixels, quarter_turns)

    def size(self, quarter_turns: int) -> tuple[int, int]:
        """(height, width) when turned."""
        height, width = self.kept.shape[:2]
        return (width, height) if quarter_turns % 2 else (height, width)


def plain_names(names: Sequence[str]) -> list[str]:
    """Distinct file names ending in ``.png``, without anything a path could hide in."""
    used: set[str] = set()
    plain = []
    for name in names:
        last = re.split(r"[\\/]", name)[-1]
        stem = last.rpartition(".")[0] if "." in last else last
        stem = re.sub(r"[^\w.\- ]", "_", stem)[:60].strip(" .-") or "piece"
        chosen, number = f"{stem}.png", 2
        while chosen.lower() in used:
            chosen, number = f"{stem}-{number}.png", number + 1
        used.add(chosen.lower())
        plain.append(chosen)
    return plain


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
